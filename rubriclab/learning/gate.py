"""The gate: whether a rubric agrees with people better than baselines that cost nothing, on held-out labels.

All evaluators are compared on the same labelled texts, each text scored without the labels of its own group.
Correlations are within groups where enough groups can be compared, else over all texts. A group with constant labels
is left out, and an evaluator with constant scores has correlation 0 where the labels differ. Intervals come from a
bootstrap over groups, of differences from a paired one, both expanded for few groups; with very few groups no
difference has an interval.

A scorer fitted to the other folds must be given without their mean label: left in, it is high where the labels left
out are low, and pulls the correlation over all texts down (Parker, Gunter & Bedo 2007, "Stratification bias in low
signal microarray studies", BMC Bioinformatics 8). Values of one fold may therefore differ from those of another by a
factor, never by an offset that the labels have set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rubriclab.learning.baselines import CONSTANT, held_out_baselines
from rubriclab.learning.rating_matrix import BoolArray, RatingMatrix, centers_and_spreads, standardised
from rubriclab.methods.names import JOINT
from rubriclab.stats.bootstrap import Statistic, batch_size, estimate, expanded_confidence
from rubriclab.stats.correlation import FloatArray, IntArray, is_constant, pearson_rows, spearman_rows
from rubriclab.stats.correlation_inference import correlations_without
from rubriclab.stats.interval import Interval
from rubriclab.stats.levels import (
    Coefficient,
    ScoredTexts,
    group_coefficients,
    level_statistic,
    scored_texts,
    used_texts,
)
from rubriclab.validation import (
    FEWEST_GROUPS,
    MATTERS,
    MOST_LABELS,
    EvaluatorAgreement,
    FrontierPoint,
    GateVerdict,
    MethodContribution,
    Outcome,
    Raters,
    Shortcut,
    Validation,
)

GateLevel = Literal["group", "dataset"]

DIRECT = "direct"
EQUAL = "equal weights"

CONFIDENCE = 0.95
RESAMPLES = 1000

# Who is better among rivals is what a rubric is for; fewer groups, or smaller ones, say too little about it.
RIVAL_GROUPS = 10
RIVALS = 3

_WORST_FIRST: tuple[Outcome, ...] = ("not better", "inconclusive", "better")


@dataclass(frozen=True, eq=False)
class Scored:
    """One evaluator's scores of the labelled texts, shape (texts,), NaN where it has none.

    Attributes:
        name, kind, calls: as in `EvaluatorAgreement`.
    """

    name: str
    kind: Literal["rubric", "judged", "baseline"]
    scores: FloatArray
    calls: float = 0.0


def validation(
    table: RatingMatrix,
    surface: FloatArray,
    held_out: FloatArray,
    fitted: FloatArray,
    fold: IntArray,
    *,
    alone: Mapping[str, FloatArray],
    calls: Mapping[str, float],
    frontier: Sequence[FrontierPoint] = (),
    added: Sequence[MethodContribution] = (),
    shortcuts: Sequence[Shortcut] = (),
    raters: Raters | None = None,
    forgone: float | None = None,
    noise: float | None = None,
    seed: int = 0,
) -> Validation:
    """Return what the labelled texts say of a rubric, beside everything that it has to be better than.

    Args:
        table: all candidates, whether the rubric has them or not.
        surface: measures of the texts, shape (texts, measures), columns as in `rubriclab.learning.baselines.SURFACE`.
        held_out: the rubric's scores of each text, fitted without the labels of its fold; see the module's docstring.
        fitted: the same when fitted to all.
        fold: of each text, shape (texts,); a group lies in one fold.
        alone: by method, its own scores of each text by what the labels of other folds would have chosen. `direct`
            is taken from the table.
        calls: calls per text by name, of `joint` and each of `alone`; `direct` and equal weights take one for each
            bundle of their candidates, unless given here.
        frontier, added, shortcuts, raters, forgone, noise: handed on.
        seed: of the resamples; equal seeds and data give equal figures, in whatever order the texts come.
    """
    level = gate_level(table.labels, table.groups)
    rubric = Scored(JOINT, "rubric", held_out, calls[JOINT])
    baselines = [
        Scored(name, "baseline", scores) for name, scores in held_out_baselines(surface, table.labels, fold).items()
    ]
    judged = [
        *_compared_with(table, fold, calls),
        *(Scored(name, "judged", alone[name], calls[name]) for name in alone if name != DIRECT),
    ]
    arena = _Arena(table.labels, table.groups, level, seed)
    evaluators = {each.name: arena.evaluator_agreement(each) for each in (rubric, *baselines, *judged)}
    others = sorted((name for name in evaluators if name != JOINT), key=lambda name: -_known(evaluators[name]))
    return Validation(
        level=level,
        n=int((~np.isnan(held_out)).sum()),
        groups=len(set(table.groups)),
        folds=len(np.unique(fold)),
        training=arena.evaluator_agreement(Scored(JOINT, "rubric", fitted, calls[JOINT])),
        evaluators=tuple(evaluators[name] for name in (JOINT, *others)),
        verdicts=(arena.gate(rubric, baselines, evaluators), *(arena.compared(rubric, each) for each in judged)),
        frontier=tuple(frontier),
        added=tuple(added),
        shortcuts=tuple(shortcuts),
        raters=raters,
        forgone=forgone,
        noise=noise,
    )


def gate_level(labels: FloatArray, groups: Sequence[str]) -> GateLevel:
    """Return `group` if at least `RIVAL_GROUPS` groups have `RIVALS` texts or more and labels that differ."""
    labels_of: dict[str, list[float]] = {}
    for group, label in zip(groups, labels.tolist(), strict=True):
        labels_of.setdefault(group, []).append(label)
    telling = sum(len(values) >= RIVALS and min(values) < max(values) for values in labels_of.values())
    return "group" if telling >= RIVAL_GROUPS else "dataset"


def _compared_with(table: RatingMatrix, fold: IntArray, calls: Mapping[str, float]) -> list[Scored]:
    """Return `direct`, where it is among the candidates, and all judged candidates with equal weights.

    Measures have no better end, so they have no place among equals.
    """
    judged: list[int] = np.flatnonzero(~table.signed).tolist()
    direct = [place for place in judged if table.methods[place] == DIRECT]
    evaluators = [(DIRECT, table.values[:, place], [place]) for place in direct[:1]]
    if judged:
        evaluators.append((EQUAL, _equal_weights(table.columns(judged), fold), judged))
    bundles = {name: len({table.bundles[place] for place in places} - {""}) for name, _, places in evaluators}
    return [Scored(name, "judged", scores, calls.get(name, bundles[name])) for name, scores, _ in evaluators]


def _equal_weights(table: RatingMatrix, fold: IntArray) -> FloatArray:
    """Return each text's mean of standardised candidates, NaN where there is none.

    It takes no label, but criteria may be made of some: a candidate that a fold's labels had a part in is left out
    there, and the folds' means, of other numbers of candidates, are put in units of their own spread.
    """
    z = standardised(table.values, *centers_and_spreads(table.values))
    scores = np.full(len(fold), np.nan)
    for number in np.unique(fold):
        inside = fold == number
        unseen = ~np.any(table.seen[inside], axis=0)
        if unseen.any():
            means = z[:, unseen].mean(axis=1)
            scores[inside] = means[inside] / (means.std() or 1.0)
    present: BoolArray = ~np.isnan(table.values)
    return np.where(present.any(axis=1), scores, np.nan)


def paired_difference(
    first: FloatArray, second: FloatArray, labels: FloatArray, groups: Sequence[str], *, seed: int = 0
) -> Interval:
    """Return by how much the first held-out scores correlate more with the labels than the second."""
    return _Arena(labels, groups, gate_level(labels, groups), seed).difference(first, second)


@dataclass(frozen=True, eq=False)
class _Arena:
    """The labels that all evaluators are held to."""

    labels: FloatArray
    groups: Sequence[str]
    level: GateLevel
    seed: int

    def evaluator_agreement(self, each: Scored) -> EvaluatorAgreement:
        return EvaluatorAgreement(
            name=each.name,
            kind=each.kind,
            n=int((~np.isnan(each.scores)).sum()),
            spearman=self._interval([each.scores], spearman_rows),
            pearson=self._interval([each.scores], pearson_rows),
            calls=each.calls,
        )

    def gate(
        self, rubric: Scored, baselines: Sequence[Scored], evaluators: Mapping[str, EvaluatorAgreement]
    ) -> GateVerdict:
        """Return the verdict against the best baseline, or against the constant where that is harder to exceed.

        An evaluator no better than a constant gains nothing from baselines that are worse still.
        """
        best = max(baselines, key=lambda baseline: (_known(evaluators[baseline.name]), baseline.name != CONSTANT))
        constant = next(baseline for baseline in baselines if baseline.name == CONSTANT)
        verdicts = [self.verdict(rubric, baseline) for baseline in dict.fromkeys((best, constant))]
        return min(verdicts, key=lambda verdict: _WORST_FIRST.index(verdict.outcome or "inconclusive"))

    def verdict(self, rubric: Scored, other: Scored) -> GateVerdict:
        both = [rubric.scores, other.scores]
        difference, few = self._interval(both, pearson_rows), self._few_groups(both)
        if few is not None:
            difference = Interval(difference.value)
        outcome = outcome_of(difference)
        more = more_labels(difference, len(self.labels)) if outcome == "inconclusive" else None
        return GateVerdict(against=other.name, outcome=outcome, difference=difference, more_labels=more, few_groups=few)

    def compared(self, rubric: Scored, other: Scored) -> GateVerdict:
        """Return the difference from another evaluator, without an outcome."""
        return self.verdict(rubric, other).model_copy(update={"outcome": None, "more_labels": None})

    def difference(self, first: FloatArray, second: FloatArray) -> Interval:
        """Return by how much the first scores correlate more with the labels; no ends where groups are too few."""
        found = self._interval([first, second], pearson_rows)
        return Interval(found.value) if self._few_groups([first, second]) is not None else found

    def _interval(self, scores: Sequence[FloatArray], coefficient: Coefficient) -> Interval:
        """Return the first one's agreement, less the second's where there are two, on the texts that both scored."""
        texts = self._texts(scores)
        statistics = [_statistic(texts, row, coefficient, self.level) for row in range(len(scores))]
        interval = estimate(
            lambda counts: statistics[0](counts) - (statistics[1](counts) if len(statistics) > 1 else 0.0),
            texts.clusters,
            resamples=RESAMPLES,
            confidence=expanded_confidence(CONFIDENCE, texts.clusters),
            seed=self.seed,
            batch=batch_size(len(texts.human)),
        )
        return interval.rounded()

    def _few_groups(self, scores: Sequence[FloatArray]) -> int | None:
        """Return how many groups there are to draw, if these are too few to tell a difference.

        Where every text is a group of its own, or all are of one, texts are drawn.
        """
        texts = self._texts(scores)
        return texts.clusters if texts.unit == "groups" and texts.clusters < FEWEST_GROUPS else None

    def _texts(self, scores: Sequence[FloatArray]) -> ScoredTexts:
        """Return the texts that all of these scored, as far as the level can use them."""
        return used_texts(scored_texts(scores, self.labels, self.groups, None), self.level, "skip")


def held_out_pearson(scores: FloatArray, labels: FloatArray, groups: Sequence[str]) -> tuple[float, FloatArray]:
    """Return the correlation of an evaluator, and the same without each cluster, shape (clusters,).

    Computed from sums over clusters, in time that grows with the number of texts alone. NaN where undefined.

    Args:
        scores: held out, shape (texts,), NaN where there is none.
    """
    level = gate_level(labels, groups)
    texts = used_texts(scored_texts([scores], labels, groups, None), level, "skip")
    if level == "group":
        own = group_coefficients(texts, texts.predicted[0], _defined(pearson_rows))
        return float(own.mean()), (own.sum() - own) / max(len(own) - 1, 1)
    # The labels' correlation with themselves is undefined just where they are constant.
    both = correlations_without(np.column_stack([texts.predicted[0], texts.human]), texts.human, texts.cluster)
    r, without = (np.where(np.isnan(own[..., 1]), np.nan, np.nan_to_num(own[..., 0])) for own in both)
    return float(r), without


def outcome_of(difference: Interval) -> Outcome:
    """Return what a difference in Pearson correlation with its interval allows to say."""
    if difference.low is None or difference.high is None:
        return "inconclusive"
    if difference.low > 0:
        return "better"
    return "not better" if difference.high < MATTERS else "inconclusive"


def more_labels(difference: Interval, labels: int) -> int | None:
    """Return about how many more labels would decide, if the difference stayed as it is; `None` beyond `MOST_LABELS`.

    The interval narrows with the square root of the number of labels, on either side by itself: until its low end
    passes 0 (better) or its high end `MATTERS` (not better), whichever comes first.
    """
    value, low, high = difference.value, difference.low, difference.high
    if value is None or low is None or high is None:
        return None
    needed = [
        ((value - low) / value) ** 2 if value > 0 else math.inf,
        ((high - value) / (MATTERS - value)) ** 2 if value < MATTERS else math.inf,
    ]
    more = labels * (min(needed) - 1)
    return max(1, math.ceil(more)) if more <= MOST_LABELS else None


def _statistic(texts: ScoredTexts, row: int, coefficient: Coefficient, level: GateLevel) -> Statistic:
    return level_statistic(texts, row, _defined(coefficient), level, "skip")


def _defined(coefficient: Coefficient) -> Coefficient:
    """Return the coefficient with 0 for constant scores: what tells no texts apart has shown no agreement."""

    def defined(x: FloatArray, y: FloatArray, weights: FloatArray | None = None, /) -> FloatArray:
        values = np.nan_to_num(coefficient(x, y, weights), nan=0.0)
        return np.where(is_constant(y, weights), np.nan, values)

    return defined


def _known(evaluator_agreement: EvaluatorAgreement) -> float:
    return -math.inf if evaluator_agreement.pearson.value is None else evaluator_agreement.pearson.value
