"""The comparison of two columns of scores: plain data for reports, with limits for use in a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from rubriclab.base_models import FrozenModel
from rubriclab.comparison.columns import CriterionState
from rubriclab.comparison.pairing import PairingRule
from rubriclab.stats.errors import ScoreErrors
from rubriclab.stats.interval import Interval

LimitName = Literal["max_drop", "max_shift", "max_flips", "min_rank"]
LimitOutcome = Literal["within", "beyond", "unknown"]
LabelSource = Literal["both", "before", "after", "learning"]

# Figures are rounded to this, so that one exactly at the limit does not exceed it.
TOLERANCE = 1e-6
# If a larger share of the texts lacks a score, the others may not be representative: no limit is reported as met.
MAX_UNSCORED = 0.1


class SideSummary(FrozenModel):
    """One column of scores.

    Attributes:
        mean: of the scores, with its interval over groups.
        unscored: texts by the reason why they have no score.
        labelled: texts with score and label that the rubric was not fitted to; of two sets, of those compared.
        errors: of their scores.
    """

    name: str
    texts: int
    scored: int
    groups: int
    mean: Interval
    standard_deviation: float | None
    unscored: dict[str, int]
    labelled: int = 0
    errors: ScoreErrors | None = None


class CriterionScoreChange(FrozenModel):
    """How far a criterion's score changed over the pairs.

    Attributes:
        id: its id, or both ids if they differ.
        state: kept, changed in wording or weight, removed or added.
        pairs: those in which both texts have a rating.
        difference: after less before, as a share of the criterion's range: a question has the answers 0 and 1.
        p: two-sided, of no change; `adjusted_p` for the false discovery rate over all criteria.
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
        """Whether it changed by more than chance, at a false discovery rate of 5 %."""
        return self.adjusted_p is not None and self.adjusted_p < 0.05


class TextChange(FrozenModel):
    """An output whose score fell, with the criteria that fell most.

    Attributes:
        reasons: for the criteria that fell: id, reason before, reason after.
    """

    id: str
    group: str
    before: float
    after: float
    text_before: str
    text_after: str
    reasons: tuple[tuple[str, str, str], ...]


class RankAgreement(FrozenModel):
    """Rank correlations before and after, within groups of several texts or over all texts."""

    level: Literal["group", "dataset"]
    texts: int
    groups: int
    spearman: Interval
    kendall: Interval


class FlippedText(FrozenModel):
    """A text that crossed the threshold."""

    id: str
    group: str
    before: float
    after: float


class FlipSummary(FrozenModel):
    """Texts that cross the threshold.

    Attributes:
        threshold: scores at or above it are on the upper side.
        texts: how many cross it, `up` and `down` of them.
        share: of the texts scored both before and after.
        largest: those that moved farthest.
    """

    threshold: float
    texts: int
    up: int
    down: int
    share: Interval
    largest: tuple[FlippedText, ...]


class LimitCheck(FrozenModel):
    """A limit compared with the figure it applies to.

    Attributes:
        allowed: its value; `None` for a drop of the mean that is only tested against chance.
        value: the figure; `None` if undefined.
        outcome: `unknown` without a figure, or if too many texts lack a score.
    """

    limit: LimitName
    allowed: float | None
    value: float | None
    outcome: LimitOutcome


class HumanDifference(FrozenModel):
    """The mean human score of one set less that of another, estimated from the scores and labels.

    Attributes:
        p: two-sided, of no difference.
        labels: how many there are.
        labels_of: `both` sets, one of them, or the texts of `learning`.
    """

    difference: Interval
    p: float | None
    labels: int
    labels_of: LabelSource


class Comparison(FrozenModel):
    """Two columns of scores: of two sets of outputs by one version, or of the same texts by two versions or judges.

    Attributes:
        scale: of all figures; scores after on another scale are mapped to it linearly.
        pairing: what outputs were paired by; `text` for the same texts, `None` if the sets are independent.
        pairs: pairs with both scores, in `groups` groups; `unpaired_before`, `unpaired_after` have no counterpart.
        other_sources: pairs whose sources or contexts differ, so that their ids may name different texts.
        difference: mean score after less before: of pairs, or of two independent sets.
        p: two-sided, of no difference.
        human: the difference of the mean human scores, which then decides; `None` without enough labels.
        mean_absolute: mean absolute difference of the pairs.
        better, worse, unchanged: shares of the pairs; by at least `visible` points.
        max_drop: the largest acceptable drop of the mean; `None` if none was given.
        ranks, flips: of the same texts only: correlations of the rankings, within groups first if groups have several
            texts, and texts that cross the threshold.
        criteria: the largest drop first.
        fallen: the outputs whose score fell most.
        checks: the limits that apply.
    """

    rubric: str
    judge: str
    scale: tuple[float, float]
    before: SideSummary
    after: SideSummary
    pairing: PairingRule | Literal["text"] | None
    pairs: int
    groups: int
    unpaired_before: int = 0
    unpaired_after: int = 0
    other_sources: int = 0
    difference: Interval
    p: float | None
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
        """`beyond` if any limit is exceeded, else `unknown` if any outcome is, else `within`."""
        outcomes = {check.outcome for check in self.checks}
        return "beyond" if "beyond" in outcomes else "unknown" if "unknown" in outcomes else "within"

    @property
    def enough_scored(self) -> bool:
        """Whether at most a tenth of each set, or of the same texts, has no score."""
        if self.pairing == "text":
            return self.pairs >= (1 - MAX_UNSCORED) * self.before.texts
        return all(side.scored >= (1 - MAX_UNSCORED) * side.texts for side in (self.before, self.after))


class AnchorLook(FrozenModel):
    """Labelled texts scored once more, and how their errors have changed since the first look.

    Attributes:
        looks: how many there were, this one included.
        bias, absolute_error: the mean of score less label at this look, and of its absolute value.
        bias_change, error_change: of a look from the mean of the looks before it, the mean over all looks, with the
            interval of a confidence sequence: looking often does not make false alarms more frequent.
        outcome: `beyond` if an interval excludes 0, or did at an earlier look; `unknown` if too many texts lack a
            score.
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
    """Limits on the scores of the same texts; `None` for no limit.

    Attributes:
        max_shift: absolute shift of the mean score, in points of the scale before.
        max_flips: share of texts that cross the threshold.
        min_rank: Spearman correlation of the rankings, within groups if groups have several texts.
    """

    max_shift: float | None = None
    max_flips: float | None = None
    min_rank: float | None = None

    def checked(self, comparison: Comparison) -> Comparison:
        """Return the comparison with the outcome of each limit that is set."""
        return comparison.model_copy(update={"checks": tuple(self._checks(comparison))})

    def _checks(self, comparison: Comparison) -> Iterator[LimitCheck]:
        shift = comparison.difference.value
        share = comparison.flips.share.value if comparison.flips else None
        rank = comparison.ranks[0].spearman.value if comparison.ranks else None
        if comparison.mean_absolute == 0:
            rank = 1.0  # The rankings agree, though the correlation of constant scores is undefined.
        found: dict[LimitName, tuple[float | None, float]] = {
            "max_shift": (shift, abs(shift or 0.0) - (self.max_shift or 0.0)),
            "max_flips": (share, (share or 0.0) - (self.max_flips or 0.0)),
            "min_rank": (rank, (self.min_rank or 0.0) - (rank or 0.0)),
        }
        for allowed, (limit, (value, excess)) in zip(self, found.items(), strict=True):
            if allowed is not None:
                unknown = value is None or (excess <= TOLERANCE and not comparison.enough_scored)
                outcome: LimitOutcome = "unknown" if unknown else "beyond" if excess > TOLERANCE else "within"
                yield LimitCheck(limit=limit, allowed=allowed, value=value, outcome=outcome)


def drop_check(comparison: Comparison) -> LimitCheck:
    """Return whether the drop of the mean is within `max_drop` (without one: whether there is none beyond chance).

    The human difference decides if there is one, else the judge's. `beyond` if the whole interval lies below the limit,
    `within` if none of it does, else `unknown`. Without a limit an interval that includes 0 is `within`. If more than a
    tenth of a set has no score, the others may not represent it, and nothing is `within`.
    """
    difference, allowed = (comparison.human or comparison).difference, comparison.max_drop
    outcome: LimitOutcome = "unknown"
    if difference.low is not None and difference.high is not None:
        if difference.high < -(allowed or 0.0):
            outcome = "beyond"
        elif comparison.enough_scored and (allowed is None or difference.low >= -allowed):
            outcome = "within"
    drop = None if difference.value is None else 0.0 - difference.value
    return LimitCheck(limit="max_drop", allowed=allowed, value=drop, outcome=outcome)
