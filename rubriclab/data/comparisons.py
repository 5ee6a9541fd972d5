"""Comparisons of texts by raters, in place of scores or beside them.

A comparison is a row without an `output` that names texts by their `id`: `{"preferred": "a1-s3", "over": "a1-s1"}`, or
`{"ranking": ["a1-s3", ["a1-s1", "a1-s2"]]}`, best first, with ties in nested lists. Rows are parsed one by one; after
the last row, `comparison_faults` checks that the texts exist and are of one group, and `fit_scores` estimates scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from rubriclab.data.cells import TYPED, CellRules
from rubriclab.data.mapping import NO_MAPPING, FieldMap
from rubriclab.data.rows import FieldError, Fields, RowError
from rubriclab.models.characters import count, describe
from rubriclab.models.text import Example, Scale, labelled

COMPARING_FIELDS = ("preferred", "over", "ranking")
_RANKING_FORM = "a list of at least two ids, best first, with ties in nested lists"
_YES_OR_NO: Mapping[Any, bool] = {"true": True, "1": True, "false": False, "0": False}
# With fewer scores, the scale gives a better center and spread than the scores' mean and standard deviation.
MIN_SCORES = 10
# The width of the scale in standard deviations: one in twenty normally distributed scores is then off the scale.
SCALE_WIDTH_IN_SPREADS = 4


@dataclass(frozen=True, slots=True)
class PairwiseComparison:
    """A rater's preference for one of two texts, which are named by their ids, or a tie."""

    better: str
    worse: str
    tie: bool = False
    aspect: str | None = None
    rater: str | None = None


NumberedComparisons = Sequence[tuple[int, PairwiseComparison]]


def parse_comparisons(
    row: Any, where: str, line: int, mapping: FieldMap = NO_MAPPING, rules: CellRules = TYPED
) -> tuple[PairwiseComparison, ...] | RowError | None:
    """Return the comparisons in a row, or its first fault; `None` if the row does not compare texts.

    A ranking becomes all of its pairs, which gives consistent estimates (Azari Soufiani, Chen, Parkes & Xia 2013,
    "Generalized method-of-moments for rank aggregation").
    """
    if not isinstance(row, Mapping):
        return None
    fields = Fields(row, mapping, rules)
    if fields.has_value("output") or not any(map(fields.has_value, COMPARING_FIELDS)):
        return None
    try:
        pairs = _ranked_pairs(fields) if fields.has_value("ranking") else [_preferred_pair(fields)]
        aspect = fields.read_name("aspect") if fields.has_value("aspect") else None
        rater = fields.read_name("rater") if fields.has_value("rater") else None
    except FieldError as fault:
        return fault.to_row_error(where, line)
    return tuple(PairwiseComparison(better, worse, tie, aspect, rater) for better, worse, tie in pairs)


def _preferred_pair(fields: Fields) -> tuple[str, str, bool]:
    ids = [fields.value(name) if fields.has_value(name) else None for name in ("preferred", "over")]
    better, worse = _text_id(fields, "preferred", ids[0]), _text_id(fields, "over", ids[1])
    if better == worse:
        raise FieldError("over", f"{worse!r}, the same text", "the id of another text")
    tie = fields.value("tie") if fields.has_value("tie") else False
    if isinstance(tie, str) and not fields.rules.typed:
        tie = _YES_OR_NO.get(tie.strip().lower(), tie)
    if not isinstance(tie, bool):
        raise FieldError("tie", describe(tie), "true or false")
    return better, worse, tie


def _ranked_pairs(fields: Fields) -> list[tuple[str, str, bool]]:
    for field in ("preferred", "over"):
        if fields.has_value(field):
            raise FieldError(field, "a preference beside a ranking", "either of the two in one row")
    ranking = fields.value("ranking")
    if isinstance(ranking, str) and not fields.rules.typed:
        ranking = [[name.strip() for name in rank.split("=")] for rank in ranking.split(">")]
    if not isinstance(ranking, list | tuple):
        raise FieldError("ranking", describe(ranking), _RANKING_FORM)
    ids_by_rank = [ids if isinstance(ids, list | tuple) else [ids] for ids in ranking]
    if not all(ids_by_rank):
        raise FieldError("ranking", "an empty list in the ranking", _RANKING_FORM)
    rank_by_id: dict[str, int] = {}
    repeated_ids = []
    for rank, ids in enumerate(ids_by_rank):
        for value in ids:
            text_id = _text_id(fields, "ranking", value)
            if text_id in rank_by_id:
                repeated_ids.append(text_id)
            rank_by_id[text_id] = rank
    if repeated_ids:
        raise FieldError("ranking", f"{repeated_ids[0]!r} twice", "each text once")
    if len(rank_by_id) < 2:
        raise FieldError("ranking", count(len(rank_by_id), "text"), _RANKING_FORM)
    return [(better, worse, rank_by_id[better] == rank_by_id[worse]) for better, worse in combinations(rank_by_id, 2)]


def _text_id(fields: Fields, field: str, value: Any) -> str:
    name = fields.parse_name(field, value)
    if name is None:
        raise FieldError(field, "nothing" if value is None else describe(value), "the id of a text")
    return name


def select_comparisons(
    comparisons: NumberedComparisons, examples: Sequence[Example], aspect: str
) -> NumberedComparisons:
    """Return the comparisons about `aspect`; a comparison without an aspect is about the only aspect of the file."""
    only_aspect = next(iter(_judged_aspects(comparisons, examples)), aspect)
    return [(line, comparison) for line, comparison in comparisons if (comparison.aspect or only_aspect) == aspect]


def comparison_faults(
    where: str, comparisons: NumberedComparisons, examples: Sequence[Example], faulty_ids: Collection[str] = ()
) -> Iterator[RowError]:
    """Yield a fault for each row whose texts cannot be compared or whose aspect is unclear; skip `faulty_ids`."""
    groups = {example.id: example.group for example in examples}
    has_several_aspects = len(_judged_aspects(comparisons, examples)) > 1
    faulty_lines = set[int]()
    for line, comparison in comparisons:
        better, worse = comparison.better, comparison.worse
        if line in faulty_lines or better in faulty_ids or worse in faulty_ids:
            continue
        unknown_ids = [name for name in (better, worse) if name not in groups]
        if unknown_ids:
            got = f"a comparison with {unknown_ids[0]!r}"
            fault = RowError(where, line, None, got, "the id of a text in the same rows")
        elif groups[better] != groups[worse]:
            got = f"a comparison of {better!r} (group {groups[better]!r}) with {worse!r} (group {groups[worse]!r})"
            fault = RowError(where, line, None, got, "two texts of one group")
        elif has_several_aspects and comparison.aspect is None:
            fault = RowError(where, line, "aspect", "nothing", "the aspect of the comparison, as there are several")
        else:
            continue
        faulty_lines.add(line)
        yield fault


def _judged_aspects(comparisons: NumberedComparisons, examples: Sequence[Example]) -> set[str]:
    aspects = {comparison.aspect for _, comparison in comparisons if comparison.aspect}
    return aspects.union(*(example.scores.keys() | example.annotations.keys() for example in examples))


def fit_scores(
    examples: Sequence[Example], comparisons: Sequence[PairwiseComparison], aspect: str, scale: Scale
) -> tuple[tuple[Example, ...], tuple[str, ...]]:
    """Return the examples with a score for `aspect` if raters scored or compared them, and notes for the user.

    Each comparison is about `aspect` and within a group. Texts with a score keep it. Texts without one get an estimate
    from all scores and comparisons (`rubriclab.stats.pairs.joint_scores`), limited to the scale. Groups without any
    score are centered at the mean of all scores, or at the middle of the scale if there are fewer than ten scores.
    """
    own_scores = {example.id: example.scores[aspect] for example in labelled(examples, aspect)}
    fitted, notes = dict[str, float](), list[str]()
    if comparisons:
        are_scores_enough = len(own_scores) >= MIN_SCORES and len(set(own_scores.values())) > 1
        estimates = _estimate_scores(examples, own_scores, comparisons, None if are_scores_enough else scale)
        for text_id in estimates.keys() - own_scores.keys():
            fitted[text_id] = min(max(estimates[text_id], scale.low), scale.high)
        if fitted:
            beside_scores = f" beside {len(own_scores)} scores" if own_scores else ""
            labels = f"{len(fitted)} labels are fitted to {len(comparisons)} comparisons{beside_scores}"
            notes.append(f"{labels}, by a Bradley-Terry model")
        else:
            notes.append(f"{len(comparisons)} comparisons ignored: every text in them has a score for {aspect!r}")
        fitted_groups = {example.group for example in examples if example.id in fitted}
        groups_without_scores = fitted_groups - {example.group for example in examples if example.id in own_scores}
        if groups_without_scores:
            alone = f"{count(len(groups_without_scores), 'group')} with comparisons alone"
            center = "the mean of the scores" if are_scores_enough else "the middle of the scale"
            notes.append(
                f"{alone}: only the order within a group is known there, and each group is centered at {center}"
            )
    result = list[Example]()
    for example in examples:
        # A text with a label keeps it, even if another text has the same id.
        fit = {aspect: fitted[example.id]} if example.id in fitted else {}
        result += labelled([example], aspect) or [replace(example, scores={**example.scores, **fit})]
    return tuple(result), tuple(notes)


def _estimate_scores(
    examples: Sequence[Example],
    score_by_id: Mapping[str, float],
    comparisons: Sequence[PairwiseComparison],
    scale: Scale | None,
) -> dict[str, float]:
    """Return the estimated scores by id, centered and spread as on the scale or, without one, as the known scores."""
    import numpy as np

    from rubriclab.stats.pairs import Comparisons, joint_scores

    group_by_id = {example.id: example.group for example in examples}
    ids = sorted(group_by_id)
    index_by_id = {text_id: index for index, text_id in enumerate(ids)}
    ordered = sorted(comparisons, key=lambda comparison: (comparison.better, comparison.worse, comparison.tie))
    better = np.array([index_by_id[comparison.better] for comparison in ordered])
    worse = np.array([index_by_id[comparison.worse] for comparison in ordered])
    pairs = Comparisons(better, worse, np.array([comparison.tie for comparison in ordered]))
    scores = np.array([score_by_id.get(text_id, np.nan) for text_id in ids], dtype=float)
    groups = np.unique([group_by_id[text_id] for text_id in ids], return_inverse=True)[1]
    if scale:
        center, spread = scale.low + scale.width / 2, scale.width / SCALE_WIDTH_IN_SPREADS
    else:
        center, spread = float(np.nanmean(scores)), float(np.nanstd(scores))
    estimates = joint_scores(scores, groups, pairs, center=center, spread=spread).values
    return {text_id: float(value) for text_id, value in zip(ids, estimates, strict=True) if np.isfinite(value)}
