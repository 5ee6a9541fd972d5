"""Columns of scores on a common scale: standard deviations from their mean."""

from __future__ import annotations

import numpy as np

from rubriclab.stats.correlation import FloatArray

# A column whose values differ by less than this, relative to their size, differs by rounding alone.
SAME = 1e-9


def centers_and_spreads(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each column's defined values, shapes (m,) each.

    A column that does not vary has the spread 0; one without any value the center 0 too.
    """
    there = ~np.isnan(values)
    counts = np.maximum(there.sum(axis=0), 1)
    centers: FloatArray = np.where(there, values, 0.0).sum(axis=0) / counts
    off = np.where(there, values - centers, 0.0)
    spreads: FloatArray = np.sqrt((off**2).sum(axis=0) / counts)
    size = np.abs(np.where(there, values, 0.0)).max(axis=0, initial=0.0)
    return centers, np.where(spreads > SAME * size, spreads, 0.0)


def standardised(values: FloatArray, centers: FloatArray, spreads: FloatArray) -> FloatArray:
    """Return (values - centers) / spreads, 0 where a value is missing or its column does not vary."""
    z: FloatArray = (values - centers) / np.where(spreads > 0, spreads, np.inf)
    return np.where(np.isnan(z), 0.0, z)
