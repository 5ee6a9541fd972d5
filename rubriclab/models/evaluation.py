"""Agreement with people as it is stored: at learning (`Validation`), and on other texts (`EvaluationRecord`).

An evaluator is whatever scores texts: a rubric, a judge asked directly, or a free baseline, which needs no judge. Its
agreement is measured twice: in the order of texts (by a correlation, or AUROC for labels of two levels), and in the
error of scores (mean absolute error, or Brier score). A verdict (`GateVerdict`) says whether a rubric agrees better
than another evaluator. A decision lets a text pass or fail: people decide by labels, evaluators by scores.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

from pydantic import Field

from rubriclab.models.aggregation import Calibration
from rubriclab.models.base import BoundedFloat, Count, FrozenModel
from rubriclab.models.rubric import DIRECT_METHOD
from rubriclab.models.text import Scale
from rubriclab.stats.intervals import MIN_GROUPS, Interval
from rubriclab.stats.score_agreement import Level, ScoreErrors

Outcome = Literal["better", "inconclusive", "not better", "worse"]
WORST_FIRST: tuple[Outcome, ...] = ("worse", "not better", "inconclusive", "better")

# The difference in correlation that would matter: about what a rubric gains if it is learned from 100 labels instead of
# 30 (measured: 0.04 with one component of partial least squares, 0.06 with the five best criteria).
MIN_EFFECT = 0.05
# The reduction of the mean absolute error that would matter, as a share of the scale's width: 0.2 points from 1 to 5.
MIN_ERROR_EFFECT = 0.05
# The reduction of the Brier score that would matter: the same share of 0.25, the Brier score of a constant 0.5.
MIN_BRIER_EFFECT = MIN_ERROR_EFFECT / 4
# The fewest groups with which a verdict may rule out a difference that matters: with fewer, the groups that show it may
# be missing. In a simulation where a fifth of all groups show it, up to 32 % of such verdicts were wrong with 5 groups,
# 7 % with 12.
MIN_GROUPS_TO_RULE_OUT = 12

# Name of the evaluator that is the rubric's judge, asked directly for one score, uncalibrated.
DIRECT = DIRECT_METHOD
CALIBRATED_ENDING = ", calibrated"
CALIBRATED = f"{DIRECT}{CALIBRATED_ENDING}"
# The beginning of the name of a free baseline in evaluations on texts other than the training texts.
BASELINE_PREFIX = "baseline: "
ALL_FEATURES = "all text features"
# Name of the evaluator that is the score of the whole text, which the rubric's call asks for beside the criteria.
WHOLE = "whole"
SINGLE_RATERS = "single raters, each against the mean of the others"
# A larger estimate of the number of further labels that are needed is too uncertain to report.
MAX_MORE_LABELS = 300
# Maximum number of points stored for an evaluation's chart; more would not make the chart clearer.
MAX_POINTS = 2000


class Measures(NamedTuple):
    """The names of the measures of how scores order the texts and of their error, and the unit of the error."""

    order: str
    error: str
    unit: str


GRADED_MEASURES = Measures("Pearson", "mean absolute error", " points")
TWO_LEVEL_MEASURES = Measures("AUROC", "Brier score", "")


class EvaluatorAgreement(FrozenModel):
    """One evaluator's agreement on training texts, scored without their groups' labels except in `Validation.training`.

    Attributes:
        name: `joint` for the rubric, else `whole`, a method, `direct`, `direct, calibrated`, or a free baseline:
            `constant`, `word count`, `best text feature` or `all text features`.
        n: the number of texts that it scored.
        calls: the number of calls per text.
        errors: for scales of more than two levels; for `constant`, the errors of the mean label of the other folds.
        auroc, brier: given for labels of two levels; `brier` only if scores are probabilities.
    """

    name: str
    kind: Literal["rubric", "judged", "baseline"]  # `judged`: another evaluator that asks a judge
    n: Count
    spearman: Interval
    pearson: Interval
    calls: float
    errors: ScoreErrors | None = None
    auroc: Interval | None = Field(None, exclude_if=lambda value: value is None)
    brier: Interval | None = Field(None, exclude_if=lambda value: value is None)

    @property
    def order(self) -> Interval:
        """AUROC for labels of two levels, else Pearson correlation."""
        return self.auroc or self.pearson

    @property
    def error(self) -> Interval | None:
        """Brier score for labels of two levels, else mean absolute error; `None` if unknown."""
        return self.brier or (self.errors.absolute if self.errors else None)


class TrainingAgreement(FrozenModel):
    """Agreement of the rubric's scores with the labels of the training texts.

    Attributes:
        n: number of training texts with a score.
        optimistic: whether the rubric was learned from these labels.
        reselected: AUROC or Spearman correlation, cross-validated: for each group, criteria are selected without its
            labels. This figure is still too high if labels also helped to propose the criteria.
    """

    level: Literal["dataset"] = "dataset"
    n: Count
    optimistic: bool = True
    spearman: Interval
    pearson: Interval
    kendall: Interval
    reselected: Interval
    auroc: Interval | None = Field(None, exclude_if=lambda value: value is None)

    @property
    def order(self) -> Interval:
        """AUROC for labels of two levels, else Spearman correlation."""
        return self.auroc or self.spearman

    @property
    def measure(self) -> str:
        return "AUROC" if self.auroc else "Spearman"


def min_error_gain(scale: Scale) -> float:
    """Return the reduction of the error that would matter for labels of this scale."""
    return MIN_BRIER_EFFECT if scale.has_two_levels else MIN_ERROR_EFFECT * scale.width


class MoreLabels(FrozenModel):
    """How many more labels would probably decide a comparison; `None` above `MAX_MORE_LABELS`."""

    even: Count | None  # with a chance of 50 %
    likely: Count | None  # with a chance of 80 %


class GateVerdict(FrozenModel):
    """Whether the rubric agrees better with people than another evaluator.

    The interval of the difference decides the outcome:

    - `worse` if it lies below zero;
    - `not better` if it lies below the smallest difference that matters, with `MIN_GROUPS_TO_RULE_OUT` groups or more;
    - `better` if it lies above zero and reaches that difference;
    - `inconclusive` in all other cases.

    Attributes:
        outcome: for the order of texts; `None` against one of the rubric's methods, as the rubric need not beat it.
        difference: the rubric's measure of order minus the other evaluator's, on the same texts.
        error_outcome, less_error: the same for the error, if both score on the scale of the labels; `less_error` is the
            error of the other evaluator minus the error of the rubric.
        more_labels: an estimate if `outcome` is inconclusive.
        few_groups: the number of groups if it is too small to rule out a gain, or if `difference` has no interval.
    """

    against: str
    outcome: Outcome | None
    difference: Interval
    error_outcome: Outcome | None = None
    less_error: Interval | None = None
    more_labels: MoreLabels | None = None
    few_groups: Count | None = None

    @property
    def overall(self) -> Outcome:
        """One outcome for order and error together; an outcome of `None` does not count."""
        outcomes = {self.outcome, self.error_outcome} - {None}
        if "worse" in outcomes:
            return "worse"
        if "better" in outcomes:
            return "better"
        return "not better" if outcomes == {"not better"} else "inconclusive"

    @property
    def equal_in_order(self) -> bool:
        """Whether the difference is 0 whichever group is left out; it then has no interval even with enough groups."""
        n_groups = self.few_groups or 0
        return n_groups >= MIN_GROUPS and self.difference.value == 0 and self.difference.low is None

    @property
    def lacking_groups(self) -> int | None:
        """The smallest number of further groups that could decide the outcome; `None` if there are enough groups."""
        if self.few_groups is None or self.equal_in_order:
            return None
        min_groups = MIN_GROUPS if self.difference.low is None else MIN_GROUPS_TO_RULE_OUT
        return max(min_groups - self.few_groups, 1)


def difference_outcome(interval: Interval, min_effect: float, n_groups: int) -> Outcome:
    """Return the outcome for the interval of a difference; an improvement below `min_effect` does not count."""
    if interval.low is None or interval.high is None:
        return "inconclusive"
    if interval.high < 0:
        return "worse"
    if interval.high < min_effect:
        return "not better" if n_groups >= MIN_GROUPS_TO_RULE_OUT else "inconclusive"
    return "better" if interval.low > 0 else "inconclusive"


def deciding_verdict(
    direct: GateVerdict | None, calibrated: GateVerdict | None, *others: GateVerdict | None
) -> GateVerdict | None:
    """Return the verdict with the worst outcome: that against the judge asked directly, or one of the `others`.

    `direct` is against the judge's uncalibrated scores, and `calibrated` against its calibrated scores. `calibrated`
    replaces `direct` if the rubric has a larger error than the calibrated scores, and `direct` is not *worse* overall.
    """
    if direct and calibrated and calibrated.error_outcome == "worse" and direct.overall != "worse":
        direct = calibrated
    return min(filter(None, (direct, *others)), key=lambda verdict: WORST_FIRST.index(verdict.overall), default=None)


class Raters(FrozenModel):
    """Agreement of the raters with each other: Krippendorff's alpha, and the errors of single raters.

    `ceiling` is the correlation with the labels that a perfect judge could reach. `errors` compare each rater with the
    mean of the others, on the `n` texts with several raters; `None` for labels of two levels.
    """

    alpha: Interval
    ceiling: float | None
    errors: ScoreErrors | None = None
    n: Count | None = None


class ReliabilityBin(FrozenModel):
    """Texts with similar scores: their number, their mean score, and the share of them whose label is a pass."""

    n: Count
    score: float
    share: Interval


class DecisionAgreement(FrozenModel):
    """Agreement of one evaluator's decisions, and of the scores behind them, with people's decisions.

    Attributes:
        name: as in `EvaluatorAgreement`, or `raters among themselves`.
        cells: numbers of texts that fail by both, pass by the evaluator only, pass by people only, and pass by both.
        recalls, precisions: of the texts that fail, then of those that pass.
        brier: for raters, who give no scores, the share of decisions that differ.
        reliability: bins of texts, by ascending scores.
    """

    name: str
    cells: tuple[Count, Count, Count, Count]
    recalls: tuple[Interval, Interval]
    precisions: tuple[Interval, Interval]
    balanced_accuracy: Interval
    kappa: Interval
    auroc: Interval
    brier: Interval
    reliability: tuple[ReliabilityBin, ...] = ()


class Validation(FrozenModel):
    """The gate's verdicts, with the figures behind them.

    Attributes:
        level: whether correlations are within groups or over all texts.
        folds: the number of folds that the groups are divided into; each fold is scored without its labels.
        training: the rubric's agreement with the labels that it was fitted to.
        evaluators: the rubric first, then the other evaluators, the best first.
        verdicts: against the best free baseline, and against the rubric's judge asked directly, uncalibrated and
            calibrated: one of these is the `deciding_verdict`. The verdicts against each method alone follow.
        raters: `None` if single raters' scores are not known.
        verdict_agreements: for labels of two levels, the agreement of decisions on texts (pass or fail): by the rubric,
            by its judge asked directly (uncalibrated, then calibrated), and by the raters.
        direct_calibration: for labels of more than two levels, the map from the scores of the judge asked directly onto
            the labels' scale, fitted to all labels; it calibrates the scores of new texts.
    """

    level: Literal["group", "dataset"]
    n: Count
    groups: Count
    folds: Count
    training: EvaluatorAgreement
    evaluators: tuple[EvaluatorAgreement, ...]
    verdicts: tuple[GateVerdict, ...]
    raters: Raters | None = None
    verdict_agreements: tuple[DecisionAgreement, ...] = Field((), exclude_if=lambda value: not value)
    direct_calibration: Calibration | None = Field(None, exclude_if=lambda value: value is None)

    @property
    def rubric(self) -> EvaluatorAgreement:
        return self.evaluators[0]

    @property
    def measures(self) -> Measures:
        return TWO_LEVEL_MEASURES if self.rubric.auroc else GRADED_MEASURES

    def verdict_against(self, evaluator: str) -> GateVerdict | None:
        """Return the verdict against an evaluator, `None` if there is none or its difference could not be measured."""
        verdict = next((verdict for verdict in self.verdicts if verdict.against == evaluator), None)
        return verdict if verdict and verdict.difference.value is not None else None

    @property
    def free_verdict(self) -> GateVerdict:
        """The verdict against the best baseline that makes no calls."""
        return self.verdicts[0]

    @property
    def deciding_verdict(self) -> GateVerdict:
        free = self.free_verdict
        return deciding_verdict(self.verdict_against(DIRECT), self.verdict_against(CALIBRATED), free) or free

    @property
    def outcome(self) -> Outcome:
        return self.deciding_verdict.overall


def is_free_baseline(evaluator: str) -> bool:
    return evaluator.startswith(BASELINE_PREFIX)


class EvaluatedSide(FrozenModel):
    """Agreement of one of two evaluators that an evaluation compares.

    Attributes:
        n: the number of scored texts that `order` is from.
        errors: given for labels of more than two levels.
        order: Pearson correlation, or AUROC for labels of two levels.
        decisions: for labels of two levels; `None` if the evaluator decides nothing, and in earlier releases' records.
    """

    n: Count
    errors: ScoreErrors | None = None
    order: Interval | None = None
    decisions: DecisionAgreement | None = Field(None, exclude_if=lambda value: value is None)

    @property
    def error(self) -> Interval | None:
        """Brier score of decisions, else the mean absolute error; `None` if unknown."""
        if self.decisions:
            return self.decisions.brier
        return self.errors.absolute if self.errors else None


class OtherSide(EvaluatedSide):
    """The evaluator that a version is compared with; `asked_directly` if it is the version's judge, asked directly.

    `threshold` is the lowest score with which a text passes; `None` without decisions and in earlier releases' records.
    """

    asked_directly: bool = False
    threshold: BoundedFloat | None = Field(None, exclude_if=lambda value: value is None)


class EvaluationRecord(EvaluatedSide):
    """The verdict on a version, and its agreement with people, on texts that it was not learned from.

    Attributes:
        judge, data: the judge that scored the texts, and the digest of texts and labels.
        file: the name of the file that the texts are from, without folders; empty if it is not known.
        groups: the number of groups of the `n` texts; evenly split raters and undefined correlations do not count.
        level: whether correlations are within groups, over all texts or between systems.
        verdict: the worst of the verdicts against the judge asked directly and the best free baseline.
        compared_with_direct: whether the judge asked directly was evaluated too, even if another verdict is the worst.
        other: the evaluator that `verdict` compares the version with; `None` in records of earlier releases.
        points: for labels of more than two levels, the label and score of each text; of more than `MAX_POINTS` texts, a
            sample evenly spaced in the order of labels. Empty in records of earlier releases.
    """

    created: datetime
    judge: str
    data: str
    file: str = Field("", exclude_if=lambda value: not value)
    groups: Count
    level: Level
    verdict: GateVerdict
    compared_with_direct: bool = False
    other: OtherSide | None = Field(None, exclude_if=lambda value: value is None)
    points: tuple[tuple[BoundedFloat, BoundedFloat], ...] = Field((), exclude_if=lambda value: not value)
