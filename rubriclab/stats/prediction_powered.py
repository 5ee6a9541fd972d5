"""The mean human score of many scored texts, and its difference between two sets, estimated from few labelled texts.

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023, "Prediction-powered inference",
Science 382) corrects the mean of the judge's scores by the labelled texts' mean error. The scores are first multiplied
by a factor from 0 to 1 (Angelopoulos, Duchi & Zrnic 2023, "PPI++: Efficient Prediction-Powered Inference", section 6),
so that scores without information do no harm. The factor is the slope of the labels on the scores of the labelled
texts; the factor of PPI++ converges to it as the number of scored texts grows.

The mean describes the scored texts alone, no wider population. A residual is a label minus the multiplied score; the
mean residual of the labelled texts estimates the mean residual of the scored texts. A difference describes the
population that the groups of both sets are drawn from; texts of a group are dependent, as they may share an input.
If the standard error is 0, the rule of three gives the interval. It needs `width`, the width of the labels' scale: no
mean errs by more, and no difference is larger. If all labels are equal, there is no interval: they prove no certainty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.stats import intervals
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray

# Candidates for the unknown share of the residuals' variance that is between systems; the rest is within systems.
SYSTEM_SHARES = np.arange(10) / 10
# Two distributions differ if the p value of their Kolmogorov-Smirnov test is at most this.
MAX_P = 0.01


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Labels of texts and scores given without knowledge of the labels, as arrays of shape (n,) without NaN.

    Attributes:
        group: the number of each text's group, from 0 without gaps.
        system: the number of the system that wrote each text, by `number_systems`.
    """

    labels: FloatArray
    scores: FloatArray
    group: IntArray
    system: IntArray

    @property
    def group_count(self) -> int:
        return int(self.group.max(initial=-1)) + 1

    @property
    def factor(self) -> float:
        """The number from 0 to 1 by which scores are multiplied."""
        return _factor(self.scores - self.scores.mean(), self.labels)

    @property
    def residuals(self) -> FloatArray:
        return self.labels - self.factor * self.scores


def number_systems(systems: Sequence[str | None]) -> IntArray:
    """Return the number of each text's system, from 0; a text of unknown origin counts as a system of its own."""
    return intervals.renumber(np.array([system or f"/{index}" for index, system in enumerate(systems)], dtype=str))


def corrected_mean(
    mean: float, text_count: int, group_count: int, labelled: LabelledScores, *, width: float = math.inf
) -> intervals.Interval:
    """Return the estimated mean human score of texts with mean score `mean`; it needs `MIN_GROUPS` labelled groups."""
    if labelled.group_count < intervals.MIN_GROUPS or not text_count:
        return intervals.Interval(None)
    value = labelled.factor * mean + float(labelled.residuals.mean())
    labelled_error = intervals.standard_error(labelled.residuals, labelled.group)
    error = labelled_error * math.sqrt(1 + _variance_ratio(labelled, group_count, text_count))
    rule_of_three_groups = labelled.group_count if np.ptp(labelled.labels) else 0
    mean_range = (value - width, value + width)
    # Two degrees of freedom less, for the residuals' mean and the factor.
    return intervals.student_interval(value, error, labelled.group_count - 2, rule_of_three_groups, mean_range)


def _variance_ratio(labelled: LabelledScores, group_count: int, text_count: int) -> float:
    """Return the variance of the mean residual of so many groups and texts, divided by its variance for `labelled`."""
    # Residuals within a group are correlated, so the ratio of groups counts if it is the larger one.
    return max(labelled.group_count / group_count, len(labelled.labels) / text_count)


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """Texts with scores and some labels, NaN for a missing label, as arrays of shape (n,).

    Attributes:
        group: the number of each text's group, from 0; two sets that are compared share the numbers.
        weights: each text's weight in the mean; their sum is 1.
        system: as for `LabelledScores`; by default, all texts are of unknown origin.
    """

    scores: FloatArray
    labels: FloatArray
    group: IntArray
    weights: FloatArray
    system: IntArray | None = None

    @property
    def labelled(self) -> LabelledScores:
        return self.labelled_among(~np.isnan(self.labels))

    def labelled_among(self, mask: BoolArray) -> LabelledScores:
        """Return the labels and scores of the texts in `mask`, all of which have labels."""
        group = intervals.renumber(self.group[mask])
        system = np.arange(len(group)) if self.system is None else intervals.renumber(self.system[mask])
        return LabelledScores(self.labels[mask], self.scores[mask], group, system)

    def mean_and_influence(self, factor: float) -> tuple[float, FloatArray]:
        """Return the mean score times `factor`, corrected if there are labels, and each text's share in the error."""
        has_label = ~np.isnan(self.labels)
        mean = float(self.weights @ self.scores)
        influence = factor * self.weights * (self.scores - mean)
        if not has_label.any():
            return factor * mean, influence
        weights = self.weights[has_label] / self.weights[has_label].sum()
        residuals = self.labels[has_label] - factor * self.scores[has_label]
        influence[has_label] += weights * (residuals - weights @ residuals)
        return factor * mean + float(weights @ residuals), influence


def mean_by_own_labels(texts: ScoredSet, stratum: IntArray, *, width: float = math.inf) -> intervals.Interval:
    """Return the mean human score of partly labelled texts, with Student's interval over groups.

    The labelled texts of a stratum are drawn from it at random and correct its mean; strata are numbered from 0. A
    partly labelled stratum needs labels in `MIN_GROUPS` groups. If all its labels are equal, its variance is computed
    from the residuals of the labelled texts of all strata.
    """
    has_label, count = ~np.isnan(texts.labels), len(texts.scores)
    # The influence of a text is its share in the error of `value`.
    value, extra_variance, influence = 0.0, 0.0, np.zeros(count)
    fewest_groups = count  # an upper bound, lowered by each stratum
    labelled_texts = texts.labelled
    stratum_count = int(stratum.max(initial=-1)) + 1
    for number in range(stratum_count):
        in_stratum = stratum == number
        with_label, without_label = in_stratum & has_label, in_stratum & ~has_label
        # Labelled texts count by their labels, the others by predicted labels.
        value += float(texts.labels[with_label].sum()) / count
        if not without_label.any():
            continue
        labelled = texts.labelled_among(with_label)
        fewest_groups = min(fewest_groups, labelled.group_count)
        if fewest_groups < intervals.MIN_GROUPS:
            return intervals.Interval(None)
        mean_residual, unlabelled_count = float(labelled.residuals.mean()), int(without_label.sum())
        predictions = labelled.factor * texts.scores[without_label] + mean_residual
        value += float(predictions.sum()) / count
        # The predictions err by the mean residuals of the labelled and of the unlabelled texts.
        ratio = _variance_ratio(labelled, len(np.unique(texts.group[without_label])), unlabelled_count)
        weight = unlabelled_count / count * math.sqrt(1 + ratio)
        if np.ptp(labelled.labels) == 0:
            extra_variance += weight**2 * float(labelled_texts.residuals.var(ddof=1)) / labelled.group_count
        else:
            influence[with_label] = weight * (labelled.residuals - mean_residual) / len(labelled.labels)
    if has_label.all():
        return intervals.Interval(value, value, value)
    groups = labelled_texts.group_count
    squared_influences = float(np.square(np.bincount(texts.group, influence)).sum())
    error = math.sqrt(groups / (groups - 1) * squared_influences + extra_variance)
    # The factor and each stratum's mean residual use one degree of freedom each. Strata that share groups may use
    # fewer, so at least as many are left as if the stratum with the fewest groups were the only one.
    degrees_of_freedom = max(groups - 1 - stratum_count, fewest_groups - 2)
    rule_of_three_groups = groups if np.ptp(labelled_texts.labels) else 0
    mean_range = (value - width, value + width)
    return intervals.student_interval(value, error, degrees_of_freedom, rule_of_three_groups, mean_range)


def difference_by_own_labels(before: ScoredSet, after: ScoredSet, *, width: float = math.inf) -> intervals.Interval:
    """Return the difference of the mean human scores of two partly labelled sets, with Student's interval.

    What the texts of a group have in common cancels. Each set needs labels in `MIN_GROUPS` groups. If all labels of a
    set are equal, its variance is computed from the residuals of both sets' labelled texts.
    """
    labelled_sets = before.labelled, after.labelled
    groups = min(labelled.group_count for labelled in labelled_sets)
    if groups < intervals.MIN_GROUPS:
        return intervals.Interval(None)
    centered_scores = np.concatenate([labelled.scores - labelled.scores.mean() for labelled in labelled_sets])
    centered_labels = np.concatenate([labelled.labels - labelled.labels.mean() for labelled in labelled_sets])
    factor = _factor(centered_scores, centered_labels)
    value, squared_influences = _difference(before, after, factor)
    residuals = np.concatenate([labelled.labels - factor * labelled.scores for labelled in labelled_sets])
    sets_with_equal_labels = [labelled for labelled in labelled_sets if np.ptp(labelled.labels) == 0]
    extra_variance = sum(float(residuals.var(ddof=1)) / labelled.group_count for labelled in sets_with_equal_labels)
    error = math.sqrt(groups / (groups - 1) * squared_influences + extra_variance)
    rule_of_three_groups = groups if np.ptp(np.concatenate([labelled.labels for labelled in labelled_sets])) else 0
    return intervals.student_interval(value, error, groups - 2, rule_of_three_groups, (-width, width))


def difference_by_other_labels(
    before: ScoredSet, after: ScoredSet, labelled: LabelledScores, *, changed_share: float = 1, width: float = math.inf
) -> intervals.Interval:
    """Return the difference of two sets' mean human scores, estimated from their scores, with Student's interval.

    The difference is the factor times the difference of the mean scores. Its variance has four parts: variation between
    groups, the estimated factor, the texts' residuals, and the two systems, since a judge may favor one. How much of
    the residuals' variance lies between systems is unknown: the variance is averaged over `SYSTEM_SHARES`, weighted by
    their restricted likelihood in a random-effects model.

    `labelled` gives only the factor and the residuals; it may come from one of the two sets. `changed_share` is the
    share of pairs, one text before and one after, whose texts differ; equal texts have equal labels.
    """
    factor = labelled.factor
    group_counts = [len(np.unique(side.group)) for side in (before, after)]
    if labelled.group_count < intervals.MIN_GROUPS or min(group_counts) < 2:
        return intervals.Interval(None)
    # If only one set has labels, they would correct the mean of that set and not of the other.
    before, after = (replace(side, labels=np.full_like(side.labels, np.nan)) for side in (before, after))
    value, squared_influences = _difference(before, after, factor)
    variances = _weighted_variances(labelled.residuals, labelled.system)
    # Parts of the variance of the difference between the mean residuals, if each residual has variance 1.
    system_part = 2 * changed_share**2 * SYSTEM_SHARES
    text_part = changed_share * (1 - SYSTEM_SHARES) * sum(1 / number for number in group_counts)
    score_squares = float(np.square(labelled.scores - labelled.scores.mean()).sum())
    factor_variance = (value / factor) ** 2 * float(labelled.residuals.var()) / score_squares if factor else 0.0
    group_variance = min(group_counts) / (min(group_counts) - 1) * squared_influences
    error = math.sqrt(group_variance + factor_variance + float(variances @ (system_part + text_part)))
    rule_of_three_groups = min(*group_counts, labelled.group_count) if np.ptp(labelled.labels) else 0
    return intervals.student_interval(value, error, len(labelled.labels) - 2, rule_of_three_groups, (-width, width))


def _difference(before: ScoredSet, after: ScoredSet, factor: float) -> tuple[float, float]:
    """Return the difference of the corrected means, and the sum of the groups' squared influences."""
    mean_before, influence_before = before.mean_and_influence(factor)
    mean_after, influence_after = after.mean_and_influence(factor)
    group_count = max(int(side.group.max()) for side in (before, after)) + 1
    sums_before = np.bincount(before.group, influence_before, group_count)
    sums_after = np.bincount(after.group, influence_after, group_count)
    return mean_after - mean_before, float(np.square(sums_after - sums_before).sum())


def _factor(scores: FloatArray, labels: FloatArray) -> float:
    """Return the slope of the labels on centered scores, limited to 0 to 1; 0 if scores do not vary."""
    score_squares = float(scores @ scores)
    return min(max(float(scores @ labels) / score_squares, 0.0), 1.0) if score_squares > 0 else 0.0


def _weighted_variances(residuals: FloatArray, system: IntArray) -> FloatArray:
    """Return for each of `SYSTEM_SHARES` the estimated variance of a residual times the share's probability."""
    sizes = np.bincount(system)
    means = np.bincount(system, residuals) / sizes
    within_squares = float(np.square(residuals - means[system]).sum())
    shares = SYSTEM_SHARES[:, np.newaxis]
    variances_of_means = shares + (1 - shares) / sizes
    precision = (1 / variances_of_means).sum(axis=1)
    center = (means / variances_of_means).sum(axis=1) / precision
    between_squares = (np.square(means - center[:, np.newaxis]) / variances_of_means).sum(axis=1)
    squares = within_squares / (1 - SYSTEM_SHARES) + between_squares
    degrees_of_freedom = len(residuals) - 1
    deviances = (
        (len(residuals) - len(sizes)) * np.log(1 - SYSTEM_SHARES)
        + np.log(variances_of_means).sum(axis=1)
        + np.log(precision)
        + degrees_of_freedom * np.log(np.maximum(squares, intervals.NO_SPREAD))
    )
    likelihood = np.exp((deviances.min() - deviances) / 2)
    return np.asarray(squares / degrees_of_freedom * likelihood / likelihood.sum())


def distributions_differ(scores: FloatArray, group_count: int, labelled: LabelledScores) -> bool:
    """Return whether scores of texts in `group_count` groups are distributed unlike those of `labelled`."""
    from scipy.special import kolmogorov

    all_scores = np.concatenate([scores, labelled.scores])
    shares = np.searchsorted(np.sort(scores), all_scores, side="right") / len(scores)
    labelled_shares = np.searchsorted(np.sort(labelled.scores), all_scores, side="right") / len(labelled.scores)
    distance = float(np.abs(shares - labelled_shares).max())
    # The Kolmogorov-Smirnov test counts groups instead of texts, since texts of a group are alike.
    effective_groups = group_count * labelled.group_count / (group_count + labelled.group_count)
    return bool(kolmogorov(math.sqrt(effective_groups) * distance) <= MAX_P)
