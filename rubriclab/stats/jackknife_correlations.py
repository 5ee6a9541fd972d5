"""Comparison of dependent correlations.

Texts that share an input are dependent, so clusters of rows are left out, never single rows. Everything is
computed from sums over the rows of each cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, fisher_z
from rubriclab.stats.folds import unit_sums
from rubriclab.stats.jackknife import jackknife_error

# A variable with less than this share of its sum of squares remaining is constant.
CONSTANT = 1e-9


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
) -> DependentCorrelation:
    """Return the correlations of `variables` with `target`, and tests of their absolute values against `benchmark`'s.

    The two correlations share a variable, and rows come in clusters. The difference of their Fisher transforms, as in
    Steiger 1980 ("Tests for comparing elements of a correlation matrix", Psychological Bulletin 87), is divided by its
    standard error and compared with Student's t with one degree of freedom less than clusters. Steiger's error assumes
    independent rows; this one is the jackknife's over clusters.

    Args:
        variables: shape (n, m), NaN where missing; such rows are left out for this variable.
        benchmark: shape (n,).
        target: shape (n,), NaN for rows to be left out.
        cluster: the cluster of each row, numbered from 0 without gaps, shape (n,).
    """
    from scipy.special import stdtr

    clusters = int(cluster.max(initial=-1)) + 1
    valid: BoolArray = ~np.isnan(variables) & ~np.isnan(target)[:, np.newaxis]
    standardised_target = _standardised(target[:, np.newaxis], valid)
    sums = [
        _unit_moments(_standardised(columns, valid), standardised_target, valid.astype(np.float64), cluster)
        for columns in (variables, benchmark[:, np.newaxis])
    ]
    (r, without), (reference, reference_without) = map(_with_and_without, sums)
    signs, reference_signs = np.sign(r), np.sign(reference)
    difference = signs * fisher_z(r) - reference_signs * fisher_z(reference)
    error = jackknife_error(signs * fisher_z(without) - reference_signs * fisher_z(reference_without))
    p = 2 * stdtr(max(1, clusters - 1), -_ratio(np.abs(difference), error))
    defined = ~np.isnan(difference) & ~np.isnan(error) & (clusters > 1)
    return DependentCorrelation(r, reference, np.where(defined, p, 1.0))


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


def _with_and_without(sums: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return the correlations of all rows, shape (m,), and with each unit left out, shape (units, m)."""
    totals = [part.sum(axis=0, keepdims=True) for part in sums]
    remaining = [total - part for total, part in zip(totals, sums, strict=True)]
    return _correlations(totals, totals)[0], _correlations(remaining, totals)


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


def _ratio(difference: FloatArray, error: FloatArray) -> FloatArray:
    """Return difference / error; with an error of 0, infinity for a difference and 0 for none."""
    certain = np.where(difference > 0, np.inf, 0.0)
    return np.where(error > 0, difference / np.where(error > 0, error, 1.0), certain)
