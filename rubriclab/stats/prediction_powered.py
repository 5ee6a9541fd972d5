"""The mean human score of many scored texts, and the difference of two sets, estimated from the few labelled ones.

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023, "Prediction-powered inference",
Science 382) corrects the mean of the judge's scores by the labelled texts' mean error. The scores are first multiplied
by a factor from 0 to 1 (Angelopoulos, Duchi & Zrnic 2023, "PPI++: Efficient Prediction-Powered Inference", section 6),
so that scores without information do no harm. It is the slope of the labels over the scores of the labelled texts,
which PPI++'s approaches for many texts.

A mean is of these very texts, so that its error is that of two means of residuals, over the labelled texts and over
these. A difference is of the groups in general that two sets have texts of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.intervals import (
    MIN_GROUPS,
    NO_SPREAD,
    Interval,
    PairedMean,
    renumber,
    standard_error,
    student_ends,
    student_mean,
)

# Shares of the residuals' variance that may be of systems.
SYSTEM_SHARES = np.arange(10) / 10
# Scores are unlike those of the labelled texts if chance would make them so with at most this probability.
UNLIKE = 0.01


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Texts with a label and a score that was given without it, shape (n,) each, without NaN.

    Attributes:
        unit: the group of each, numbered from 0 without gaps.
        system: what made each, numbered likewise; texts of unknown origin have numbers of their own.
    """

    labels: FloatArray
    scores: FloatArray
    unit: IntArray
    system: IntArray

    @property
    def groups(self) -> int:
        return int(self.unit.max(initial=-1)) + 1

    @property
    def factor(self) -> float:
        """What scores are multiplied by."""
        return _factor(self.scores - self.scores.mean(), self.labels)

    @property
    def residuals(self) -> FloatArray:
        """The labels less the multiplied scores."""
        return self.labels - self.factor * self.scores


def corrected_mean(mean: float, texts: int, groups: int, labelled: LabelledScores) -> Interval:
    """Return the mean human score of `texts` texts in `groups` groups, whose scores have this mean, with its interval.

    There is neither without at least `MIN_GROUPS` groups of labelled texts like them.
    """
    if labelled.groups < MIN_GROUPS or not texts:
        return Interval(None)
    value = labelled.factor * mean + float(labelled.residuals.mean())
    error = standard_error(labelled.residuals, labelled.unit) * math.sqrt(1 + _variance_ratio(labelled, groups, texts))
    # The residuals' mean and the factor are estimated.
    return student_ends(value, error, labelled.groups - 2)


def _variance_ratio(labelled: LabelledScores, groups: int, texts: int) -> float:
    """Return the variance of other texts' mean residual over that of the labelled texts' mean residual."""
    # Residuals of a group are alike, so that groups or texts count, whichever are fewer.
    return max(labelled.groups / groups, len(labelled.labels) / texts)


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """Texts with scores, some of which have labels, NaN where there is none; shape (n,) each.

    Attributes:
        unit: the group of each, numbered from 0; for a difference, groups of both sets are numbered together.
        weights: of the texts in a mean that is compared; their sum is 1.
    """

    scores: FloatArray
    labels: FloatArray
    unit: IntArray
    weights: FloatArray

    @property
    def labelled(self) -> LabelledScores:
        has = ~np.isnan(self.labels)
        labels, scores = self.labels[has], self.scores[has]
        return LabelledScores(labels, scores, renumber(self.unit[has]), np.arange(len(labels)))

    def corrected(self, factor: float) -> tuple[float, FloatArray]:
        """Return the mean, corrected by the labels if there are any, and the influence of each text on it."""
        has = ~np.isnan(self.labels)
        mean = float(self.weights @ self.scores)
        influence = factor * self.weights * (self.scores - mean)
        if not has.any():
            return factor * mean, influence
        weights, residuals = self.weights[has] / self.weights[has].sum(), self.labels[has] - factor * self.scores[has]
        influence[has] += weights * (residuals - weights @ residuals)
        return factor * mean + float(weights @ residuals), influence


def mean_by_own_labels(texts: ScoredSet, stratum: IntArray) -> Interval:
    """Return the mean human score of texts some of which have labels, with Student's interval over groups.

    Each `stratum`, numbered from 0 without gaps, is corrected by its own labels, which are of texts drawn at random. In
    each that has not all labels, `MIN_GROUPS` groups need labels. A stratum with equal labels is taken to vary as the
    labelled texts do as a whole; if all labels are equal there is no interval.
    """
    has, count = ~np.isnan(texts.labels), len(texts.scores)
    influence, value, fewest, unknown = np.zeros(count), 0.0, count, 0.0
    overall = texts.labelled if has.any() else None
    for number in range(int(stratum.max(initial=-1)) + 1):
        own, left = has & (stratum == number), ~has & (stratum == number)
        value += float(texts.labels[own].sum()) / count
        if not left.any():
            continue
        labelled = replace(texts, labels=np.where(own, texts.labels, np.nan)).labelled
        fewest = min(fewest, labelled.groups)
        if fewest < MIN_GROUPS:
            return Interval(None)
        factor, center, number_left = labelled.factor, float(labelled.residuals.mean()), int(left.sum())
        value += float((factor * texts.scores[left] + center).sum()) / count
        ratio = _variance_ratio(labelled, len(np.unique(texts.unit[left])), number_left)
        weight = number_left / count * math.sqrt(1 + ratio)
        if overall and np.ptp(labelled.labels) == 0:
            unknown += weight**2 * float(overall.residuals.var(ddof=1)) / labelled.groups
        else:
            influence[own] = weight * (labelled.residuals - center) / own.sum()
    if has.all():
        return Interval(value, value, value)
    if overall and np.ptp(overall.labels) == 0:
        return Interval(value)
    groups = len(np.unique(texts.unit[has]))
    squares = float(np.square(np.bincount(texts.unit, influence)).sum())
    freedom = max(groups - 2 - int(stratum.max()), fewest - 2)
    return student_ends(value, math.sqrt(groups / (groups - 1) * squares + unknown), freedom)


def difference_by_own_labels(before: ScoredSet, after: ScoredSet) -> PairedMean:
    """Return the difference of the mean human scores of two sets that have labels, with Student's interval.

    What both texts of a group have in common cancels. Undefined without `MIN_GROUPS` groups with labels in each set. A
    set with equal labels is taken to vary as the labelled texts do as a whole; if all labels are equal there is no
    interval.
    """
    labelled = before.labelled, after.labelled
    groups = min(each.groups for each in labelled)
    if groups < MIN_GROUPS:
        return PairedMean(Interval(None), None)
    centered = [(each.scores - each.scores.mean(), each.labels - each.labels.mean()) for each in labelled]
    factor = _factor(*map(np.concatenate, zip(*centered, strict=True)))
    value, squares = _difference(before, after, factor)
    residuals = np.concatenate([each.labels - factor * each.scores for each in labelled])
    equal = [each.groups for each in labelled if np.ptp(each.labels) == 0]
    if len(equal) == 2 and labelled[0].labels[0] == labelled[1].labels[0]:
        return PairedMean(Interval(value), None)
    unknown = sum(float(residuals.var(ddof=1)) / number for number in equal)
    return student_mean(value, math.sqrt(groups / (groups - 1) * squares + unknown), groups - 2)


def difference_by_other_labels(
    before: ScoredSet, after: ScoredSet, labelled: LabelledScores, *, changed: float = 1.0
) -> PairedMean:
    """Return the difference of the mean human scores of two sets without labels, with Student's interval.

    It is the factor times the scores' difference. Its error is of the scores' difference over groups, of the factor, of
    the texts' residuals, and of the two sets, as a judge may favour the system of one. The share of the residuals'
    variance that is of systems is averaged over by its restricted likelihood in a model with random effects.

    `labelled` are other texts; `changed` is the share of the pairs whose texts differ: people score equal ones alike.
    """
    factor, count = labelled.factor, len(labelled.labels)
    groups = [len(np.unique(side.unit)) for side in (before, after)]
    if labelled.groups < MIN_GROUPS or min(groups) < 2:
        return PairedMean(Interval(None), None)
    first, second = (replace(side, labels=np.full_like(side.labels, np.nan)) for side in (before, after))
    value, squares = _difference(first, second, factor)
    shares, variances = _system_shares(labelled.residuals, labelled.system)
    of_sets = 2 * changed**2 * shares + changed * (1 - shares) * sum(1 / number for number in groups)
    spread = float(np.square(labelled.scores - labelled.scores.mean()).sum())
    of_factor = (value / factor) ** 2 * float(labelled.residuals.var()) / spread if factor else 0.0
    error = math.sqrt(min(groups) / (min(groups) - 1) * squares + of_factor + float(variances @ of_sets))
    return student_mean(value, error, count - 2)


def _difference(before: ScoredSet, after: ScoredSet, factor: float) -> tuple[float, float]:
    """Return the difference of the corrected means, and the sum of the squares of the groups' influence."""
    (first, of_first), (second, of_second) = (side.corrected(factor) for side in (before, after))
    most = max(int(side.unit.max()) for side in (before, after)) + 1
    sums = np.bincount(after.unit, of_second, most) - np.bincount(before.unit, of_first, most)
    return second - first, float(np.square(sums).sum())


def _factor(scores: FloatArray, labels: FloatArray) -> float:
    """Return the slope of the labels over centred scores, between 0 and 1; 0 if scores do not vary."""
    squares = float(scores @ scores)
    return min(max(float(scores @ labels) / squares, 0.0), 1.0) if squares > 0 else 0.0


def _system_shares(residuals: FloatArray, system: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return possible shares of the variance that is of systems, and the variance at each times its probability."""
    sizes = np.bincount(system)
    means = np.bincount(system, residuals) / sizes
    within = float(np.square(residuals - means[system]).sum())
    shares = SYSTEM_SHARES[:, np.newaxis]
    of_means = shares + (1 - shares) / sizes
    precision = (1 / of_means).sum(axis=1)
    center = (means / of_means).sum(axis=1) / precision
    squares = within / (1 - SYSTEM_SHARES) + (np.square(means - center[:, np.newaxis]) / of_means).sum(axis=1)
    freedom = len(residuals) - 1
    fits = (
        (len(residuals) - len(sizes)) * np.log(1 - SYSTEM_SHARES)
        + np.log(of_means).sum(axis=1)
        + np.log(precision)
        + freedom * np.log(np.maximum(squares, NO_SPREAD))
    )
    likelihood = np.exp((fits.min() - fits) / 2)
    return SYSTEM_SHARES, squares / freedom * likelihood / likelihood.sum()


def labels_for_margin(labelled: LabelledScores, margin: float) -> int:
    """Return about how many labels give a 95 % interval of `margin` on either side, for many texts."""
    error = standard_error(labelled.residuals, labelled.unit)
    return math.ceil(len(labelled.labels) * (1.96 * error / margin) ** 2)


def distributions_differ(scores: FloatArray, groups: int, labelled: LabelledScores) -> bool:
    """Return whether scores of texts in so many groups are distributed unlike those of the labelled texts.

    By the test of Kolmogorov and Smirnov with groups in place of texts, as texts of a group are alike.
    """
    from scipy.special import kolmogorov

    ends = np.concatenate([scores, labelled.scores])
    first, second = (
        np.searchsorted(np.sort(each), ends, side="right") / len(each) for each in (scores, labelled.scores)
    )
    distance = float(np.abs(first - second).max())
    return bool(kolmogorov(math.sqrt(groups * labelled.groups / (groups + labelled.groups)) * distance) <= UNLIKE)
