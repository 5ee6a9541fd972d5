"""How far texts lie from those that a rubric was learned from, without any labels.

Three views of the same two sets, once by the surface measures of the texts and once by the criteria's scores:

- how well a simple classifier tells the sets apart, texts of one group never on both sides of a fold (a classifier
  two-sample test: Lopez-Paz & Oquab 2017, "Revisiting classifier two-sample tests", ICLR);
- how far each measure and criterion moved, and which movements are more than chance;
- which texts lie outside of what training saw.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from rubriclab.aggregation import Term
from rubriclab.base_models import FrozenModel
from rubriclab.data.example import Example
from rubriclab.learning.baselines import SURFACE, measure_values
from rubriclab.stats.correlation import FloatArray
from rubriclab.transfer.domain_classifier import told_apart
from rubriclab.transfer.feature_shift import FeatureShift, movements, movements_from
from rubriclab.transfer.outliers import Outliers, outlying
from rubriclab.transfer.sample import Sample
from rubriclab.validation import Interval

ShiftSeverity = Literal["inside", "near the edge", "outside"]

FINDINGS: tuple[ShiftSeverity, ...] = ("inside", "near the edge", "outside")

# The thresholds were set by draws of 30 and 60 home texts from public sets of rated summaries, stories and dialogue
# turns, by their surface measures. Against the other half of their set, split by group: 9 % of the texts outside on
# average, 25 % at most. Stories against dialogue, either way: 76 % at least.
MOST_OUTSIDE, MUCH_OUTSIDE = 0.5, 0.3
# The lower end of the area under the curve. Half against half it stayed below 0.57; between two sets above 0.88.
CLEARLY_APART = 0.65
# Weighted mean of how far the criteria's means moved, in home spreads, where nothing else is known. With three rubrics
# learned from 30 texts: 0.1, 0.1 and 0.5 on their own set, 0.9 to 1.8 on other kinds of text.
FAR_MOVED, MUCH_MOVED = 1.0, 0.6
# Fewer values of a column do not tell what it is like. A column belongs to a set if it is defined for half of the
# texts, and is foreign to it if for less than a tenth.
FEWEST, OWN, FOREIGN = 5, 0.5, 0.1


class SampleComparison(FrozenModel):
    """Home and target by the same columns.

    Attributes:
        apart: area under the ROC curve of a classifier that tells the sets apart; 0.5 where it cannot.
        movements: what moved most first.
        outlying: texts outside of what home texts are like; `None` where that cannot be told.
        foreign: columns that home has and the target lacks, or the other way round.
    """

    apart: Interval
    movements: tuple[FeatureShift, ...]
    outlying: Outliers | None
    foreign: tuple[str, ...] = ()


class DistributionShift(FrozenModel):
    """How far the target lies from home.

    Attributes:
        finding: the whole in a word.
        reasons: what it rests on, a sentence each.
        home, home_groups, target, target_groups: how many there are.
        measures: by surface measures; `None` without home texts.
        criteria: by the scores of the criteria; `None` where no criterion was scored on both sides.
    """

    finding: ShiftSeverity
    reasons: tuple[str, ...]
    home: int
    home_groups: int
    target: int
    target_groups: int
    measures: SampleComparison | None
    criteria: SampleComparison | None

    @property
    def warning(self) -> str | None:
        """What a person must hear who uses the rubric there; `None` inside."""
        if self.finding == "inside":
            return None
        if self.finding == "near the edge":
            return "These texts differ from those that the rubric was learned from: check its scores on some by hand."
        return (
            "The rubric would be used outside of what it saw, where nothing is known of how well it agrees with "
            "people: label some of these texts before relying on its scores."
        )


def shift(
    home: Sequence[Example],
    target: Sequence[Example],
    home_scores: Mapping[str, FloatArray],
    target_scores: Mapping[str, FloatArray],
    *,
    terms: Sequence[Term] = (),
    seed: int = 0,
) -> DistributionShift:
    """Return how far `target` lies from `home`, by measures of the texts and by scores of the criteria.

    Without home texts, as for a version from a pack, `terms` stand in: the mean and spread of each criterion at home
    tell how far it moved, and nothing else can be told.

    Args:
        home_scores, target_scores: by criterion, shape (texts,) in the order of the texts, NaN where missing. Criteria
            of one side only are left out.
        terms: of the rubric's combination.
        seed: of folds and resamples.

    Raises:
        ValueError: there is no target text, or scores are not as many as their texts.
    """
    _check(home, target, home_scores, target_scores)
    measures = _by_measures(home, target, seed) if home else None
    if home:
        criteria = _by_scores(home, target, home_scores, target_scores, seed)
    else:
        moved = movements_from(terms, target_scores)
        criteria = SampleComparison(apart=Interval(value=None), movements=moved, outlying=None) if moved else None
    told = [*_told("surface measures", measures), *_told("the criteria's scores", criteria)]
    told.extend(_told_by_means(criteria, terms) if criteria and not home else ())
    finding, reasons = _worst(told)
    return DistributionShift(
        finding=finding,
        reasons=reasons,
        home=len(home),
        home_groups=len({example.group for example in home}),
        target=len(target),
        target_groups=len({example.group for example in target}),
        measures=measures,
        criteria=criteria,
    )


def _check(
    home: Sequence[Example],
    target: Sequence[Example],
    home_scores: Mapping[str, FloatArray],
    target_scores: Mapping[str, FloatArray],
) -> None:
    if not target:
        raise ValueError("target: expected at least one text, got none")
    for name, texts, scores in (("home_scores", home, home_scores), ("target_scores", target, target_scores)):
        for criterion, column in scores.items():
            if np.shape(column) != (len(texts),):
                raise ValueError(
                    f"{name}[{criterion!r}]: expected {len(texts)} scores, one a text, got shape {np.shape(column)}"
                )


def _by_measures(home: Sequence[Example], target: Sequence[Example], seed: int) -> SampleComparison:
    ours, theirs = (_side(measure_values(texts, SURFACE), texts) for texts in (home, target))
    return _compare(SURFACE, ours, theirs, [example.id for example in target], seed)


def _by_scores(
    home: Sequence[Example],
    target: Sequence[Example],
    home_scores: Mapping[str, FloatArray],
    target_scores: Mapping[str, FloatArray],
    seed: int,
) -> SampleComparison | None:
    shared = [name for name in home_scores if name in target_scores]
    if not shared:
        return None
    ours, theirs = (
        _side(np.stack([np.asarray(scores[name], dtype=float) for name in shared], axis=1), texts)
        for scores, texts in ((home_scores, home), (target_scores, target))
    )
    return _compare(shared, ours, theirs, [example.id for example in target], seed)


def _side(values: FloatArray, texts: Sequence[Example]) -> Sample:
    return Sample(values, tuple(example.group for example in texts))


def _compare(names: Sequence[str], home: Sample, target: Sample, ids: Sequence[str], seed: int) -> SampleComparison:
    shares = np.array([side.there.mean(axis=0) for side in (home, target)])
    enough = [side.there.sum(axis=0) >= min(FEWEST, len(side)) for side in (home, target)]
    both = np.flatnonzero((shares.min(axis=0) >= FOREIGN) & enough[0] & enough[1])
    foreign = np.flatnonzero((shares.max(axis=0) >= OWN) & (shares.min(axis=0) < FOREIGN))
    home, target = home.columns(both), target.columns(both)
    return SampleComparison(
        apart=told_apart(home, target, seed),
        movements=movements([names[place] for place in both.tolist()], home, target, seed),
        outlying=outlying(home, target, ids, seed),
        foreign=tuple(names[place] for place in foreign.tolist()),
    )


def _worst(told: Sequence[tuple[ShiftSeverity, str]]) -> tuple[ShiftSeverity, tuple[str, ...]]:
    """Return the worst that any view says, and the sentences of those that say more than `inside`, or all of them."""
    if not told:
        return "near the edge", ("Nothing is known of the texts that the rubric was learned from.",)
    worst = max((finding for finding, _ in told), key=FINDINGS.index)
    return worst, tuple(why for finding, why in told if finding != "inside" or worst == "inside")


def _told(columns: str, found: SampleComparison | None) -> Iterator[tuple[ShiftSeverity, str]]:
    """Yield what a comparison says, with the figure that says so."""
    if found is None:
        return
    if found.outlying and (share := found.outlying.share.value) is not None:
        why = f"By {columns} {share:.0%} of the texts lie outside of what training saw"
        yield _graded(share, MUCH_OUTSIDE, MOST_OUTSIDE), f"{why}; {found.outlying.usual:.0%} would be usual."
    if found.apart.value is not None:
        clear = found.apart.low is not None and found.apart.low >= CLEARLY_APART
        how = "clearly tells" if clear else "does not clearly tell"
        area = f"area under the curve {_figure(found.apart)}, where 0.50 is a guess"
        why = f"By {columns} a classifier {how} the texts from those of training: {area}."
        yield ("near the edge" if clear else "inside"), why
    if found.foreign:
        yield "near the edge", f"On one side only there are {columns}: {', '.join(found.foreign)}."


def _told_by_means(found: SampleComparison, terms: Sequence[Term]) -> Iterator[tuple[ShiftSeverity, str]]:
    weights = {term.criterion: abs(term.weight) for term in terms}
    whole = math.fsum(weights[each.name] for each in found.movements)
    if whole:
        moved = math.fsum(weights[each.name] * abs(each.moved or 0.0) for each in found.movements) / whole
        yield (
            _graded(moved, MUCH_MOVED, FAR_MOVED),
            f"The criteria's means moved by {moved:.2f} spreads, a weighted average; nothing else can be compared, "
            "as the texts of training are not known here.",
        )


def _figure(found: Interval) -> str:
    between = "" if found.low is None or found.high is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.value:.2f}{between}"


def _graded(value: float, much: float, most: float) -> ShiftSeverity:
    return "outside" if value >= most else "near the edge" if value >= much else "inside"
