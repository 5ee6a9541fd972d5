"""The results of validating a rubric, all on held-out labels."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from rubriclab.base_models import Count, FrozenModel
from rubriclab.stats.errors import ScoreErrors
from rubriclab.stats.interval import Interval

Outcome = Literal["better", "inconclusive", "not better"]
WORST_FIRST: tuple[Outcome, ...] = ("not better", "inconclusive", "better")

# The difference in correlation that would matter: about what going from 30 labels to 100 adds to a rubric (measured:
# 0.04 with one component of partial least squares, 0.06 with the five best criteria). Less is not worth a call a text.
MATTERS = 0.05

# The reduction of the mean absolute error that would matter, as a share of the scale's width: 0.2 points from 1 to 5.
MATTERS_IN_ERROR = 0.05

# The same of the Brier score, as a share of a coin's, which is 0.25.
MATTERS_IN_BRIER = MATTERS_IN_ERROR / 4

# The same judge asked for one score by the plain question: as it comes, and on the raters' scale by the same labels.
DIRECT = "direct"
CALIBRATED = "direct, calibrated"

# The scores of the whole text in the rubric's own call, without the criteria.
WHOLE = "whole"

# The largest number of further labels that is named: estimates of larger ones were too uncertain.
MOST_LABELS = 300


class Measures(NamedTuple):
    """What the agreement of scores with labels is measured by: in order, and in error with its unit."""

    order: str
    error: str
    unit: str


GRADED = Measures("Pearson", "mean absolute error", " points")
VERDICTS = Measures("AUROC", "Brier score", "")


class EvaluatorAgreement(FrozenModel):
    """One evaluator on the training texts, each text scored without the labels of its own group.

    Attributes:
        name: `joint`, `whole`, a method (`hypoeval`), `direct`, `direct, calibrated`, `constant`, `word count`,
            `best text feature`, `all text features`.
        kind: the rubric itself, an evaluator that asks a judge, or a baseline, which costs nothing.
        n: texts that it scored.
        spearman, pearson: at the level of the report.
        calls: calls per text.
        errors: of held-out scores, for evaluators with scores on the labels' scale.
        auroc, brier: over all texts, for labels of two levels; `brier` for evaluators with probabilities.
    """

    name: str
    kind: Literal["rubric", "judged", "baseline"]
    n: Count
    spearman: Interval
    pearson: Interval
    calls: float
    errors: ScoreErrors | None = None
    auroc: Interval | None = Field(None, exclude_if=lambda found: found is None)
    brier: Interval | None = Field(None, exclude_if=lambda found: found is None)

    @property
    def order(self) -> Interval:
        """Agreement in order: AUROC for labels of two levels, else Pearson correlation."""
        return self.auroc or self.pearson

    @property
    def error(self) -> Interval | None:
        """Error of the scores: Brier score for labels of two levels, else mean absolute error; `None` if unknown."""
        return self.brier or (self.errors.absolute if self.errors else None)


class MoreLabels(FrozenModel):
    """How many more labels would decide.

    Attributes:
        even: with an even chance; `None` above `MOST_LABELS`.
        likely: in four of five cases; `None` above `MOST_LABELS`.
    """

    even: Count | None
    likely: Count | None


class GateVerdict(FrozenModel):
    """Whether the rubric agrees better with people than another evaluator.

    An outcome is `better` if the whole interval of the difference lies above zero, `not better` if none of it lies
    above what would matter, else `inconclusive`. It is `None` for a comparison that is shown and decides nothing: of
    many of these one would be "better" by chance.

    Attributes:
        against: the other one's name, as in `EvaluatorAgreement`.
        outcome: in order: Pearson correlation, or AUROC for labels of two levels.
        difference: in order, paired, with its interval.
        error_outcome: in mean absolute error, or the Brier score for labels of two levels.
        less_error: the other's error minus the rubric's, paired, where both have scores on the scale.
        more_labels: about how many more labels would decide, where the outcome in correlation is inconclusive.
        few_groups: how many groups there were, where they were too few for an interval.
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
        """Better in correlation or in error, and worse in neither."""
        outcomes = {self.outcome, self.error_outcome} - {None}
        if any(below_zero(each) for each in (self.difference, self.less_error)) or outcomes == {"not better"}:
            return "not better"
        return "better" if "better" in outcomes else "inconclusive"


def below_zero(difference: Interval | None) -> bool:
    """Return whether the whole interval of a difference lies below zero."""
    return difference is not None and difference.high is not None and difference.high < 0


class Raters(FrozenModel):
    """Interrater agreement, and the ceiling that it sets for a judge.

    Attributes:
        alpha: Krippendorff's, interval metric.
        ceiling: the correlation with the labels that a perfect judge could reach.
        errors: of single raters, each against the mean of the others; `None` for labels of two levels.
    """

    alpha: Interval
    ceiling: float | None
    errors: ScoreErrors | None = None


class ReliabilityBin(FrozenModel):
    """Texts with similar scores: their mean score, and the share of them that people let pass."""

    n: Count
    score: float
    share: Interval


class VerdictAgreement(FrozenModel):
    """How far verdicts of two levels, and the scores that they are from, agree with people's on held-out labels.

    Attributes:
        name: as in `EvaluatorAgreement`, or `raters among themselves`.
        cells: numbers of texts: people and evaluator at the worse level; people worse, evaluator better; people better,
            evaluator worse; both at the better level.
        recalls: of the texts at the worse and at the better level, the share that the evaluator finds.
        precisions: of the texts that the evaluator puts at the worse and at the better level, the share that is there.
        kappa: Cohen's.
        auroc: the chance that of two texts, the one at the better level has the higher score.
        brier: mean squared difference of score and verdict; of raters, who give no scores, the share of other verdicts.
        reliability: texts in bins of ascending scores.
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
    """The gate's verdicts, with the figures that they rest on.

    Attributes:
        level: at which correlations are taken: among rivals, or over the whole set.
        n, groups: texts and groups that the figures rest on.
        folds: into how many parts the groups were put; each is scored without its labels.
        training: the rubric on the labels that it was fitted to: what optimism looks like.
        standings: the rubric first, then the others, best first.
        verdicts: first against the best free baseline, then against the same judge asked directly, as it comes and
            calibrated, where it was; these decide. The others, against each method alone, decide nothing.
        raters: `None` where single raters' scores are not known.
        verdict_agreements: for labels of two levels, the rubric's, the same judge's asked directly, and the raters'.
    """

    level: Literal["group", "dataset"]
    n: Count
    groups: Count
    folds: Count
    training: EvaluatorAgreement
    evaluators: tuple[EvaluatorAgreement, ...]
    verdicts: tuple[GateVerdict, ...]
    raters: Raters | None = None
    verdict_agreements: tuple[VerdictAgreement, ...] = Field((), exclude_if=lambda found: not found)

    @property
    def measures(self) -> Measures:
        """What agreement is measured by."""
        return VERDICTS if self.evaluators[0].auroc else GRADED

    def against(self, name: str) -> GateVerdict | None:
        """Return the comparison with an evaluator; `None` if there is none, or its correlation is undefined."""
        found = next((each for each in self.verdicts if each.against == name), None)
        return found if found and found.difference.value is not None else None

    @property
    def free(self) -> GateVerdict:
        """The comparison with the best free baseline."""
        return self.verdicts[0]

    @property
    def deciding(self) -> GateVerdict:
        """The comparison that decides: with the judge asked directly, unless that with the free baselines is worse."""
        direct = self.against(DIRECT)
        if direct is None or WORST_FIRST.index(self.free.overall) < WORST_FIRST.index(self._outcome_against(direct)):
            return self.free
        return direct

    @property
    def outcome(self) -> Outcome:
        """The worse of the outcomes against the free baselines and, where it was, the same judge asked directly."""
        deciding = self.deciding
        return deciding.overall if deciding is self.free else self._outcome_against(deciding)

    def _outcome_against(self, direct: GateVerdict) -> Outcome:
        calibrated = self.against(CALIBRATED)
        return "not better" if calibrated and below_zero(calibrated.less_error) else direct.overall
