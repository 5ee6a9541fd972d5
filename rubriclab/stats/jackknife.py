"""Confidence intervals by the jackknife over clusters.

Texts that share an input are dependent, so inputs are left out with all their texts. The standard error of a statistic
is the jackknife's (Efron & Tibshirani 1993, "An Introduction to the Bootstrap", section 11.1), the quantile Student's
with one degree of freedom less than clusters (Tukey 1958, "Bias and confidence in not-quite large samples", Annals of
Mathematical Statistics 29), and the interval of a correlation is symmetric on Fisher's scale. With five to twenty
clusters this holds the true value about as often as it claims (`experiments/coverage`), which percentiles of a
bootstrap do not.

A statistic is a function of how often each cluster counts, so that all samples are computed in a few array operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rubriclab.stats.correlation import FloatArray, fisher_z
from rubriclab.stats.folds import bundled
from rubriclab.stats.interval import Interval
from rubriclab.stats.paired import NO_SPREAD, constant

CONFIDENCE = 0.95

FEWEST_GROUPS = 5
"""With fewer clusters there is no interval."""

MOST_PARTS = 200
"""With more clusters, so many random parts of them are left out one by one: the delete-a-group jackknife."""

BATCH_ELEMENTS = 2**20
"""Elements of an array when samples are computed in batches, 8 MB: measured fastest from 800 to 2,000 texts."""

Statistic = Callable[[FloatArray], FloatArray]
"""Maps counts of shape (samples, clusters) to values of shape (samples,), nan if undefined. With all counts 1 the value
is the statistic of the data."""


def estimate(
    statistic: Statistic, clusters: int, *, elements: int, correlation: bool = False, confidence: float = CONFIDENCE
) -> Interval:
    """Return the statistic of the data with its interval.

    There is no interval for fewer than `FEWEST_GROUPS` clusters, or if the statistic is undefined without one of them.

    Args:
        elements: how many elements the arrays of a single sample have.
        correlation: whether the statistic is a correlation or the like, at most 1 in absolute value.
        confidence: the share of such intervals that hold the true value.

    Raises:
        ValueError: `confidence` is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: expected a share between 0 and 1, such as 0.95, got {confidence}")
    value = float(statistic(np.ones((1, clusters)))[0]) if clusters else math.nan
    if math.isnan(value):
        return Interval(None)
    if clusters < FEWEST_GROUPS:
        return Interval(value)
    part = bundled(np.arange(clusters), MOST_PARTS, seed=0)
    samples, batch = int(part.max()) + 1, max(1, BATCH_ELEMENTS // max(1, elements))
    batches = (np.arange(start, min(start + batch, samples)) for start in range(0, samples, batch))
    without = [statistic((part != left_out[:, np.newaxis]).astype(np.float64)) for left_out in batches]
    return student_interval(value, np.concatenate(without), correlation=correlation, confidence=confidence)


def student_interval(
    value: float | None, without: FloatArray, *, correlation: bool = False, confidence: float = CONFIDENCE
) -> Interval:
    """Return a statistic with its interval from its values with each part of the data left out, shape (parts,).

    There is no interval if one of the values is NaN or there are fewer than two. If they do not differ, it is that of
    `rubriclab.stats.paired.constant`. Other arguments as for `estimate`.
    """
    from scipy.special import stdtrit

    count = len(without)
    if value is None or count < 2 or np.isnan(without).any():
        return Interval(value)
    center, values = (float(fisher_z(value)), fisher_z(without)) if correlation else (value, without)
    error = float(jackknife_error(values))
    if error <= NO_SPREAD * max(1.0, abs(center)):
        return constant(value, 0.5 ** (count - 1), confidence).interval
    margin = float(stdtrit(count - 1, (1 + confidence) / 2)) * error
    low, high = center - margin, center + margin
    return Interval(value, math.tanh(low), math.tanh(high)) if correlation else Interval(value, low, high)


def jackknife_error(without: FloatArray) -> FloatArray:
    """Return the standard errors of statistics from values with each part left out, shape (parts, ...) to (...)."""
    count = len(without)
    return np.asarray(np.sqrt((count - 1) / count * np.square(without - without.mean(axis=0)).sum(axis=0)))
