"""Pairs of scores that `compare` and `drift` compare, the models of the results, and checks of the user's limits.

Each pair has a score before and a score after: of two outputs by one rubric (`compare`), or of one text by two rubrics
or judges (`drift`).
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from pydantic import Field

from rubriclab.data.rows import is_derived
from rubriclab.errors import DataError
from rubriclab.judges.judge import Judge
from rubriclab.learning import scoring
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.prompting import gather_then_raise
from rubriclab.models.base import FrozenModel
from rubriclab.models.rubric import Criterion, Rubric, matched_criteria
from rubriclab.models.text import Example, Scale
from rubriclab.models.version import Version
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.intervals import DIGITS, Interval, round_or_none
from rubriclab.stats.score_agreement import ScoreErrors

PairingRule = Literal["id", "group"]
CriterionState = Literal["kept", "changed", "removed", "added"]
ScoredText = tuple[Example, tuple[scoring.Score, ...]]  # a text and its score by each version and judge
LimitName = Literal["max_drop", "max_shift", "max_flips", "min_rank"]
LimitOutcome = Literal["within", "beyond", "inconclusive"]
LabelSource = Literal["both", "before", "after", "learning"]  # labels of both sets, of one, or of the training texts
# A pair of criteria, with the rating before by the first and the rating after by the second, `None` if missing.
RatedPair = tuple["CriterionPair", CriterionRating | None, CriterionRating | None]

# Figures are rounded: a figure exceeds a limit only if it is beyond the limit by more than this.
TOLERANCE = 1e-6
# If a larger share of the texts lacks a score, the other texts may not be representative: no limit is reported as met.
MAX_UNSCORED = 0.1


@dataclass(frozen=True, slots=True)
class Outputs:
    """A set of outputs with their scores, in the same order; `name` is their file or the system that wrote them."""

    name: str
    examples: tuple[Example, ...]
    scores: tuple[scoring.Score, ...]

    @property
    def scored(self) -> list[tuple[Example, float]]:
        examples_and_scores = zip(self.examples, self.scores, strict=True)
        return [(example, score.score) for example, score in examples_and_scores if score.score is not None]


def pair_outputs(
    before: Sequence[Example], after: Sequence[Example], rule: PairingRule | None
) -> tuple[PairingRule | None, list[tuple[int, int]]]:
    """Return the rule that pairs the outputs, and the indices of the two outputs of each pair.

    - By `id`, outputs form a pair if their id occurs once in each set.
    - By `group`, they are paired in order if both sets list the same groups in the same order. Otherwise each group
      that is in both sets needs one output in each set, or no pair is formed.

    Ids and groups that were made from a text's words are not used. Without `rule`, `id` is tried first, then `group`.
    Raises DataError if `rule` is given, and no id (or group) occurs in both sets.
    """
    rules = (rule,) if rule else get_args(PairingRule)
    for name in rules:
        old_keys = [getattr(example, name) for example in before]
        new_keys = [getattr(example, name) for example in after]
        shared = {key for key in old_keys if not is_derived(key)} & set(new_keys)
        if name == "group" and shared and old_keys == new_keys:
            return name, [(index, index) for index, key in enumerate(old_keys) if key in shared]
        old_counts, new_counts = Counter(old_keys), Counter(new_keys)
        unique = {key for key in shared if old_counts[key] == new_counts[key] == 1}
        if name == "group" and unique != shared:
            return name, []
        if unique:
            new_index = {key: index for index, key in enumerate(new_keys)}
            return name, [(index, new_index[key]) for index, key in enumerate(old_keys) if key in unique]
    if rule:
        raise DataError(
            f"`pair_by={rule}`: no {rule} occurs in both sets.",
            f"Name the column with the {rule}s of both sets (`mapping={rule}=COLUMN`), or leave `pair_by` out.",
        )
    return None, []


def score_by_several(
    scorers: Sequence[tuple[Version, Judge]], texts: Iterable[Example], under_way: int
) -> AsyncGenerator[ScoredText]:
    """Yield each text with its scores by all `scorers`, `under_way` groups at a time; errors: see `score_text`."""

    async def score_by_one(version: Version, group: Sequence[Example], judge: Judge) -> list[scoring.Score]:
        limits = scoring.group_limits(version.rubric)
        if limits:  # one call rates several texts of a group (rivals), as many as the limits allow
            counts = scoring.RivalCounts()  # of calls about several texts; not shown
            return await scoring.score_group(version.rubric, group, judge, version.ref, limits=limits, counts=counts)
        return await asyncio.gather(*(scoring.score_text(version.rubric, text, judge, version.ref) for text in group))

    async def score(group: Sequence[Example]) -> list[ScoredText]:
        scores_by_scorer = await gather_then_raise(score_by_one(version, group, judge) for version, judge in scorers)
        scores_by_text = zip(*scores_by_scorer, strict=True)
        return list(zip(group, scores_by_text, strict=True))

    in_groups = any(scoring.group_limits(version.rubric) for version, _ in scorers)
    return scoring.process_rows(texts, score, under_way, group_of=scoring.rival_group if in_groups else None)


class CriterionPair(NamedTuple):
    """A criterion before (`None` if it was added) and after (`None` if it was removed)."""

    before: Criterion | None
    after: Criterion | None
    state: CriterionState

    @property
    def name(self) -> str:
        """The id, or both ids if they differ."""
        return " -> ".join(dict.fromkeys(each.id for each in (self.before, self.after) if each))


@dataclass(frozen=True, slots=True, eq=False)
class PairedScore:
    """Two scores of a pair, `None` if missing; the one after is mapped to the scale of the one before.

    `changes` has shape (criteria, 2), NaN if unknown: the change of each criterion's rating, as a share of the range of
    its ratings, and the change of its contribution to the score, in points.
    """

    id: str
    group: str
    before: float | None
    after: float | None
    unscored_before: str | None
    unscored_after: str | None
    changes: FloatArray


@dataclass(frozen=True)
class RubricPair:
    """The rubrics that gave the scores before and after (perhaps one rubric), with the pairs of their criteria."""

    before: Rubric
    after: Rubric
    criteria: tuple[CriterionPair, ...]

    @property
    def scale(self) -> Scale:
        return self.before.score_scale  # the scale of its scores

    @property
    def has_two_scales(self) -> bool:
        return not self.after.score_scale.same_ends(self.scale)

    def pair_scores(self, group: str, before: scoring.Score, after: scoring.Score) -> PairedScore:
        after_score = after.score
        if after_score is not None and self.has_two_scales:  # On one scale, mapping could change the score's last bit.
            after_score = round(self.after.score_scale.moved_to(self.scale, after_score), DIGITS)
        has_weights = self.before.aggregation and self.after.aggregation
        scale_ratio = self.scale.width / self.after.score_scale.width
        changes = []
        for pair, old, new in self._ratings(before, after):
            old_share = _rating_share(pair.before, old, self.before)
            rating_change = _rating_share(pair.after, new, self.after) - old_share
            # A criterion that was added or removed changed the score by its whole contribution.
            new_contribution = scale_ratio * _contribution(pair.after, new)
            contribution_change = new_contribution - _contribution(pair.before, old)
            changes.append((rating_change, contribution_change if has_weights else math.nan))
        return PairedScore(
            id=before.id if before.id == after.id else f"{before.id} -> {after.id}",
            group=group,
            before=before.score,
            after=after_score,
            unscored_before=before.unscored,
            unscored_after=after.unscored,
            changes=np.array(changes, dtype=float).reshape(-1, 2),
        )

    def _ratings(self, before: scoring.Score, after: scoring.Score) -> Iterator[RatedPair]:
        old_ratings = {rating.id: rating for rating in before.criteria}
        new_ratings = {rating.id: rating for rating in after.criteria}
        for pair in self.criteria:
            old = old_ratings.get(pair.before.id) if pair.before else None
            new = new_ratings.get(pair.after.id) if pair.after else None
            yield pair, old, new

    def to_row(
        self, paired: PairedScore, before: scoring.Score, after: scoring.Score, threshold: float
    ) -> dict[str, Any]:
        """Return a text's change of score and ratings; `flips` says whether only one score reaches `threshold`."""
        row: dict[str, Any] = {name: getattr(paired, name) for name in ("id", "group", "before", "after")}
        row |= {"difference": None, "flips": None}
        if paired.before is not None and paired.after is not None:
            row["difference"] = round(paired.after - paired.before, DIGITS)
            row["flips"] = (paired.before >= threshold) != (paired.after >= threshold)
        row |= {"unscored_before": paired.unscored_before, "unscored_after": paired.unscored_after, "criteria": []}
        for index, (pair, old, new) in enumerate(self._ratings(before, after)):
            row["criteria"].append(
                {
                    "criterion": pair.name,
                    "state": pair.state,
                    "change": round_or_none(float(paired.changes[index, 0])),
                    "contribution": round_or_none(float(paired.changes[index, 1])),
                    "score_before": old.score if old else None,
                    "score_after": new.score if new else None,
                    "reason_before": old.reason if old else None,
                    "reason_after": new.reason if new else None,
                }
            )
        return row


def _rating_share(criterion: Criterion | None, rating: CriterionRating | None, rubric: Rubric) -> float:
    """Return a rating as a share of its range; NaN if it is missing or a text feature, which has no fixed range."""
    if criterion is None or criterion.kind == "feature" or rating is None or rating.score is None:
        return math.nan
    return rating.score if criterion.kind == "question" else (rating.score - rubric.scale.low) / rubric.scale.width


def _contribution(criterion: Criterion | None, rating: CriterionRating | None) -> float:
    """Return the contribution of a rating to its score in points: 0 if `criterion` is `None`, NaN if unknown."""
    if criterion is None:
        return 0.0
    if rating is None or rating.contribution is None:
        return math.nan
    return rating.contribution


def pair_rubrics(before: Rubric, after: Rubric) -> RubricPair:
    """Return two rubrics with their criteria paired by wording, not by id, since each training assigns new ids."""
    matches = matched_criteria(before.criteria, after.criteria)
    pairs = {criterion.id: CriterionPair(None, criterion, "added") for criterion in after.criteria}
    for match in matches:
        state: CriterionState = "changed" if match.changes else "kept"
        pairs[match.after.id] = CriterionPair(match.before, match.after, state)
    matched = {match.before.id for match in matches}
    removed = (CriterionPair(each, None, "removed") for each in before.criteria if each.id not in matched)
    return RubricPair(before, after, (*pairs.values(), *removed))


class SideSummary(FrozenModel):
    """Summary of all scores before or of all scores after.

    `labelled` is the number of labels that the comparison uses. `unused_labels` is the number of labels whose texts
    have no score or no pair. Neither number includes labels that the rubric was fitted to.
    """

    name: str
    texts: int
    scored: int
    groups: int
    mean: Interval
    standard_deviation: float | None
    unscored: dict[str, int]
    labelled: int = 0
    unused_labels: int = Field(0, exclude_if=lambda number: not number)
    errors: ScoreErrors | None = None


class CriterionScoreChange(FrozenModel):
    """The change of a criterion's ratings, over the pairs in which both texts have a rating.

    Attributes:
        difference: the mean rating after minus the mean rating before, as a share of the range of ratings.
        p, adjusted_p: the two-sided p value, and the same adjusted for the false discovery rate over all criteria.
        contribution: the mean change of its contribution to the score, in points; `None` if a rubric has no weights.
    """

    id: str
    state: CriterionState
    title: str
    pairs: int
    difference: Interval
    p: float | None
    adjusted_p: float | None
    contribution: float | None

    @property
    def significant(self) -> bool:
        return self.adjusted_p is not None and self.adjusted_p < 0.05


class ChangedText(FrozenModel):
    id: str
    group: str
    before: float
    after: float


class FallenText(ChangedText):
    """A pair whose score fell; `reasons` has the id, reason before and reason after of the criteria that fell most."""

    text_before: str
    text_after: str
    reasons: tuple[tuple[str, str, str], ...]


class RankAgreement(FrozenModel):
    """Rank correlations of scores before with scores after: over all texts, or the mean over groups of texts."""

    level: Literal["group", "dataset"]
    texts: int
    groups: int
    spearman: Interval
    kendall: Interval


class FlipSummary(FrozenModel):
    """Numbers of texts that flip: only the score after (`up`) or only the score before (`down`) reaches `threshold`.

    `share` is the share of flips among the texts with both scores; `largest` are the flips with the largest change.
    """

    threshold: float
    texts: int
    up: int
    down: int
    share: Interval
    largest: tuple[ChangedText, ...]


class LimitCheck(FrozenModel):
    """A figure (`value`) checked against a limit. `allowed` is `None` if `max_drop` was not given: 0 then applies."""

    limit: LimitName
    allowed: float | None
    value: float | None  # `None` if unknown
    outcome: LimitOutcome


class HumanDifference(FrozenModel):
    """The difference of the mean human scores of two sets; `labels_of` says which labels it is estimated from."""

    difference: Interval
    labels: int
    labels_of: LabelSource


class Comparison(FrozenModel):
    """The result of `compare` (two sets of outputs by one version) or `drift` (one set by two versions or judges).

    Attributes:
        scale: the lowest and highest score. If the scores after have another scale, they are mapped to this one.
        verdicts: whether labels have two levels, so that scores are probabilities of the better level.
        pairing: the rule that paired the outputs; `text` for `drift`, `None` if the sets share no id or group.
        pairs, groups: the number of pairs with both scores, and the number of groups that these pairs are of.
        other_sources: the number of pairs whose sources or contexts differ: their ids may name different texts.
        same_texts: for `compare`, the number of pairs whose outputs are the same text.
        difference, mean_absolute: the mean score after less the mean before, and the mean absolute change of a pair.
        human: the difference of the mean human scores; `None` with too few labels; then `max_drop` limits `difference`.
        better, worse, unchanged: shares of the pairs. If scores differ by less than `visible`, a pair is unchanged.
        ranks, flips: for `drift`; in `ranks`, correlations within groups come first.
        fallen: for `compare`, the pairs whose scores fell most.
    """

    rubric: str
    judge: str
    scale: tuple[float, float]
    verdicts: bool = Field(exclude_if=lambda verdicts: not verdicts)
    before: SideSummary
    after: SideSummary
    pairing: PairingRule | Literal["text"] | None
    pairs: int
    groups: int
    unpaired_before: int = 0
    unpaired_after: int = 0
    other_sources: int = 0
    same_texts: int = Field(0, exclude_if=lambda number: not number)
    difference: Interval
    human: HumanDifference | None = None
    mean_absolute: float | None
    visible: float
    better: float | None
    worse: float | None
    unchanged: float | None
    max_drop: float | None = None
    ranks: tuple[RankAgreement, ...] = ()
    flips: FlipSummary | None = None
    criteria: tuple[CriterionScoreChange, ...]
    fallen: tuple[FallenText, ...] = ()
    checks: tuple[LimitCheck, ...] = ()

    @property
    def outcome(self) -> LimitOutcome:
        """`beyond` if a limit is exceeded, else `inconclusive` if one check is inconclusive, else `within`."""
        outcomes = {check.outcome for check in self.checks}
        if "beyond" in outcomes:
            return "beyond"
        return "inconclusive" if "inconclusive" in outcomes else "within"

    @property
    def number_needed(self) -> int | None:
        """How many labels, or pairs if `human` is `None`, give such a comparison an even chance of being conclusive.

        It is conclusive if the interval of the difference excludes the limit. `None` if unknown, as with equal scores.
        """
        if self.human and self.human.labels_of != "both":  # unknown without labels of both sets
            return None
        difference = (self.human or self).difference
        number = self.human.labels if self.human else self.pairs
        if difference.value is None or difference.low is None or difference.high is None:
            return None
        distance = abs(difference.value + (self.max_drop or 0))  # from the largest allowed drop
        margin = (difference.high - difference.low) / 2
        has_change = bool(difference.value if self.human else self.mean_absolute)
        return math.ceil(number * (margin / distance) ** 2) if has_change and distance > TOLERANCE else None

    @property
    def enough_scored(self) -> bool:
        """Whether at most the share `MAX_UNSCORED` of each set (for `drift`: of the texts) has no score."""
        if self.pairing == "text":
            return self.pairs >= (1 - MAX_UNSCORED) * self.before.texts
        return all(side.scored >= (1 - MAX_UNSCORED) * side.texts for side in (self.before, self.after))


class AnchorLook(FrozenModel):
    """One scoring (look) of an anchor: labelled texts that are scored repeatedly; see `rubriclab.ops.compare`.

    Attributes:
        bias, absolute_error: the mean error (score less label) at this look, and the mean absolute error.
        bias_change, error_change: the mean changes of both since earlier looks, with confidence sequences as intervals.
        outcome: `beyond` if an interval excludes 0 at this or an earlier look; `inconclusive` with too few scores.
    """

    rubric: str
    judge: str
    looks: int  # so far, this one included
    texts: int
    groups: int
    bias: float | None
    absolute_error: float | None
    bias_change: Interval
    error_change: Interval
    outcome: LimitOutcome


class DriftLimits(NamedTuple):
    """Limits on the shift of the mean in points, on the share of texts that flip, and on the rank correlation."""

    max_shift: float | None = None
    max_flips: float | None = None
    min_rank: float | None = None

    def with_checks(self, comparison: Comparison) -> Comparison:
        """Return the comparison with a check of each limit that is not `None`."""
        shift = comparison.difference.value
        share = comparison.flips.share.value if comparison.flips else None
        rank = comparison.ranks[0].spearman.value if comparison.ranks else None
        if comparison.mean_absolute == 0:
            rank = 1.0  # The rankings agree, though the correlation of constant scores is undefined.
        values: dict[LimitName, float | None] = {"max_shift": shift, "max_flips": share, "min_rank": rank}
        checks = []
        for limit, value in values.items():
            allowed: float | None = getattr(self, limit)
            if allowed is None:
                continue
            outcome: LimitOutcome = "inconclusive"
            if value is not None:
                excess = allowed - value if limit == "min_rank" else abs(value) - allowed
                if excess > TOLERANCE:
                    outcome = "beyond"
                elif comparison.enough_scored:
                    outcome = "within"
            checks.append(LimitCheck(limit=limit, allowed=allowed, value=value, outcome=outcome))
        return comparison.model_copy(update={"checks": tuple(checks)})


def drop_check(comparison: Comparison) -> LimitCheck:
    """Return the check of the limit `max_drop`, by default 0; it is exceeded if the drop's whole interval is larger."""
    difference, lowest_allowed = (comparison.human or comparison).difference, -(comparison.max_drop or 0.0)
    outcome: LimitOutcome = "inconclusive"
    if difference.low is not None and difference.high is not None:
        if difference.high < lowest_allowed:
            outcome = "beyond"
        elif comparison.enough_scored and difference.low >= lowest_allowed:
            outcome = "within"
    # Subtracted from 0, since a drop of -0.0 would be shown with its sign.
    drop = None if difference.value is None else 0.0 - difference.value
    return LimitCheck(limit="max_drop", allowed=comparison.max_drop, value=drop, outcome=outcome)
