"""Raters' comparisons of texts, and scores for texts that were compared but not scored.

A comparison is in a row without a text, which refers to texts by their `id`, before or after them in the file:

- `{"preferred": "a1-s3", "over": "a1-s1", "aspect": "coherence", "rater": "anna"}`, with `"tie": true` if neither is
  better;
- `{"ranking": ["a1-s3", ["a1-s1", "a1-s2"], "a1-s4"], "aspect": "coherence"}`, best first, with ties in nested lists;
  in CSV `a1-s3 > a1-s1 = a1-s2 > a1-s4`.

`aspect` is optional if the file is about one aspect, `rater` always. A row with an `output` is a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from rubriclab.data.fields import FieldError, Fields
from rubriclab.data.mapping import NATIVE, FieldMap
from rubriclab.data.row import RowError
from rubriclab.models.cells import TYPED, CellRules
from rubriclab.models.characters import describe
from rubriclab.models.text import Example, Scale, labelled

COMPARING = ("preferred", "over", "ranking")
_RANKED = "a list of at least two ids, best first, with ties in nested lists"
_YES_OR_NO: Mapping[Any, bool] = {"true": True, "1": True, "false": False, "0": False}
# With fewer scores, the scale gives a better center and spread than their mean and deviation.
FEWEST_SCORES = 10
# By default the spread is such that one text in twenty would lie beyond the ends of the scale.
SPREADS_ON_SCALE = 4


@dataclass(frozen=True, slots=True)
class PairwiseComparison:
    """A preference between two texts, or a tie.

    Attributes:
        better, worse: ids of the texts; in either order for a tie.
        tie: whether neither is better.
        aspect: the aspect compared; `None` if the row names none.
        rater: the rater's name; `None` if unknown.
    """

    better: str
    worse: str
    tie: bool = False
    aspect: str | None = None
    rater: str | None = None


def comparisons_of(
    row: Any, where: str, line: int, mapping: FieldMap = NATIVE, rules: CellRules = TYPED
) -> tuple[PairwiseComparison, ...] | RowError | None:
    """Return the comparisons in a row, or its first fault; `None` if the row is of another kind.

    A ranking becomes all of its pairs: neighbouring pairs alone would not give consistent estimates (Azari
    Soufiani, Chen, Parkes & Xia 2013, "Generalized method-of-moments for rank aggregation").
    """
    if not isinstance(row, Mapping):
        return None
    fields = _ComparisonFields(row, mapping, rules)
    if fields.is_given("output") or not any(map(fields.is_given, COMPARING)):
        return None
    try:
        return fields.comparisons()
    except FieldError as wrong:
        return RowError(where, line, wrong.field, wrong.got, wrong.expected)


class _ComparisonFields(Fields):
    """The fields of a row with comparisons."""

    def comparisons(self) -> tuple[PairwiseComparison, ...]:
        pairs = tuple(self._ranked() if self.is_given("ranking") else self._preferred())
        aspect, rater = self._if_given("aspect"), self._if_given("rater")
        return tuple(PairwiseComparison(better, worse, tie, aspect, rater) for better, worse, tie in pairs)

    def _if_given(self, name: str) -> str | None:
        return self.name(name) if self.is_given(name) else None

    def _preferred(self) -> Iterator[tuple[str, str, bool]]:
        better, worse = (
            self._id(name, self.value(name) if self.is_given(name) else None) for name in ("preferred", "over")
        )
        if better == worse:
            raise FieldError("over", f"{worse!r}, the text itself", "the id of another text")
        yield better, worse, self._tie()

    def _ranked(self) -> Iterator[tuple[str, str, bool]]:
        if extra := next(filter(self.is_given, ("preferred", "over")), None):
            raise FieldError(extra, "a preference beside a ranking", "a row for each")
        places = self._places(self.value("ranking"))
        ids = [(place, name) for place, names in enumerate(places) for name in names]
        twice = [name for name, count in Counter(name for _, name in ids).items() if count > 1]
        if twice:
            raise FieldError("ranking", f"{twice[0]!r} twice", "each text once")
        if len(ids) < 2:
            raise FieldError("ranking", f"{len(ids)} texts" if len(ids) != 1 else "1 text", _RANKED)
        for (place, better), (other, worse) in combinations(ids, 2):
            yield better, worse, place == other

    def _places(self, ranking: Any) -> list[list[str]]:
        if isinstance(ranking, str) and not self.rules.typed:
            ranking = [[part.strip() for part in place.split("=")] for place in ranking.split(">")]
        if not isinstance(ranking, list | tuple):
            raise FieldError("ranking", describe(ranking), _RANKED)
        tied = [place if isinstance(place, list | tuple) else [place] for place in ranking]
        if not all(tied):
            raise FieldError("ranking", "an empty list in it", _RANKED)
        return [[self._id("ranking", name) for name in place] for place in tied]

    def _id(self, field: str, value: Any) -> str:
        name = self.as_name(field, value)
        if name is None:
            raise FieldError(field, "nothing" if value is None else describe(value), "the id of a text")
        return name

    def _tie(self) -> bool:
        if not self.is_given("tie"):
            return False
        value = self.value("tie")
        if isinstance(value, str) and not self.rules.typed:
            value = _YES_OR_NO.get(value.strip().lower(), value)
        if not isinstance(value, bool):
            raise FieldError("tie", describe(value), "true or false")
        return value


Lined = tuple[int, PairwiseComparison]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Examples in order, with scores for those that were only compared, and notes for the user."""

    examples: tuple[Example, ...]
    notes: tuple[str, ...] = ()


def fit_scores(
    examples: Sequence[Example], comparisons: Sequence[PairwiseComparison], aspect: str, scale: Scale
) -> Fitted:
    """Return the examples with a score for `aspect` if raters scored or compared them.

    Texts with a score keep it. The others get the unrounded joint estimate from scores and comparisons
    (`rubriclab.stats.pairs.joint_scores`), limited to the scale. Groups without any score are centered at
    the mean of all scores, or, with fewer than ten, at the middle of the scale, since nothing relates them to others.

    `comparisons` are about `aspect`, each between two examples of one group.
    """
    scored = {example.id: example.scores[aspect] for example in labelled(examples, aspect)}
    estimates = _estimates(examples, scored, comparisons, scale) if comparisons else {}
    new = {name: min(max(value, scale.low), scale.high) for name, value in estimates.items() if name not in scored}
    known = scored | new
    completed = tuple(
        replace(example, scores={**example.scores, aspect: known[example.id]}) if example.id in known else example
        for example in examples
    )
    return Fitted(completed, tuple(_notes(completed, scored, new, len(comparisons), aspect)))


def about(comparisons: Sequence[Lined], examples: Sequence[Example], aspect: str) -> list[Lined]:
    """Return the comparisons about `aspect`; those without an aspect are about the only one of the file."""
    named = _aspects(comparisons, examples)
    only = next(iter(named)) if named else aspect
    return [(line, comparison) for line, comparison in comparisons if (comparison.aspect or only) == aspect]


def comparison_faults(
    where: str, comparisons: Sequence[Lined], examples: Sequence[Example], faulty_texts: Collection[str] = ()
) -> Iterator[RowError]:
    """Yield at most one fault per row: texts that cannot be compared, or a missing aspect.

    Unknown texts whose own row is faulty are not reported again.
    """
    groups = {example.id: example.group for example in examples}
    several = len(_aspects(comparisons, examples)) > 1
    passed, faulty = frozenset(faulty_texts), set[int]()
    for line, comparison in comparisons:
        if line in faulty or passed & {comparison.better, comparison.worse}:
            continue
        if fault := _fault(comparison, groups, several):
            faulty.add(line)
            yield RowError(where, line, *fault)


def _fault(
    comparison: PairwiseComparison, groups: Mapping[str, str], several: bool
) -> tuple[str | None, str, str] | None:
    pair = (comparison.better, comparison.worse)
    if unknown := [name for name in pair if name not in groups]:
        return None, f"a comparison with {unknown[0]!r}", "the id of a text in the same rows"
    if groups[pair[0]] != groups[pair[1]]:
        got = f"a comparison of {pair[0]!r} (group {groups[pair[0]]!r}) with {pair[1]!r} (group {groups[pair[1]]!r})"
        return None, got, "two texts of one group"
    if several and comparison.aspect is None:
        return "aspect", "nothing", "the aspect of the comparison, as there are several"
    return None


def _aspects(comparisons: Sequence[Lined], examples: Sequence[Example]) -> set[str]:
    named = {comparison.aspect for _, comparison in comparisons if comparison.aspect}
    return named.union(*(example.scores.keys() | example.annotations.keys() for example in examples))


def _estimates(
    examples: Sequence[Example], scored: Mapping[str, float], comparisons: Sequence[PairwiseComparison], scale: Scale
) -> dict[str, float]:
    """Return the estimated score of each compared text."""
    import numpy as np

    from rubriclab.stats.pairs import Comparisons, joint_scores

    ids = sorted({example.id: None for example in examples})
    place = {name: number for number, name in enumerate(ids)}
    group_of = {example.id: example.group for example in examples}
    ordered = sorted(comparisons, key=lambda comparison: (comparison.better, comparison.worse, comparison.tie))
    pairs = Comparisons(
        np.array([place[comparison.better] for comparison in ordered]),
        np.array([place[comparison.worse] for comparison in ordered]),
        np.array([comparison.tie for comparison in ordered]),
    )
    scores = np.array([scored.get(name, np.nan) for name in ids], dtype=float)
    groups = np.unique([group_of[name] for name in ids], return_inverse=True)[1]
    center, spread = scale.low + scale.width / 2, scale.width / SPREADS_ON_SCALE
    if _informative(scored):
        center, spread = float(np.nanmean(scores)), float(np.nanstd(scores))
    latents = joint_scores(scores, groups, pairs, center=center, spread=spread)
    return {name: float(value) for name, value in zip(ids, latents.values, strict=True) if np.isfinite(value)}


def _informative(scored: Mapping[str, float]) -> bool:
    """Return whether the scores suffice to estimate center and spread."""
    return len(scored) >= FEWEST_SCORES and len(set(scored.values())) > 1


def _notes(
    examples: Sequence[Example], scored: Mapping[str, float], new: Mapping[str, float], comparisons: int, aspect: str
) -> Iterator[str]:
    if comparisons and not new:
        yield f"{comparisons} comparisons ignored: every text in them has a score for {aspect!r}"
    if not new:
        return
    beside = f" beside {len(scored)} scores" if scored else ""
    yield f"{len(new)} labels are fitted to {comparisons} comparisons{beside}, by a Bradley-Terry model"
    groups = {example.group for example in examples if example.id in new}
    alone = groups - {example.group for example in examples if example.id in scored}
    if alone:
        center = "the mean of the scores" if _informative(scored) else "the middle of the scale"
        yield (
            f"{len(alone)} group{'s' if len(alone) > 1 else ''} with comparisons alone: only the order within a group "
            f"is known there, and each group is centered at {center}"
        )
