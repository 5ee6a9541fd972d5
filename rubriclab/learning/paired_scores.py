"""Comparison of scores: which outputs of two sets form pairs, and how their scores differ."""

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
ScoredText = tuple[Example, tuple[scoring.Score, ...]]  # a text and its score in each column
LimitName = Literal["max_drop", "max_shift", "max_flips", "min_rank"]
LimitOutcome = Literal["within", "beyond", "inconclusive"]
LabelSource = Literal["both", "before", "after", "learning"]

# Figures are rounded: a figure exceeds a limit only if it is beyond the limit by more than this.
TOLERANCE = 1e-6
# If a larger share of the texts lacks a score, the other texts may not be representative: no limit is reported as met.
MAX_UNSCORED = 0.1


@dataclass(frozen=True, slots=True)
class Outputs:
    """A set of outputs with their scores, in the same order; `name` is its file or system."""

    name: str
    examples: tuple[Example, ...]
    scores: tuple[scoring.Score, ...]

    @property
    def scored(self) -> list[tuple[Example, float]]:
        pairs = zip(self.examples, self.scores, strict=True)
        return [(example, score.score) for example, score in pairs if score.score is not None]


def pair_outputs(
    before: Sequence[Example], after: Sequence[Example], rule: PairingRule | None
) -> tuple[PairingRule | None, list[tuple[int, int]]]:
    """Return the rule that pairs the outputs, and the indices of each pair.

    Without `rule`, outputs are paired by id, else by group, else not at all. An id must occur once on each side. If
    both sides list the same groups in the same order, they are paired in this order; else each shared group must have
    one output on each side, or no pair is made. Ids made from texts do not count. With `rule`, raises DataError if the
    sets share no id or group.
    """
    rules = (rule,) if rule else get_args(PairingRule)
    for name in rules:
        old_keys = [getattr(example, name) for example in before]
        new_keys = [getattr(example, name) for example in after]
        shared = {key for key in old_keys if not is_derived(key)} & set(new_keys)
        if name == "group" and shared and old_keys == new_keys:
            return name, [(index, index) for index, key in enumerate(old_keys) if key in shared]
        old_counts, new_counts = Counter(old_keys), Counter(new_keys)
        index_of = {key: index for index, key in enumerate(new_keys)}
        unique = {key for key in shared if old_counts[key] == new_counts[key] == 1}
        if name == "group" and unique != shared:
            return name, []
        if unique:
            return name, [(index, index_of[key]) for index, key in enumerate(old_keys) if key in unique]
    if rule:
        raise DataError(
            f"`pair_by={rule}`: no {rule} occurs in both sets.",
            f"Name the column with the {rule}s of both sets (`mapping={rule}=COLUMN`), or leave `pair_by` out.",
        )
    return None, []


def score_columns(
    columns: Sequence[tuple[Version, Judge]], texts: Iterable[Example], under_way: int
) -> AsyncGenerator[ScoredText]:
    """Yield each text with its score by each version and judge, in order; errors as for `scoring.score_stream`."""

    async def score_column(version: Version, group: Sequence[Example], judge: Judge) -> list[scoring.Score]:
        limits = scoring.rival_limits(version.rubric, None)
        if limits:
            return await scoring.score_group(
                version.rubric, group, judge, version.ref, limits=limits, counts=scoring.RivalCounts()
            )
        return await asyncio.gather(*(scoring.score_text(version.rubric, text, judge, version.ref) for text in group))

    async def score(group: Sequence[Example]) -> list[ScoredText]:
        scores_by_column = await gather_then_raise(score_column(version, group, judge) for version, judge in columns)
        scores_by_text = zip(*scores_by_column, strict=True)
        return list(zip(group, scores_by_text, strict=True))

    has_rivals = any(scoring.rival_limits(version.rubric, None) for version, _ in columns)
    return scoring.stream(texts, score, under_way, key=scoring.row_key if has_rivals else None)


class CriterionPair(NamedTuple):
    """A criterion before (`None` if it was added) and after (`None` if it was removed)."""

    before: Criterion | None
    after: Criterion | None
    state: CriterionState

    @property
    def name(self) -> str:
        """The id, or both ids if they differ."""
        return " -> ".join(dict.fromkeys(each.id for each in (self.before, self.after) if each))

    def ratings(self, before: scoring.Score, after: scoring.Score) -> Iterator[CriterionRating | None]:
        """Yield the criterion's rating in the score before and in the score after, `None` if it has none."""
        for criterion, score in ((self.before, before), (self.after, after)):
            yield next((rating for rating in score.criteria if criterion and rating.id == criterion.id), None)


@dataclass(frozen=True, slots=True, eq=False)
class PairedScore:
    """Two scores of one text, or one score of each of two outputs, on the earlier rubric's scale; `None` if unscored.

    `changes` has shape (criteria, 2): for each criterion, the change of its rating as a share of its range, and that of
    its contribution to the score in points; NaN if unknown.
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
    """The rubrics that gave two columns of scores, with the criteria of both."""

    before: Rubric
    after: Rubric
    criteria: tuple[CriterionPair, ...]

    @property
    def scale(self) -> Scale:
        return self.before.scores_on

    @property
    def has_two_scales(self) -> bool:
        return not self.after.scores_on.same_ends(self.scale)

    def pair_scores(self, group: str, before: scoring.Score, after: scoring.Score) -> PairedScore:
        after_score, changes = after.score, []
        if after_score is not None and self.has_two_scales:  # On one scale, mapping could change the score's last bit.
            after_score = round(self.after.scores_on.moved_to(self.scale, after_score), DIGITS)
        has_weights = self.before.aggregation and self.after.aggregation
        points_per_new_point = self.scale.width / self.after.scores_on.width
        for criterion in self.criteria:
            old, new = criterion.ratings(before, after)
            old_share = _rating_share(criterion.before, old, self.before)
            rating_change = _rating_share(criterion.after, new, self.after) - old_share
            # A criterion that was added or removed changed the score by its whole contribution.
            new_contribution = points_per_new_point * _contribution(criterion.after, new)
            contribution_change = new_contribution - _contribution(criterion.before, old)
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

    def to_row(
        self, paired: PairedScore, before: scoring.Score, after: scoring.Score, threshold: float
    ) -> dict[str, Any]:
        """Return the change of one text's score and ratings as a JSON object; scores from `threshold` on pass."""
        row: dict[str, Any] = {name: getattr(paired, name) for name in ("id", "group", "before", "after")}
        row |= {"difference": None, "flips": None}
        if paired.before is not None and paired.after is not None:
            row["difference"] = round(paired.after - paired.before, DIGITS)
            row["flips"] = (paired.before >= threshold) != (paired.after >= threshold)
        row |= {"unscored_before": paired.unscored_before, "unscored_after": paired.unscored_after, "criteria": []}
        for criterion, (rating_change, contribution_change) in zip(self.criteria, paired.changes.tolist(), strict=True):
            old, new = criterion.ratings(before, after)
            row["criteria"].append(
                {
                    "criterion": criterion.name,
                    "state": criterion.state,
                    "change": round_or_none(rating_change),
                    "contribution": round_or_none(contribution_change),
                    "score_before": old.score if old else None,
                    "score_after": new.score if new else None,
                    "reason_before": old.reason if old else None,
                    "reason_after": new.reason if new else None,
                }
            )
        return row


def _rating_share(criterion: Criterion | None, rating: CriterionRating | None, rubric: Rubric) -> float:
    """Return a rating as a share of its range; NaN if missing, and for text features, which have no fixed range."""
    if criterion is None or criterion.kind == "feature" or rating is None or rating.score is None:
        return math.nan
    return rating.score if criterion.kind == "question" else (rating.score - rubric.scale.low) / rubric.scale.width


def _contribution(criterion: Criterion | None, rating: CriterionRating | None) -> float:
    if criterion is None:
        return 0.0
    return math.nan if rating is None or rating.contribution is None else rating.contribution


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
    """Summary of one of the two compared columns of scores.

    Attributes:
        unscored: numbers of texts without a score, by reason.
        labelled: number of compared texts with a score and with a label that the rubric was not fitted to.
        unused_labels: number of labels that the rubric was not fitted to, of texts without a counterpart or a score.
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
    """How far a criterion's ratings changed over the pairs in which both texts have a rating.

    Attributes:
        difference: after minus before, as a share of the criterion's range.
        p, adjusted_p: two-sided p value, and the same adjusted for the false discovery rate over all criteria.
        contribution: mean change of its contribution to the score, in points; `None` if a rubric has no weights.
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


class FlippedText(FrozenModel):
    """A text with its scores before and after."""

    id: str
    group: str
    before: float
    after: float


class TextChange(FlippedText):
    """An output whose score fell; `reasons` has id, reason before and reason after of the criteria that fell most."""

    text_before: str
    text_after: str
    reasons: tuple[tuple[str, str, str], ...]


class RankAgreement(FrozenModel):
    """Rank correlations of scores before with scores after, within groups of several texts or over all texts."""

    level: Literal["group", "dataset"]
    texts: int
    groups: int
    spearman: Interval
    kendall: Interval


class FlipSummary(FrozenModel):
    """Texts that crossed the threshold, as a share of the texts with both scores; `largest` has the largest changes."""

    threshold: float
    texts: int
    up: int
    down: int
    share: Interval
    largest: tuple[FlippedText, ...]


class LimitCheck(FrozenModel):
    """A limit compared with its figure; `allowed` is `None` if no limit on the drop was given."""

    limit: LimitName
    allowed: float | None
    value: float | None
    outcome: LimitOutcome


class HumanDifference(FrozenModel):
    """The difference of two sets' mean human scores; `labels_of` says which texts' scores and labels estimate it."""

    difference: Interval
    labels: int
    labels_of: LabelSource


class Comparison(FrozenModel):
    """Two columns of scores: of two sets of outputs by one version, or of the same texts by two versions or judges.

    Attributes:
        scale: the scale of all figures; later scores on another scale are mapped to it linearly.
        verdicts: whether scores are probabilities of the better of two levels.
        pairing: what outputs were paired by; `text` for the same texts, `None` if the sets are independent.
        pairs: number of pairs with both scores, in `groups` groups.
        unpaired_before, unpaired_after: numbers of outputs without a counterpart.
        other_sources: pairs whose sources or contexts differ, so that their ids may name different texts.
        same_texts: pairs of two sets of outputs that are the same text.
        difference: mean score after minus before.
        human: the difference of the mean human scores, which decides if present; `None` without enough labels.
        better, worse, unchanged: shares of the pairs; a change counts from `visible` points.
        ranks, flips: for the same texts only; ranks within groups come first if groups have several texts.
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
    fallen: tuple[TextChange, ...] = ()
    checks: tuple[LimitCheck, ...] = ()

    @property
    def outcome(self) -> LimitOutcome:
        """`beyond` if any limit is exceeded, else `inconclusive` if any outcome is, else `within`."""
        outcomes = {check.outcome for check in self.checks}
        if "beyond" in outcomes:
            return "beyond"
        return "inconclusive" if "inconclusive" in outcomes else "within"

    @property
    def number_needed(self) -> int | None:
        """How many labels, or pairs if labels do not decide, give an even chance of a decision at this difference.

        `None` if unknown: labels of other texts do not tell how many labels of these texts are needed.
        """
        if self.human and self.human.labels_of != "both":
            return None
        difference = (self.human or self).difference
        number = self.human.labels if self.human else self.pairs
        if difference.value is None or difference.low is None or difference.high is None:
            return None
        distance = abs(difference.value + (self.max_drop or 0))  # from the largest allowed drop
        margin = (difference.high - difference.low) / 2
        return math.ceil(number * (margin / distance) ** 2) if distance > TOLERANCE else None

    @property
    def enough_scored(self) -> bool:
        """Whether at most a share `MAX_UNSCORED` of each set, or of the pairs of the same texts, lacks a score."""
        if self.pairing == "text":
            return self.pairs >= (1 - MAX_UNSCORED) * self.before.texts
        return all(side.scored >= (1 - MAX_UNSCORED) * side.texts for side in (self.before, self.after))


class AnchorLook(FrozenModel):
    """A look at an anchor: labelled texts are scored once more, and their errors compared with those at earlier looks.

    Attributes:
        bias, absolute_error: the means of score minus label at this look, and of its absolute value.
        bias_change, error_change: mean change of a look from the mean of earlier looks, with a confidence sequence.
        outcome: `beyond` if an interval excludes 0, now or earlier; `inconclusive` if too many texts lack a score.
    """

    rubric: str
    judge: str
    looks: int
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
            if allowed is not None:
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
    """Return the check of the limit `max_drop` on the difference of human scores, or else of the judge's scores.

    The limit is 0 by default. The outcome is `within` only if enough texts are scored.
    """
    difference, lowest = (comparison.human or comparison).difference, -(comparison.max_drop or 0.0)
    outcome: LimitOutcome = "inconclusive"
    if difference.low is not None and difference.high is not None:
        if difference.high < lowest:
            outcome = "beyond"
        elif comparison.enough_scored and difference.low >= lowest:
            outcome = "within"
    # Subtracted from 0, since a drop of -0.0 would be shown with its sign.
    drop = None if difference.value is None else 0.0 - difference.value
    return LimitCheck(limit="max_drop", allowed=comparison.max_drop, value=drop, outcome=outcome)
