"""The delete-one-group jackknife of correlations: how far each hangs on single groups, without any random draw.

Texts that share an input are alike, so a group is what is left out, with all its texts. The figures are those of Efron
& Tibshirani 1993 ("An Introduction to the Bootstrap", section 11.1); intervals of single correlations are taken on
Fisher's scale, on which they are symmetric.
"""

from __future__ import annotations

import numpy as np

from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import unit_sums

# Beyond this a correlation is perfect as far as anybody can tell; Fisher's scale has no place for 1 itself.
NEARLY_PERFECT = 1 - 1e-9


def correlations_without(columns: FloatArray, labels: FloatArray, units: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return each column's Pearson correlation with the labels, of all rows and with each unit left out.

    Args:
        columns: shape (n, k), finite.
        labels: shape (n,), finite.
        units: shape (n,), what each row is left out with, as whole numbers from 0, each of them in use.

    Returns:
        Shapes (k,) and (units, k), NaN where a column or the labels do not vary.
    """
    x, y = columns - columns.mean(axis=0), (labels - labels.mean())[:, np.newaxis]
    parts = [unit_sums(values, units) for values in (np.ones_like(y), x, y, x * x, y * y, x * y)]
    whole = [part.sum(axis=0, keepdims=True) for part in parts]
    left = [total - part for total, part in zip(whole, parts, strict=True)]
    return _correlations(whole, whole)[0], _correlations(left, whole)


def jackknife_error(without: FloatArray) -> FloatArray:
    """Return the standard error of statistics from their values with each unit left out, shape (units, k) to (k,)."""
    units = len(without)
    spread: FloatArray = np.sqrt((units - 1) / units * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    return spread


def correlation_intervals(
    columns: FloatArray, labels: FloatArray, units: IntArray, confidence: float | FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each column's correlation with the labels and the ends of its interval, each of shape (k,).

    `confidence` is one for all or one for each, shape (k,). Student's quantile with as many degrees of freedom as units
    less one. A correlation that is undefined once some unit is left out hangs on that unit alone: its interval is
    everything, -1 to 1. NaN where the correlation is undefined.
    """
    from scipy.special import stdtrit

    r, without = correlations_without(columns, labels, units)
    if len(without) < 2:
        return r, np.where(np.isnan(r), np.nan, -1.0), np.where(np.isnan(r), np.nan, 1.0)
    reach = stdtrit(len(without) - 1, (1 + confidence) / 2) * jackknife_error(_fisher(without))
    low, high = np.tanh(_fisher(r) - reach), np.tanh(_fisher(r) + reach)
    hangs = np.isnan(reach) & ~np.isnan(r)
    return r, np.where(hangs, -1.0, low), np.where(hangs, 1.0, high)


def _fisher(r: FloatArray) -> FloatArray:
    scaled: FloatArray = np.arctanh(np.clip(r, -NEARLY_PERFECT, NEARLY_PERFECT))
    return scaled


def _correlations(sums: list[FloatArray], whole: list[FloatArray]) -> FloatArray:
    """Correlations from the sums over rows of 1, x, y, xx, yy and xy; NaN where next to nothing of a spread is left."""
    n, sx, sy, sxx, syy, sxy = sums
    n = np.maximum(n, 1)
    spread_x, spread_y = sxx - sx * sx / n, syy - sy * sy / n
    varies = (spread_x > 1e-9 * whole[3]) & (spread_y > 1e-9 * whole[4])
    found = np.full(np.broadcast_shapes(spread_x.shape, spread_y.shape), np.nan)
    root = np.sqrt(np.where(varies, spread_x * spread_y, 1.0))
    np.divide(sxy - sx * sy / n, root, out=found, where=varies)
    return found.clip(-1.0, 1.0)
