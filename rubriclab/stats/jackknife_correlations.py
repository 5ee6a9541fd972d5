"""Inference on Pearson correlations: the jackknife, and comparison of dependent correlations.

Texts that share an input are dependent, so clusters of rows are left out or resampled, never single rows. Everything is
computed from sums over the rows of each cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from rubriclab.stats.bootstrap import batch_size, resample_counts
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, fisher_z
from rubriclab.stats.folds import unit_sums

# A variable with less than this share of its sum of squares remaining is constant.
CONSTANT = 1e-9


def jackknife_error(without: FloatArray) -> FloatArray:
    """Return the standard error of statistics from their values with each unit left out, shape (units, k) to (k,).

    Efron & Tibshirani 1993, "An Introduction to the Bootstrap", section 11.1.
    """
    units = len(without)
    error: FloatArray = np.sqrt((units - 1) / units * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    return error


@dataclass(frozen=True, eq=False)
class DependentCorrelation:
    """Correlations of m variables with a target, and of a benchmark with the same target.

    Attributes:
        r: the variables' correlations, shape (m,), NaN if undefined.
        benchmark: the benchmark's correlation over the rows of each variable, shape (m,).
        p: two-sided p-value of the difference in absolute value, shape (m,); 1 if undefined.
    """

    r: FloatArray
    benchmark: FloatArray
    p: FloatArray

    @property
    def defined(self) -> BoolArray:
        """Which variables have a correlation, shape (m,)."""
        return ~np.isnan(self.r)

    @property
    def further(self) -> BoolArray:
        """Which variables have a larger absolute correlation than the benchmark, shape (m,)."""
        return np.abs(self.r) > np.abs(self.benchmark)


def dependent_correlation(
    variables: FloatArray,
    benchmark: FloatArray,
    target: FloatArray,
    cluster: IntArray,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> DependentCorrelation:
    """Return the correlations of `variables` with `target`, and tests of their absolute values against `benchmark`'s.

    The two correlations share a variable, and rows come in clusters. The difference of their Fisher transforms, as in
    Steiger 1980 ("Tests for comparing elements of a correlation matrix", Psychological Bulletin 87), is divided by its
    standard error and compared with Student's t with one degree of freedom less than clusters. Steiger's error assumes
    independent rows; this one is from a bootstrap over clusters.

    Args:
        variables: shape (n, m), NaN where missing; such rows are left out for this variable.
        benchmark: shape (n,).
        target: shape (n,), NaN for rows to be left out.
        cluster: the cluster of each row, numbered from 0 without gaps, shape (n,).
        resamples, seed: of the bootstrap; equal seeds give equal figures.
    """
    from scipy.special import stdtr

    clusters = int(cluster.max(initial=-1)) + 1
    valid: BoolArray = ~np.isnan(variables) & ~np.isnan(target)[:, np.newaxis]
    standardised_target = _standardised(target[:, np.newaxis], valid)
    sums = [
        _unit_moments(_standardised(columns, valid), standardised_target, valid.astype(np.float64), cluster)
        for columns in (variables, benchmark[:, np.newaxis])
    ]
    # Drawn in batches: all resamples of 10,000 clusters at once would take 160 MB.
    rng, batch = np.random.default_rng(seed), batch_size(clusters)
    sizes = [min(batch, resamples - start) for start in range(0, resamples, batch)]
    counts = chain([np.ones((1, clusters))], (resample_counts(rng, size, clusters) for size in sizes))
    pairs = [[_weighted_correlations(rows, side) for side in sums] for rows in counts]
    r, reference = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    difference = np.sign(r[0]) * fisher_z(r) - np.sign(reference[0]) * fisher_z(reference)
    error = _standard_deviation(difference[1:]) * np.sqrt(clusters / max(1, clusters - 1))
    p = 2 * stdtr(max(1, clusters - 1), -_ratio(np.abs(difference[0]), error))
    defined = ~np.isnan(difference[0]) & ~np.isnan(error) & (clusters > 1)
    return DependentCorrelation(r[0], reference[0], np.where(defined, p, 1.0))


def _standardised(columns: FloatArray, valid: BoolArray) -> FloatArray:
    """Return each column with mean 0 and variance 1 over its valid rows; 0 elsewhere and in constant columns."""
    counts = np.maximum(valid.sum(axis=0), 1)
    present = np.where(valid, columns, 0.0)
    centered = np.where(valid, columns - present.sum(axis=0) / counts, 0.0)
    spreads = np.sqrt((centered**2).sum(axis=0) / counts)
    varies = spreads > CONSTANT * np.abs(present).max(axis=0, initial=0.0)
    return np.where(varies, centered / np.where(varies, spreads, 1.0), 0.0)


def _unit_moments(x: FloatArray, y: FloatArray, valid: FloatArray, unit: IntArray) -> list[FloatArray]:
    """Return the sums of valid, x, y, xx, yy and xy over the rows of each unit, shape (units, m) each."""
    return [unit_sums(part, unit) for part in (valid, x, y, x * x, y * y, x * y)]


def _weighted_correlations(counts: FloatArray, sums: Sequence[FloatArray]) -> FloatArray:
    """Return the correlations for counts of shape (resamples, units), shape (resamples, m)."""
    return _correlations([counts @ part for part in sums], [part.sum(axis=0, keepdims=True) for part in sums])


def _correlations(sums: Sequence[FloatArray], totals: Sequence[FloatArray]) -> FloatArray:
    """Return correlations from sums of 1, x, y, xx, yy and xy over some rows; `totals` are the sums over all rows.

    NaN if x or y is constant over these rows.
    """
    n, x, y, xx, yy, xy = sums
    n = np.maximum(n, 1)
    x_spread, y_spread = xx - x * x / n, yy - y * y / n
    varies = (x_spread > CONSTANT * totals[3]) & (y_spread > CONSTANT * totals[4])
    correlations = np.full(np.broadcast_shapes(x_spread.shape, y_spread.shape), np.nan)
    np.divide(xy - x * y / n, np.sqrt(np.where(varies, x_spread * y_spread, 1.0)), out=correlations, where=varies)
    return correlations.clip(-1.0, 1.0)


def _standard_deviation(resampled: FloatArray) -> FloatArray:
    """Return the standard deviation of each column's defined values; NaN if these are not the majority."""
    defined = ~np.isnan(resampled)
    counts = np.maximum(defined.sum(axis=0), 1)
    means = np.where(defined, resampled, 0.0).sum(axis=0) / counts
    deviation = np.sqrt((np.where(defined, resampled - means, 0.0) ** 2).sum(axis=0) / counts)
    return np.where(2 * defined.sum(axis=0) > len(resampled), deviation, np.nan)


def _ratio(difference: FloatArray, error: FloatArray) -> FloatArray:
    """Return difference / error; with an error of 0, infinity for a difference and 0 for none."""
    certain = np.where(difference > 0, np.inf, 0.0)
    return np.where(error > 0, difference / np.where(error > 0, error, 1.0), certain)
