"""Means of paired differences whose texts come in groups: Student's interval and test over the groups.

The standard error is the cluster-robust one with the factor g / (g - 1); with one text a group, interval and test are
those of the paired t test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.interval import Interval


def standard_error(values: FloatArray, groups: IntArray) -> float:
    """Return the standard error of the mean of `values` when whole groups are drawn; infinite for a single group."""
    count = len(set(groups.tolist()))
    if count < 2:
        return math.inf
    sums = np.bincount(groups, values - values.mean())
    return float(np.sqrt(count / (count - 1) * np.square(sums).sum()) / len(values))


# Smaller standard errors come from rounding: all groups have the same mean.
NO_SPREAD = 1e-9


MOST_FLIPS = 9999


class PairedMean(NamedTuple):
    """A mean difference with its interval, and the two-sided p value of no difference; `None` if undefined."""

    interval: Interval
    p: float | None


def paired_mean(differences: FloatArray, unit: IntArray) -> PairedMean:
    """Return the mean of paired differences with its 95 % interval over groups and p value.

    With a single group, or none, there is no interval. If the groups do not differ, Student's test is undefined: the p
    value is that of the sign test over groups (1 for a mean of 0), and the interval is that point if p is below
    0.05 or the mean is 0.

    Args:
        differences: shape (n,), without NaN.
        unit: the group of each, numbered from 0 without gaps, shape (n,).
    """
    from scipy.special import stdtr, stdtrit

    count = int(unit.max(initial=-1)) + 1
    if not len(differences):
        return PairedMean(Interval(None), None)
    mean = float(differences.mean())
    if count < 2:
        return PairedMean(Interval(mean), None)
    error = standard_error(differences, unit)
    if error <= NO_SPREAD * max(1.0, abs(mean)):
        return constant(mean, 0.5 ** (count - 1))
    margin = float(stdtrit(count - 1, 0.975)) * error
    p = 2 * float(stdtr(count - 1, -abs(mean) / error))
    return PairedMean(Interval(mean, mean - margin, mean + margin), p)


def sign_flip_p(differences: FloatArray) -> float:
    """Return the two-sided p value of the mean of independent differences by flips of their signs.

    All flips are counted where there are at most `MOST_FLIPS` of them, else as many random ones.
    """
    from scipy.stats import permutation_test

    found = permutation_test(
        (differences, np.zeros_like(differences)),
        lambda ours, theirs, axis: np.round(np.mean(ours - theirs, axis=axis), 12),
        permutation_type="samples",
        vectorized=True,
        n_resamples=MOST_FLIPS,
        batch=1000,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)


def constant(mean: float, p: float, confidence: float = 0.95) -> PairedMean:
    """Return a mean difference without any spread; `p` is the smallest p value that so few groups can give."""
    if abs(mean) <= NO_SPREAD:
        return PairedMean(Interval(0.0, 0.0, 0.0), 1.0)
    interval = Interval(mean, mean, mean) if p < 1 - confidence else Interval(mean)
    return PairedMean(interval, p)


def adjust_p_values(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p values adjusted for the false discovery rate (Benjamini & Hochberg 1995); `None` stays `None`."""
    from scipy.stats import false_discovery_control

    defined = [p for p in p_values if p is not None]
    values = iter(false_discovery_control(defined).tolist() if defined else ())
    return [None if p is None else float(next(values)) for p in p_values]
