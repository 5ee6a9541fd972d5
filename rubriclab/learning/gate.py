"""The gate: whether a rubric agrees better with people than the same judge asked directly, on held-out labels.

A rubric passes if it is better than the plain question in correlation or in error, and worse in neither. It must not
have a larger error than the plain question calibrated on the same labels, and has to be better than the best baseline
that takes no calls: otherwise calibration to the mean label would pass. For labels of two levels, AUROC takes the place
of the correlation and the Brier score that of the error.

All evaluators are compared on the same labelled texts, and each text is scored without the labels of its group.
Correlations are within groups if enough groups can be compared, else over all texts. Groups with constant labels are
left out, and an evaluator with constant scores has correlation 0 if the labels differ. Intervals are by
the jackknife over groups (paired for differences); with very few groups there are none.

Scores fitted to the other folds must not include their mean label: it is high where the held-out labels are low, which
biases the correlation over all texts downwards (Parker, Gunter & Bedo 2007, "Stratification bias in low signal
microarray studies", BMC Bioinformatics 8). Scores of different folds may therefore differ by a factor, but not by an
offset that depends on labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from rubriclab.learning.baselines import CONSTANT, held_out_baselines
from rubriclab.learning.calibration import linear, logistic
from rubriclab.learning.labels_needed import more_labels
from rubriclab.learning.rating_matrix import RatingMatrix
from rubriclab.learning.verdicts import VerdictStatistic, verdict_statistic
from rubriclab.methods.names import JOINT
from rubriclab.models.version import (
    CALIBRATED,
    DIRECT,
    MATTERS,
    MATTERS_IN_BRIER,
    MATTERS_IN_ERROR,
    WORST_FIRST,
    EvaluatorAgreement,
    GateVerdict,
    Outcome,
    Validation,
)
from rubriclab.stats.correlation import FloatArray, IntArray, is_constant, pearson_rows, spearman_rows
from rubriclab.stats.errors import ScoreErrors, less_error, score_errors
from rubriclab.stats.interval import Interval
from rubriclab.stats.jackknife import estimate
from rubriclab.stats.levels import (
    Coefficient,
    ScoredTexts,
    level_statistic,
    scored_texts,
    used_texts,
)

GateLevel = Literal["group", "dataset"]

# Correlations are within groups if at least this many groups have at least this many texts.
RIVAL_GROUPS = 10
RIVALS = 3


@dataclass(frozen=True, eq=False)
class Scored:
    """One evaluator's scores of the labelled texts, shape (texts,), NaN where it has none.

    Attributes:
        name, kind, calls: as in `EvaluatorAgreement`.
        points: the same as scores on the labels' scale, `None` if there are no such scores.
    """

    name: str
    kind: Literal["rubric", "judged", "baseline"]
    scores: FloatArray
    calls: float = 0.0
    points: FloatArray | None = None


def validation(
    table: RatingMatrix,
    features: FloatArray,
    held_out: FloatArray,
    fitted: FloatArray,
    fold: IntArray,
    *,
    alone: Mapping[str, FloatArray],
    calls: Mapping[str, float],
    direct: FloatArray | None = None,
    points: FloatArray | None = None,
) -> Validation:
    """Return the held-out agreement of a rubric, compared with baselines and other evaluators.

    Args:
        table: all candidates, selected or not.
        features: of the texts, shape (texts, features), columns as in `rubriclab.learning.baselines.FEATURE_NAMES`.
        held_out: the rubric's scores of each text, fitted without the labels of its fold; see the module's docstring.
        fitted: the same when fitted to all.
        fold: of each text, shape (texts,); a group lies in one fold.
        alone: by method, held-out scores of each text by its own criteria.
        calls: calls per text of `joint` and each of `alone`.
        direct: each text's score by the same judge asked directly, in a call of its own; `None` if it was not asked.
        points: the rubric's calibrated held-out scores, for its errors.
    """
    rubric = Scored(JOINT, "rubric", held_out, calls[JOINT], points)
    baselines = [
        Scored(name, "baseline", scores) for name, scores in held_out_baselines(features, table.labels, fold).items()
    ]
    asked = [] if direct is None else _asked_directly(table, fold, direct)
    methods = [Scored(name, "judged", scores, calls[name]) for name, scores in alone.items()]
    comparison = _Comparison(table)
    evaluators = {each.name: comparison.evaluator_agreement(each) for each in (rubric, *baselines, *asked, *methods)}
    training = comparison.evaluator_agreement(Scored(JOINT, "rubric", fitted, calls[JOINT]))
    return Validation(
        level=comparison.level,
        n=int((~np.isnan(held_out)).sum()),
        groups=len(set(table.groups)),
        folds=len(np.unique(fold)),
        training=training,
        evaluators=_best_first(evaluators),
        verdicts=(
            comparison.gate(rubric, baselines, evaluators),
            *(comparison.verdict(rubric, each) for each in asked),
            *(comparison.compared(rubric, each) for each in methods),
        ),
    )


def _best_first(evaluators: Mapping[str, EvaluatorAgreement]) -> tuple[EvaluatorAgreement, ...]:
    """Return the rubric, then the others in descending order of correlation."""
    others = [evaluator for name, evaluator in evaluators.items() if name != JOINT]
    return evaluators[JOINT], *sorted(others, key=lambda evaluator: -_known(evaluator))


def gate_level(labels: FloatArray, groups: Sequence[str]) -> GateLevel:
    """Return `group` if at least `RIVAL_GROUPS` groups have `RIVALS` texts or more and labels that differ."""
    labels_of: dict[str, list[float]] = {}
    for group, label in zip(groups, labels.tolist(), strict=True):
        labels_of.setdefault(group, []).append(label)
    telling = sum(len(values) >= RIVALS and min(values) < max(values) for values in labels_of.values())
    return "group" if telling >= RIVAL_GROUPS else "dataset"


def _asked_directly(table: RatingMatrix, fold: IntArray, scores: FloatArray) -> list[Scored]:
    """Return `direct` as it comes, and calibrated on the labels of the other folds.

    The correlation of the second is that of the first: a line on all labels changes no order.
    """
    fit, points = logistic if table.scale.names else linear, np.full(len(scores), np.nan)
    for number in np.unique(fold):
        inside, others = fold == number, (fold != number) & ~np.isnan(scores)
        if others.any():
            # The question was not fitted to labels, so there are no weights for which the slope is shrunk.
            points[inside] = fit(scores[others], table.labels[others], 0).apply(scores[inside])
    calibrated = np.clip(points, table.scale.low, table.scale.high)
    return [Scored(DIRECT, "judged", scores, 1.0, scores), Scored(CALIBRATED, "judged", scores, 1.0, calibrated)]


def paired_difference(first: FloatArray, second: FloatArray, table: RatingMatrix) -> Interval:
    """Return the correlation of the first held-out scores with the labels minus that of the second."""
    return _Comparison(table).difference(first, second)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Comparison of evaluators on the same labels."""

    table: RatingMatrix

    @cached_property
    def level(self) -> GateLevel:
        """Where correlations are taken."""
        return "dataset" if self.of_verdicts else gate_level(self.table.labels, self.table.groups)

    @property
    def of_verdicts(self) -> bool:
        """Whether labels have two levels."""
        return self.table.scale.names is not None

    def evaluator_agreement(self, evaluator: Scored) -> EvaluatorAgreement:
        auroc = brier = None
        if self.of_verdicts:
            auroc = self._of_verdicts("AUROC", [evaluator.scores])
            brier = None if evaluator.points is None else self._of_verdicts("Brier score", [evaluator.points])
        return EvaluatorAgreement(
            name=evaluator.name,
            kind=evaluator.kind,
            n=int((~np.isnan(evaluator.scores)).sum()),
            spearman=self._interval([evaluator.scores], spearman_rows),
            pearson=self._interval([evaluator.scores], pearson_rows),
            calls=evaluator.calls,
            errors=None if self.of_verdicts else self._errors(evaluator.points),
            auroc=auroc,
            brier=brier,
        )

    def _errors(self, points: FloatArray | None) -> ScoreErrors | None:
        table = self.table
        return None if points is None else score_errors(points, table.labels, table.groups, table.scale.width)

    def less_error(self, rubric: Scored, other: Scored) -> Interval | None:
        """Return the other's mean absolute error, or Brier score, minus the rubric's on the texts that both scored."""
        if rubric.points is None or other.points is None or np.isnan(rubric.points + other.points).all():
            return None
        if self.of_verdicts:
            return self._of_verdicts("Brier score", [other.points, rubric.points])
        return less_error(rubric.points, other.points, self.table.labels, self.table.groups)

    def gate(
        self, rubric: Scored, baselines: Sequence[Scored], evaluators: Mapping[str, EvaluatorAgreement]
    ) -> GateVerdict:
        """Return the worse of the verdicts against the best baseline and against the constant.

        A rubric that is not better than a constant must not pass because the other baselines are even worse.
        """
        best = max(baselines, key=lambda baseline: (_known(evaluators[baseline.name]), baseline.name != CONSTANT))
        constant = next(baseline for baseline in baselines if baseline.name == CONSTANT)
        verdicts = [self.verdict(rubric, baseline) for baseline in dict.fromkeys((best, constant))]
        return min(verdicts, key=lambda verdict: WORST_FIRST.index(verdict.outcome or "inconclusive"))

    def verdict(self, rubric: Scored, other: Scored) -> GateVerdict:
        both = [rubric.scores, other.scores]
        difference, gain = self.difference(*both), self.less_error(rubric, other)
        outcome = outcome_of(difference, MATTERS)
        matters = MATTERS_IN_BRIER if self.of_verdicts else MATTERS_IN_ERROR * self.table.scale.width
        clusters = self._texts(both).clusters
        more = more_labels(difference, len(self.table.labels), clusters) if outcome == "inconclusive" else None
        return GateVerdict(
            against=other.name,
            outcome=outcome,
            difference=difference,
            error_outcome=outcome_of(gain, matters) if gain else None,
            less_error=gain,
            more_labels=more,
            few_groups=self._few_groups(both),
        )

    def compared(self, rubric: Scored, other: Scored) -> GateVerdict:
        """Return the difference from another evaluator, without an outcome."""
        undecided = {"outcome": None, "error_outcome": None, "more_labels": None}
        return self.verdict(rubric, other).model_copy(update=undecided)

    def difference(self, first: FloatArray, second: FloatArray) -> Interval:
        """Return the difference of the correlations with the labels; without ends if groups are too few."""
        if self.of_verdicts:
            return self._of_verdicts("AUROC", [first, second])
        return self._interval([first, second], pearson_rows)

    def _of_verdicts(self, statistic: VerdictStatistic, scores: Sequence[FloatArray]) -> Interval:
        return verdict_statistic(statistic, scores, self.table.labels, self.table.groups)

    def _interval(self, scores: Sequence[FloatArray], coefficient: Coefficient) -> Interval:
        """Return the first agreement, minus the second if there are two, on the texts that both scored."""
        texts = self._texts(scores)
        statistics = [
            level_statistic(texts, row, _defined(coefficient), self.level, "skip") for row in range(len(scores))
        ]
        interval = estimate(
            lambda counts: statistics[0](counts) - (statistics[1](counts) if len(statistics) > 1 else 0.0),
            texts.clusters,
            elements=len(texts.human),
            correlation=len(scores) == 1,
        )
        return interval.rounded()

    def _few_groups(self, scores: Sequence[FloatArray]) -> int | None:
        """Return the number of groups if it is too small for an interval, else `None`.

        If every text is its own group, or all are in one group, texts count instead of groups.
        """
        texts = self._texts(scores)
        return texts.clusters if texts.too_few_groups else None

    def _texts(self, scores: Sequence[FloatArray]) -> ScoredTexts:
        """Return the texts with all of these scores that are usable at the level."""
        return used_texts(scored_texts(scores, self.table.labels, self.table.groups, None), self.level, "skip")


def outcome_of(difference: Interval, matters: float) -> Outcome:
    """Return the outcome for a difference by its interval; one of `matters` would be worth its price."""
    if difference.low is None or difference.high is None:
        return "inconclusive"
    if difference.low > 0:
        return "better"
    return "not better" if difference.high < matters else "inconclusive"


def _defined(coefficient: Coefficient) -> Coefficient:
    """Return the coefficient with 0 for constant scores, and NaN for constant labels."""

    def defined(x: FloatArray, y: FloatArray, weights: FloatArray | None = None, /) -> FloatArray:
        values = np.nan_to_num(coefficient(x, y, weights), nan=0.0)
        return np.where(is_constant(y, weights), np.nan, values)

    return defined


def _known(evaluator_agreement: EvaluatorAgreement) -> float:
    return -math.inf if evaluator_agreement.order.value is None else evaluator_agreement.order.value
