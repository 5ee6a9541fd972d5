"""The results of a drift analysis: plain data for reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rubriclab.base_models import FrozenModel
from rubriclab.data.scale import Scale
from rubriclab.display import Displayed
from rubriclab.drift.criteria import CriterionState
from rubriclab.stats.interval import Interval

if TYPE_CHECKING:
    from rubriclab.report.model import View


class ScoreSummary(FrozenModel):
    """The scores of one version and judge, on the scale of the version before.

    Attributes:
        scale: of the scores as they were given.
        scored, unscored: texts with and without a score; `unscored_reason` is the latest reason.
        mean, standard_deviation: `None` with too few scores.
    """

    rubric: str
    judge: str
    scale: Scale
    scored: int
    unscored: int
    unscored_reason: str | None
    mean: float | None
    standard_deviation: float | None


class ScoreShift(FrozenModel):
    """Differences of scores, after minus before.

    Attributes:
        mean: of the differences, in points.
        standardized: the same in standard deviations before; `None` if scores before are constant.
        mean_absolute: mean absolute difference.
        share_moved: share of the texts that moved by more than `tolerance` points.
    """

    mean: Interval
    standardized: float | None
    mean_absolute: float | None
    share_moved: float | None
    tolerance: float


class RankAgreement(FrozenModel):
    """Rank correlations before and after, within groups of several texts or over all texts."""

    level: Literal["group", "dataset"]
    texts: int
    groups: int
    spearman: Interval
    kendall: Interval


class RankChange(FrozenModel):
    """A text whose rank over all texts changed; 1 is the best, ties share their mean rank."""

    id: str
    group: str
    before: float
    after: float
    rank_before: float
    rank_after: float


class CriterionEffect(FrozenModel):
    """How far a criterion changed a text's score, in `Drift.effect_unit`."""

    criterion: str
    state: CriterionState
    change: float


class FlippedText(FrozenModel):
    """A text that crossed the threshold, with the criteria that moved it most."""

    id: str
    group: str
    before: float
    after: float
    effects: tuple[CriterionEffect, ...]


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


class CriterionDrift(FrozenModel):
    """The effect of one criterion on scores, in `Drift.effect_unit`.

    Attributes:
        name: its id, or both ids if they differ.
        state: kept, changed in wording or weight, removed, added; or `intercept`, the score of a text that is average
            by all criteria, which no criterion explains.
        total: the sum over all texts; `None` if unknown.
        mean, mean_absolute: per text.
        flips: flipped texts that it moved most in the direction of the flip.
    """

    name: str
    state: CriterionState
    trait: str
    statement: str
    total: float | None
    mean: float | None
    mean_absolute: float | None
    flips: int


class IntervalComparison(FrozenModel):
    """The intervals of scores before and after, for texts with both.

    Attributes:
        disjoint: texts whose intervals do not overlap.
        outside: texts whose score after is outside of the interval before.
        width_before, width_after: mean widths in points.
    """

    texts: int
    disjoint: int
    outside: int
    width_before: float
    width_after: float


class Drift(Displayed, FrozenModel):
    """How the scores of the same texts change from one version or judge to another.

    Attributes:
        scale: of all figures: the scale of the version before, to which scores after are mapped linearly.
        texts, groups: how many there are.
        compared: texts scored both before and after, on which all figures are based.
        unscored_both: texts scored neither before nor after.
        ranks: within groups, if groups have several texts, and over all texts.
        rank_changes: the largest.
        effect_unit: unit of the criteria's effects: points contributed to the score, or the change of the criterion's
            own rating as a share of its range.
        criteria: the largest effects first.
        intervals: `None` if no text has both.
    """

    before: ScoreSummary
    after: ScoreSummary
    scale: Scale
    texts: int
    groups: int
    compared: int
    unscored_both: int
    shift: ScoreShift
    ranks: tuple[RankAgreement, ...]
    rank_changes: tuple[RankChange, ...]
    flips: FlipSummary
    effect_unit: Literal["contribution", "rating"]
    criteria: tuple[CriterionDrift, ...]
    intervals: IntervalComparison | None

    def view(self) -> View:
        """Return what changed between the two sides."""
        from rubriclab.report.drift import drift_view

        return drift_view(self)
