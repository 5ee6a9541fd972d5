"""Statistics with their confidence intervals, by four methods; also clusters and folds of texts.

**Jackknife over clusters.** Texts that share an input are dependent: they are one cluster, left out as a whole. The
standard error is the jackknife's (Efron & Tibshirani 1993, "An Introduction to the Bootstrap", section 11.1). The
quantile is Student's, with one degree of freedom less than there are clusters (Tukey 1958, "Bias and confidence in
not-quite large samples", Annals of Mathematical Statistics 29). The interval of a correlation is symmetric on Fisher's
scale. With five to twenty clusters, coverage is about nominal (`experiments/intervals`).

**Means**, such as of paired differences. Student's interval and test over groups, with the cluster-robust variance
times g / (g - 1) for g groups. With one text per group they equal those of the t test. If all groups
have the same mean, the rule of three says how many others may differ; figures that are no means have no interval then.

**Conformal prediction.** A text is scored by the rubric fitted to all labels. The ends of its interval are this score
plus a low and a high quantile of the signed errors of held-out scores, with equal tails. This follows the jackknife and
CV+ of Barber, Candès, Ramdas & Tibshirani (2021, "Predictive inference with the jackknife+", Annals of Statistics 49,
sections 1 and 3). Quantiles are interpolated between the order statistics around rank (n + 1) p (Beran & Hall 1993,
"Interpolated nonparametric prediction intervals and confidence intervals", JRSS B 55): with thirty errors, ranks
rounded outwards would cover 94 % instead of 90 %.

**Confidence sequences** cover a mean at all looks (interim analyses of the data so far) simultaneously: Waudby-Smith,
Arbour, Sinha, Kennedy & Ramdas 2021, "Time-uniform central limit theory and asymptotic confidence sequences", Theorem
2.2, which the paper extends to the average of means that change. Student's quantile replaces the normal quantile, since
the variance is estimated from few observations at first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, fisher_z

# Decimal places of stored numbers, so that digests do not depend on the last bits of a sum.
DIGITS = 6
CONFIDENCE = 0.95
# With fewer clusters (groups, or single texts if there is one group) there is no interval.
MIN_GROUPS = 5
# The jackknife leaves out each cluster in turn; more clusters than this are bundled at random into this many parts.
MAX_PARTS = 200
# A standard error of at most this is a rounding error: all groups have the same mean.
NO_SPREAD = 1e-9
# Array elements in a batch of jackknife samples, 8 MB; the fastest size measured for 800 to 2,000 texts.
BATCH_ELEMENTS = 2**20

MeanRange = tuple[float, float] | None  # the least and the greatest possible value of a mean, if they are known

Statistic = Callable[[FloatArray], FloatArray]
"""Maps weights of clusters (0 if left out), shape (jackknife samples, clusters), to values, shape (samples,)."""


def round_or_none(value: float | None) -> float | None:
    """Return a number rounded to `DIGITS` decimal places; `None` for NaN and `None`."""
    return None if value is None or math.isnan(value) else round_defined(value)


def round_defined(value: float) -> float:
    """Return a number that is not NaN, rounded to `DIGITS` decimal places; 0 is never negative."""
    return round(float(value), DIGITS) + 0.0


@dataclass(frozen=True)
class Interval:
    """A statistic, `None` if it is undefined, and the ends of its confidence interval, `None` if there is none."""

    __pydantic_config__: ClassVar = {"extra": "forbid", "allow_inf_nan": False}

    value: float | None
    low: float | None = None
    high: float | None = None

    def rounded(self) -> Interval:
        return Interval(round_or_none(self.value), round_or_none(self.low), round_or_none(self.high))

    def within(self, least: float, most: float) -> Interval:
        """Return the interval with its ends moved into the range from `least` to `most`."""
        low, high = (None if end is None else min(max(end, least), most) for end in (self.low, self.high))
        return Interval(self.value, low, high)


def estimate(
    statistic: Statistic, n_clusters: int, *, n_values: int, is_correlation: bool = False, mean_range: MeanRange = None
) -> Interval:
    """Return a statistic with its `jackknife_interval` if there are at least `MIN_GROUPS` clusters.

    Args:
        n_values: the number of values from which the statistic is computed; if it is large, batches are smaller.
        is_correlation: whether the statistic lies between -1 and 1, so that Fisher's scale is used.
        mean_range: the possible range of the statistic if it is a mean; used if all clusters have the same mean.
    """
    value = float(statistic(np.ones((1, n_clusters)))[0]) if n_clusters else math.nan
    if math.isnan(value):
        return Interval(None)
    if n_clusters < MIN_GROUPS:
        return Interval(value)
    part_of_cluster = bundle_clusters(np.arange(n_clusters), MAX_PARTS, seed=0)
    part_count = int(part_of_cluster.max()) + 1
    batch_size = max(1, BATCH_ELEMENTS // max(1, n_values))
    replicates = []
    for start in range(0, part_count, batch_size):
        left_out = np.arange(start, min(start + batch_size, part_count))
        is_kept = part_of_cluster != left_out[:, np.newaxis]  # shape (parts left out, clusters)
        replicates.append(statistic(is_kept.astype(np.float64)))
    if_equal = mean_without_spread(value, n_clusters, mean_range) if mean_range else None
    return jackknife_interval(value, np.concatenate(replicates), is_correlation=is_correlation, if_equal=if_equal)


def jackknife_interval(
    value: float | None, replicates: FloatArray, *, is_correlation: bool = False, if_equal: Interval | None = None
) -> Interval:
    """Return a statistic with its interval from its replicates: its values with each part left out, shape (parts,).

    There is no interval with fewer than `MIN_GROUPS` replicates or if one is NaN. If all replicates are equal, it is
    `if_equal`, by default none: a rank correlation may be far from the true one although the replicates are equal.
    """
    count = len(replicates)
    if value is None or count < MIN_GROUPS or np.isnan(replicates).any():
        return Interval(value)
    center = value
    if is_correlation:
        center, replicates = float(fisher_z(value)), fisher_z(replicates)
    error = float(jackknife_error(replicates))
    interval = student_interval(center, error, count - 1)
    if interval.low is None or interval.high is None:
        return if_equal or Interval(value)
    return Interval(value, math.tanh(interval.low), math.tanh(interval.high)) if is_correlation else interval


def jackknife_error(replicates: FloatArray) -> FloatArray:
    """Return the standard errors of statistics, shape (...), from their replicates, shape (parts, ...)."""
    count = len(replicates)
    return np.asarray(np.sqrt((count - 1) / count * np.square(replicates - replicates.mean(axis=0)).sum(axis=0)))


def mean_interval(values: FloatArray, groups: IntArray, mean_range: MeanRange = None) -> Interval:
    """Return the mean of `values`, with its 95 % interval if there are several groups; they are numbered from 0."""
    if not len(values):
        return Interval(None)
    group_count, mean = int(groups.max()) + 1, float(values.mean())
    if group_count < 2:
        return Interval(mean)
    interval = student_interval(mean, standard_error(values, groups), group_count - 1, group_count, mean_range)
    return interval.within(*mean_range) if mean_range else interval


def standard_error(values: FloatArray, groups: IntArray) -> float:
    """Return the standard error of the mean of `values` when whole groups are drawn; infinite for a single group."""
    group_count = len(set(groups.tolist()))
    if group_count < 2:
        return math.inf
    deviations = np.bincount(groups, values - values.mean())
    return float(np.sqrt(group_count / (group_count - 1) * np.square(deviations).sum()) / len(values))


def student_interval(
    value: float, error: float, degrees_of_freedom: int, group_count: int = 0, mean_range: MeanRange = None
) -> Interval:
    """Return Student's interval; for an error of 0, `mean_without_spread`, or no interval if `group_count` is 0."""
    from scipy.special import stdtrit

    if error <= NO_SPREAD * max(1.0, abs(value)):
        return mean_without_spread(value, group_count, mean_range) if group_count else Interval(value)
    margin = float(stdtrit(degrees_of_freedom, (1 + CONFIDENCE) / 2)) * error
    return Interval(value, value - margin, value + margin)


def mean_without_spread(mean: float, group_count: int, mean_range: MeanRange) -> Interval:
    """Return a mean that is the same in all groups; with an interval by the rule of three if `mean_range` is known."""
    if mean_range is None:  # certain if the sign test over groups is significant: from six groups on
        return Interval(mean, mean, mean) if 0.5 ** (group_count - 1) < 1 - CONFIDENCE else Interval(mean)
    low, high = mean_range
    differing_share = 1 - (1 - CONFIDENCE) ** (1 / group_count)  # at most this share of other groups has another mean
    return Interval(mean, mean - differing_share * (mean - low), mean + differing_share * (high - mean))


def mean_p_value(differences: FloatArray, groups: IntArray) -> float | None:
    """Return the two-sided p value of the hypothesis that the mean difference is 0; `None` below two groups.

    If all groups have the same mean, Student's test is undefined, and the sign test over groups gives the p value.
    """
    from scipy.special import stdtr

    group_count = int(groups.max(initial=-1)) + 1
    if group_count < 2:
        return None
    mean, error = float(differences.mean()), standard_error(differences, groups)
    if error > NO_SPREAD * max(1.0, abs(mean)):
        return 2 * float(stdtr(group_count - 1, -abs(mean) / error))
    return 1.0 if abs(mean) <= NO_SPREAD else 0.5 ** (group_count - 1)


def adjust_p_values(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p values adjusted for the false discovery rate (Benjamini & Hochberg 1995); `None` stays `None`."""
    from scipy.stats import false_discovery_control

    defined = [p for p in p_values if p is not None]
    adjusted = iter(false_discovery_control(defined).tolist() if defined else ())
    return [None if p is None else float(next(adjusted)) for p in p_values]


def wilson_interval(successes: int, trials: int) -> Interval:
    """Return the share of successes with its 95 % score interval (Wilson 1927, JASA 22); undefined without trials."""
    from scipy.special import ndtri

    if not trials:
        return Interval(None)
    share, z = successes / trials, float(ndtri((1 + CONFIDENCE) / 2))
    denominator = 1 + z**2 / trials
    center = (share + z**2 / (2 * trials)) / denominator
    margin = z / denominator * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    return Interval(share, center - margin, center + margin).within(0, 1)


def enough_errors(number: int, confidence: float) -> bool:
    """Return whether `number` errors can bound another error on both sides; with confidence 0.9 this takes 19."""
    # Rounding removes errors such as in 20 * (1 - 0.9) / 2, which is less than 1 in floating point.
    return round((number + 1) * (1 - confidence) / 2, 9) >= 1


def error_bounds(errors: Sequence[float], confidence: float) -> tuple[float, float]:
    """Return bounds that hold another error with probability `confidence`, if it is exchangeable with `errors`.

    `errors` are ascending. The lower bound is at most 0, the upper at least 0; both are infinite with too few errors.
    """
    if not enough_errors(len(errors), confidence):
        return -math.inf, math.inf
    tail = (1 - confidence) / 2
    low, high = np.quantile(errors, (tail, 1 - tail), method="weibull").tolist()
    return min(low, 0.0), max(high, 0.0)


def confidence_sequence(
    looks: Sequence[FloatArray], mean_range: tuple[float, float], error_rate: float, *, tightest_at: int
) -> list[Interval]:
    """Return for each look the mean of the observations so far, with its interval; without looks, an undefined mean.

    `looks` has the observations that each look adds: independent ones, at least two at the first look. The probability
    that any interval misses the mean is `error_rate`. The interval is tightest after `tightest_at` observations.
    If all observations are equal, the interval is as in `mean_without_spread`, for a mean within `mean_range`.
    Intervals are not intersected: after a change of the mean, an intersection is wrong and may even be empty.
    """
    from scipy.special import ndtr, stdtrit

    if not looks:
        return [Interval(None)]
    sums = np.array([(len(look), look.sum(), look @ look) for look in looks]).cumsum(axis=0)
    number, total, squares = sums.T
    mean = total / number
    error = np.sqrt(np.maximum(squares / number - mean**2, 0) / (number - 1))
    log_inverse_rate = -math.log(error_rate)
    # The theorem's rho squared times the number of observations, with the rho that is best at `tightest_at`.
    scaled_number = number * (2 * log_inverse_rate + math.log(2 * log_inverse_rate + 1)) / tightest_at
    log_term = np.log(scaled_number + 1) / 2 + log_inverse_rate
    normal_quantile = np.sqrt(2 * (scaled_number + 1) / scaled_number * log_term)
    margin = -stdtrit(number - 1, ndtr(-normal_quantile)) * error
    # A standard error of at most 1e-7 is the rounding error of equal observations.
    differing_share = 1 - error_rate ** (1 / number)
    fall, rise = (np.where(error > 1e-7, margin, differing_share * np.abs(end - mean)) for end in mean_range)
    return [Interval(*ends) for ends in zip(*map(np.ndarray.tolist, (mean, mean - fall, mean + rise)), strict=True)]


def quotient(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> FloatArray:
    """Return quotients, NaN if the denominator is 0 up to rounding."""
    ratio = np.full(np.shape(denominator), np.nan)
    np.divide(numerator, denominator, out=ratio, where=np.abs(denominator) > 1e-12)
    return ratio


def renumber(ids: npt.NDArray[np.generic]) -> IntArray:
    """Return the index of each id among the sorted distinct ids, from 0."""
    return np.asarray(np.unique(ids, return_inverse=True)[1])


def cluster_numbers(groups: Sequence[str]) -> IntArray:
    """Return the number of each text's cluster, from 0: its group, or the text itself if there is one group."""
    numbers = renumber(np.array(groups, dtype=str))
    return numbers if numbers.max(initial=0) > 0 else np.arange(len(numbers))


def bundle_clusters(cluster_of_text: IntArray, max_bundles: int, seed: int) -> IntArray:
    """Return each text's bundle of clusters, from 0, shape (n,); there are at most as many bundles as clusters.

    Each cluster goes to the bundle with the fewest texts. The largest come first, clusters of equal size at random.
    """
    sizes = np.bincount(cluster_of_text)
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    largest_first = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    bundle_of_cluster, texts_in_bundle = np.zeros_like(sizes), np.zeros(min(max_bundles, len(sizes)))
    for cluster_number in largest_first:
        smallest_bundle = np.argmin(texts_in_bundle)
        bundle_of_cluster[cluster_number] = smallest_bundle
        texts_in_bundle[smallest_bundle] += sizes[cluster_number]
    return np.asarray(bundle_of_cluster[cluster_of_text])


def grouped_folds(groups: Sequence[str], folds: int, seed: int) -> IntArray:
    """Return the fold of each text, from 0, shape (n,); there are at most `folds` folds, each of whole clusters."""
    return bundle_clusters(cluster_numbers(groups), folds, seed)


def predict_folds(fold_numbers: IntArray, predict: Callable[[BoolArray, BoolArray], FloatArray]) -> FloatArray:
    """Return each text's prediction from the other folds, shape (n,); NaN with a single fold.

    `predict` takes the mask of the texts to learn from and the mask of the texts to predict.
    """
    predicted = np.full(len(fold_numbers), np.nan)
    for number in np.unique(fold_numbers):
        in_fold = fold_numbers == number
        if not in_fold.all():
            predicted[in_fold] = predict(~in_fold, in_fold)
    return predicted
