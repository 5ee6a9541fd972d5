"""The gate: whether a rubric agrees with people better than baselines without calls, on held-out labels.

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
from typing import Literal

import numpy as np

from rubriclab.data.scale import Scale
from rubriclab.learning.baselines import CONSTANT, held_out_baselines
from rubriclab.learning.calibration import linear
from rubriclab.learning.labels_needed import more_labels
from rubriclab.learning.rating_matrix import RatingMatrix, centers_and_spreads, standardised
from rubriclab.methods.names import JOINT
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, is_constant, pearson_rows, spearman_rows
from rubriclab.stats.interval import DIGITS, Interval
from rubriclab.stats.jackknife import Statistic, estimate
from rubriclab.stats.levels import (
    Coefficient,
    ScoredTexts,
    level_statistic,
    scored_texts,
    used_texts,
)
from rubriclab.validation import (
    MATTERS,
    EvaluatorAgreement,
    GateVerdict,
    Outcome,
    ScoreErrors,
    Validation,
)

GateLevel = Literal["group", "dataset"]

DIRECT = "direct"
CALIBRATED = "direct, calibrated"
EQUAL = "equal weights"

# Correlations are within groups if at least this many groups have at least this many texts.
RIVAL_GROUPS = 10
RIVALS = 3

_WORST_FIRST: tuple[Outcome, ...] = ("not better", "inconclusive", "better")


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
    judge_alone: bool = True,
    points: FloatArray | None = None,
) -> Validation:
    """Return the held-out agreement of a rubric, compared with baselines and other evaluators.

    Args:
        table: all candidates, selected or not.
        features: of the texts, shape (texts, features), columns as in `rubriclab.learning.baselines.FEATURE_NAMES`.
        held_out: the rubric's scores of each text, fitted without the labels of its fold; see the module's docstring.
        fitted: the same when fitted to all.
        fold: of each text, shape (texts,); a group lies in one fold.
        alone: by method, held-out scores of each text by its own criteria. `direct` is from the table.
        calls: calls per text by name, of `joint`, each of `alone` and equal weights, which else take those of `joint`.
        judge_alone: whether the score of `direct` was asked for by itself; if it was asked for in one call with
            criteria, it is not that of the judge without a rubric, and is left out.
        points: the rubric's calibrated held-out scores, for its errors; none for labels of two levels.
    """
    level = gate_level(table.labels, table.groups)
    rubric = Scored(JOINT, "rubric", held_out, calls[JOINT], points)
    baselines = [
        Scored(name, "baseline", scores) for name, scores in held_out_baselines(features, table.labels, fold).items()
    ]
    methods = [Scored(name, "judged", alone[name], calls[name]) for name in alone if name != DIRECT]
    compared = _compared_with(table, fold, calls.get(EQUAL, calls[JOINT]))
    others = [each for each in compared if judge_alone or each.name not in (DIRECT, CALIBRATED)]
    judged = [*others, *methods]
    comparison = _Comparison(table.labels, table.groups, level, table.scale)
    evaluators = {
        evaluator.name: comparison.evaluator_agreement(evaluator) for evaluator in (rubric, *baselines, *judged)
    }
    training = comparison.evaluator_agreement(Scored(JOINT, "rubric", fitted, calls[JOINT]))
    return Validation(
        level=level,
        n=int((~np.isnan(held_out)).sum()),
        groups=len(set(table.groups)),
        folds=len(np.unique(fold)),
        training=training,
        evaluators=_best_first(evaluators),
        verdicts=(
            comparison.gate(rubric, baselines, evaluators),
            *(comparison.compared(rubric, evaluator) for evaluator in judged),
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


def _compared_with(table: RatingMatrix, fold: IntArray, calls_of_all: float) -> list[Scored]:
    """Return `direct`, if it is a candidate, and all judged candidates with equal weights.

    Text features are not among them, as neither direction is better.
    """
    judged: list[int] = np.flatnonzero(~table.signed).tolist()
    direct = [place for place in judged if table.methods[place] == DIRECT]
    evaluators = [each for place in direct[:1] for each in _asked_directly(table, fold, table.values[:, place])]
    if judged:
        evaluators.append(Scored(EQUAL, "judged", _equal_weights(table.columns(judged), fold), calls_of_all))
    return evaluators


def _asked_directly(table: RatingMatrix, fold: IntArray, scores: FloatArray) -> list[Scored]:
    """Return `direct` as it comes and, where errors are measured, calibrated on the labels of the other folds.

    The correlation of the second is that of the first: a line on all labels changes no order.
    """
    if table.scale.names:
        return [Scored(DIRECT, "judged", scores, 1.0)]
    points = np.full(len(scores), np.nan)
    for number in np.unique(fold):
        inside, others = fold == number, (fold != number) & ~np.isnan(scores)
        if others.any():
            # The question was not fitted to labels, so there are no weights for which the slope is shrunk.
            points[inside] = linear(scores[others], table.labels[others], 0).apply(scores[inside])
    calibrated = np.clip(points, table.scale.low, table.scale.high)
    return [Scored(DIRECT, "judged", scores, 1.0, scores), Scored(CALIBRATED, "judged", scores, 1.0, calibrated)]


def _equal_weights(table: RatingMatrix, fold: IntArray) -> FloatArray:
    """Return each text's mean of standardised candidates, NaN if all are missing.

    Weights use no labels, but criteria may have been generated from labels: such candidates are left out in the fold of
    these labels, and as folds then differ in their candidates, their means are standardised.
    """
    z = standardised(table.values, *centers_and_spreads(table.values))
    scores = np.full(len(fold), np.nan)
    for number in np.unique(fold):
        inside = fold == number
        usable = ~np.any(table.seen[inside], axis=0)
        if usable.any():
            means = z[:, usable].mean(axis=1)
            scores[inside] = means[inside] / (means.std() or 1.0)
    present: BoolArray = ~np.isnan(table.values)
    return np.where(present.any(axis=1), scores, np.nan)


def paired_difference(first: FloatArray, second: FloatArray, labels: FloatArray, groups: Sequence[str]) -> Interval:
    """Return the correlation of the first held-out scores with the labels minus that of the second."""
    return _Comparison(labels, groups, gate_level(labels, groups)).difference(first, second)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Comparison of evaluators on the same labels."""

    labels: FloatArray
    groups: Sequence[str]
    level: GateLevel
    scale: Scale | None = None

    def evaluator_agreement(self, evaluator: Scored) -> EvaluatorAgreement:
        return EvaluatorAgreement(
            name=evaluator.name,
            kind=evaluator.kind,
            n=int((~np.isnan(evaluator.scores)).sum()),
            spearman=self._interval([evaluator.scores], spearman_rows),
            pearson=self._interval([evaluator.scores], pearson_rows),
            calls=evaluator.calls,
            errors=self._errors(evaluator.points),
        )

    def _errors(self, points: FloatArray | None) -> ScoreErrors | None:
        """Return the errors of scores on the scale over all texts, with intervals over groups."""
        if points is None or self.scale is None or np.isnan(points).all():
            return None
        texts = scored_texts([points], self.labels, self.groups, None)
        errors = texts.predicted[0] - texts.human
        point = 1.0 if 3 <= self.scale.width <= 9 else self.scale.width / 5
        return ScoreErrors(
            absolute=_mean(np.abs(errors), texts),
            bias=round(float(errors.mean()), DIGITS),
            near=round(float((np.abs(errors) <= point).mean()), DIGITS),
            point=point,
        )

    def less_error(self, rubric: Scored, other: Scored) -> Interval | None:
        """Return the other's mean absolute error minus the rubric's on the texts that both scored."""
        if rubric.points is None or other.points is None or np.isnan(rubric.points + other.points).all():
            return None
        texts = scored_texts([rubric.points, other.points], self.labels, self.groups, None)
        own, others = np.abs(texts.predicted - texts.human)
        return _mean(others - own, texts)

    def gate(
        self, rubric: Scored, baselines: Sequence[Scored], evaluators: Mapping[str, EvaluatorAgreement]
    ) -> GateVerdict:
        """Return the worse of the verdicts against the best baseline and against the constant.

        A rubric that is not better than a constant must not pass because the other baselines are even worse.
        """
        best = max(baselines, key=lambda baseline: (_known(evaluators[baseline.name]), baseline.name != CONSTANT))
        constant = next(baseline for baseline in baselines if baseline.name == CONSTANT)
        verdicts = [self.verdict(rubric, baseline) for baseline in dict.fromkeys((best, constant))]
        return min(verdicts, key=lambda verdict: _WORST_FIRST.index(verdict.outcome or "inconclusive"))

    def verdict(self, rubric: Scored, other: Scored) -> GateVerdict:
        both = [rubric.scores, other.scores]
        difference, few = self.difference(*both), self._few_groups(both)
        outcome = outcome_of(difference)
        clusters = self._texts(both).clusters
        more = more_labels(difference, len(self.labels), clusters) if outcome == "inconclusive" else None
        return GateVerdict(against=other.name, outcome=outcome, difference=difference, more_labels=more, few_groups=few)

    def compared(self, rubric: Scored, other: Scored) -> GateVerdict:
        """Return the difference from another evaluator, without an outcome."""
        updates = {"outcome": None, "more_labels": None, "less_error": self.less_error(rubric, other)}
        return self.verdict(rubric, other).model_copy(update=updates)

    def difference(self, first: FloatArray, second: FloatArray) -> Interval:
        """Return the difference of the correlations with the labels; without ends if groups are too few."""
        return self._interval([first, second], pearson_rows)

    def _interval(self, scores: Sequence[FloatArray], coefficient: Coefficient) -> Interval:
        """Return the first agreement, minus the second if there are two, on the texts that both scored."""
        texts = self._texts(scores)
        statistics = [_statistic(texts, row, coefficient, self.level) for row in range(len(scores))]
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
        return used_texts(scored_texts(scores, self.labels, self.groups, None), self.level, "skip")


def outcome_of(difference: Interval) -> Outcome:
    """Return the outcome for a difference in Pearson correlation, by its interval."""
    if difference.low is None or difference.high is None:
        return "inconclusive"
    if difference.low > 0:
        return "better"
    return "not better" if difference.high < MATTERS else "inconclusive"


def _mean(values: FloatArray, texts: ScoredTexts) -> Interval:
    """Return the mean over texts with its interval over their groups."""
    sums, sizes = np.bincount(texts.cluster, values), np.bincount(texts.cluster)
    return estimate(lambda counts: counts @ sums / (counts @ sizes), texts.clusters, elements=len(sums)).rounded()


def _statistic(texts: ScoredTexts, row: int, coefficient: Coefficient, level: GateLevel) -> Statistic:
    return level_statistic(texts, row, _defined(coefficient), level, "skip")


def _defined(coefficient: Coefficient) -> Coefficient:
    """Return the coefficient with 0 for constant scores, and NaN for constant labels."""

    def defined(x: FloatArray, y: FloatArray, weights: FloatArray | None = None, /) -> FloatArray:
        values = np.nan_to_num(coefficient(x, y, weights), nan=0.0)
        return np.where(is_constant(y, weights), np.nan, values)

    return defined


def _known(evaluator_agreement: EvaluatorAgreement) -> float:
    return -math.inf if evaluator_agreement.pearson.value is None else evaluator_agreement.pearson.value
