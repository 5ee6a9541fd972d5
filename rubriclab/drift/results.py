"""What drift is said to be: plain data, for a command to print."""

from __future__ import annotations

from typing import Literal

from rubriclab.base_models import FrozenModel
from rubriclab.data.scale import Scale
from rubriclab.drift.criteria import CriterionState
from rubriclab.validation import Interval


class ScoreSummary(FrozenModel):
    """One side's scores, on the scale of the side before.

    Attributes:
        rubric, judge: whose scores they are.
        scale: what they were given on.
        scored, unscored: texts with and without a score, and in `why` the latest reason.
        mean, spread: mean and standard deviation; `None` where there are too few.
    """

    rubric: str
    judge: str
    scale: Scale
    scored: int
    unscored: int
    why: str | None
    mean: float | None
    spread: float | None


class ScoreShift(FrozenModel):
    """How far scores moved, after less before.

    Attributes:
        mean: of the differences, in points.
        in_spreads: the same in units of the spread before; `None` where there is none.
        absolute: mean size of the differences.
        moved: share of the texts that moved by more than `tolerance` points.
    """

    mean: Interval
    in_spreads: float | None
    absolute: float | None
    moved: float | None
    tolerance: float


class RankAgreement(FrozenModel):
    """How alike the two sides rank texts, within the groups that have rivals or over all texts."""

    level: Literal["group", "dataset"]
    texts: int
    groups: int
    spearman: Interval
    kendall: Interval


class RankChange(FrozenModel):
    """A text whose rank over all texts changed; 1 is the best, equal scores share their mean rank."""

    id: str
    group: str
    before: float
    after: float
    rank_before: float
    rank_after: float


class CriterionEffect(FrozenModel):
    """A criterion, and how far it moved a text's score, in what `Drift.by` says."""

    criterion: str
    state: CriterionState
    change: float


class FlippedText(FrozenModel):
    """A text on one side of the line before and on the other after, and what moved it there most."""

    id: str
    group: str
    before: float
    after: float
    causes: tuple[CriterionEffect, ...]


class FlipSummary(FrozenModel):
    """Texts that cross the line.

    Attributes:
        at: the line; at least as high is above.
        texts: how many, `up` and `down` of them.
        share: of the texts that both sides scored.
        named: those that moved farthest.
    """

    at: float
    texts: int
    up: int
    down: int
    share: Interval
    named: tuple[FlippedText, ...]


class CriterionDrift(FrozenModel):
    """What one criterion did.

    Attributes:
        name: its id, or both where it goes by two.
        state: on both sides (`changed` in its wording or weight), or on one. `average text` is what no criterion
            explains: the score of a text of which all criteria say the average.
        trait, statement: of the criterion.
        total: how far it moved all scores together, in what `Drift.by` says; `None` where nothing is known of it.
        mean, absolute: how far it moved a score, and the mean size of that.
        flips: flipped texts that it moved most in the direction of the flip.
    """

    name: str
    state: CriterionState
    trait: str
    statement: str
    total: float | None
    mean: float | None
    absolute: float | None
    flips: int


class IntervalComparison(FrozenModel):
    """The intervals of both sides, for texts where both have one.

    Attributes:
        texts: how many.
        apart: texts whose two intervals do not overlap.
        outside: texts whose score after lies outside of the interval before.
        width_before, width_after: mean widths in points.
    """

    texts: int
    apart: int
    outside: int
    width_before: float
    width_after: float


class Drift(FrozenModel):
    """What changes for the same texts from the side before to the side after.

    Attributes:
        scale: what all figures are on; scores of the side after are mapped there in a straight line.
        texts, groups: how many there are.
        compared: texts that both sides scored, which all figures rest on.
        unscored_both: texts that neither scored.
        ranks: within groups, if texts have rivals, and over all texts.
        movers: texts whose rank changed most.
        by: what criteria's figures are: points that they contribute, or how far their own scores moved, as shares of
            what these can move.
        criteria: what moved scores most first.
        intervals: `None` where no text has two.
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
    movers: tuple[RankChange, ...]
    flips: FlipSummary
    by: Literal["contribution", "score"]
    criteria: tuple[CriterionDrift, ...]
    intervals: IntervalComparison | None
