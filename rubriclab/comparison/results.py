"""Results of comparing outputs: plain data for reports and tables."""

from __future__ import annotations

from rubriclab.base_models import FrozenModel
from rubriclab.comparison.limits import MAX_UNSCORED, LimitOutcome
from rubriclab.comparison.pairing import PairingRule
from rubriclab.stats.interval import Interval


class SideSummary(FrozenModel):
    """One set of outputs.

    Attributes:
        mean: of the scores, with its interval over groups.
        unscored: outputs by the reason why they have no score.
    """

    name: str
    texts: int
    scored: int
    groups: int
    mean: Interval
    standard_deviation: float | None
    unscored: dict[str, int]


class CriterionScoreChange(FrozenModel):
    """How far a criterion's score changed over the pairs.

    Attributes:
        difference: after less before, as a share of the criterion's range: a question has the answers 0 and 1.
        p: two-sided, of no change; `adjusted_p` for the false discovery rate over all criteria.
        contribution: mean change of its contribution to the score, in points; `None` if the rubric has no weights.
    """

    id: str
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


class OutputComparison(FrozenModel):
    """Two sets of outputs, scored with one version.

    Attributes:
        pairing: what outputs were paired by; `None` if the sets are independent.
        pairs: pairs with both scores, in `groups` groups; `unpaired_before`, `unpaired_after` have no counterpart.
        other_sources: pairs whose sources or contexts differ, so that their ids may name different texts.
        difference: mean score after less before: of pairs, or of two independent sets.
        p: two-sided, of no difference.
        better, worse, unchanged: shares of the pairs; by at least `visible` points.
        max_drop: the largest acceptable drop of the mean; `None` if none was given.
        fallen: the outputs whose score fell most.
    """

    rubric: str
    judge: str
    scale: tuple[float, float]
    before: SideSummary
    after: SideSummary
    pairing: PairingRule | None
    pairs: int
    groups: int
    unpaired_before: int
    unpaired_after: int
    other_sources: int
    difference: Interval
    p: float | None
    visible: float
    better: float | None
    worse: float | None
    unchanged: float | None
    max_drop: float | None
    criteria: tuple[CriterionScoreChange, ...]
    fallen: tuple[TextChange, ...]

    @property
    def outcome(self) -> LimitOutcome:
        """Whether the drop of the mean is within `max_drop` (without one: whether there is none beyond chance).

        `beyond` if the whole interval lies below the limit, `within` if none of it does, else `unknown`. Without a
        limit an interval that includes 0 is `within`. If more than a tenth of a set has no score, the others may not
        represent it, and nothing is `within`.
        """
        low, high = self.difference.low, self.difference.high
        if low is None or high is None:
            return "unknown"
        limit = self.max_drop or 0.0
        if high < -limit:
            return "beyond"
        decided = self.max_drop is None or low >= -limit
        return "within" if decided and self.enough_scored else "unknown"

    @property
    def enough_scored(self) -> bool:
        """Whether at most a tenth of each set has no score."""
        sides = (self.before, self.after)
        return all(side.scored >= (1 - MAX_UNSCORED) * side.texts for side in sides)


class RankedSystem(FrozenModel):
    """A system's place.

    Attributes:
        rank: 1 for the highest mean.
        ties: systems whose paired difference to this one may be chance, at a false discovery rate of 5 % over all
            pairs of systems.
    """

    system: str
    rank: int
    texts: int
    scored: int
    groups: int
    mean: Interval
    ties: tuple[str, ...]


class SystemDifference(FrozenModel):
    """The mean score of one system less that of one ranked below it, on the groups that both have outputs in."""

    first: str
    second: str
    pairs: int
    groups: int
    difference: Interval
    p: float | None
    adjusted_p: float | None


class SystemRanking(FrozenModel):
    """Several systems, scored with one version, by mean score."""

    rubric: str
    judge: str
    scale: tuple[float, float]
    systems: tuple[RankedSystem, ...]
    differences: tuple[SystemDifference, ...]
