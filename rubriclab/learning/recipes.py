"""How much each criterion counts, from the labels: six recipes, from none that looks at the labels to least squares.

With few labels what matters is to shrink: weights by each criterion's own correlation never see how criteria overlap,
and so cannot be led astray by overlaps that are chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rubriclab.learning.settings import RecipeName
from rubriclab.learning.table import BoolArray
from rubriclab.stats.correlation import FloatArray

# Ridge's penalty, in texts: how many of them would say of each criterion that its weight is the equal one. So the same
# strength shrinks less, the more labels there are. 1000 is next to equal weights at 30 labels.
STRENGTHS = (1000.0, 300.0, 100.0, 30.0, 10.0)

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


def correlations(z: FloatArray, labels: FloatArray) -> FloatArray:
    """Return each standardised column's correlation with the labels, 0 where it is undefined.

    A missing value counts as the column's mean, so a criterion with many of them correlates less.
    """
    y = labels - labels.mean()
    size = np.sqrt((z**2).sum(axis=0) * (y @ y))
    r: FloatArray = np.divide(z.T @ y, size, out=np.zeros(z.shape[1]), where=size > SAME)
    return r


def weights(
    name: RecipeName, z: FloatArray, labels: FloatArray, signed: BoolArray, strength: float = STRENGTHS[0]
) -> FloatArray:
    """Return the weight of each column, shape (m,); their sizes sum to 1.

    Judged criteria never weigh below zero: their wording says which end is better, and 30 labels do not refute it.
    Signed ones are turned first so that they correlate positively, and their weights are turned back. Where a recipe
    finds nothing above zero, all columns that vary weigh the same; a column that does not vary weighs 0.

    Args:
        z: shape (n, m), standardised, 0 where a value is missing.
        labels: shape (n,).
        signed: shape (m,), whether more of a column may be worse.
        strength: of ridge; the other recipes have none.
    """
    turn = np.where(signed & (correlations(z, labels) < 0), -1.0, 1.0)
    varies = np.any(z != 0, axis=0)
    sizes = np.where(varies, np.maximum(RECIPES[name](z * turn, labels - labels.mean(), strength), 0.0), 0.0)
    if not sizes.sum() > SAME * np.abs(labels).max(initial=SAME):
        sizes = varies.astype(float)
    shares: FloatArray = turn * sizes / max(sizes.sum(), 1.0 if not varies.any() else 0.0)
    return shares


def _equal(z: FloatArray, y: FloatArray, strength: float) -> FloatArray:  # noqa: ARG001
    return np.ones(z.shape[1])


def _correlation(z: FloatArray, y: FloatArray, strength: float) -> FloatArray:  # noqa: ARG001
    return np.maximum(correlations(z, y), 0.0)


def _squared_correlation(z: FloatArray, y: FloatArray, strength: float) -> FloatArray:
    squared: FloatArray = _correlation(z, y, strength) ** 2
    return squared


def _pls(z: FloatArray, y: FloatArray, strength: float) -> FloatArray:  # noqa: ARG001
    """The first component of partial least squares (Wold 1966): covariances.

    On standardised columns these differ from correlations only where values are missing.
    """
    covariances: FloatArray = z.T @ y
    return covariances


def _nnls(z: FloatArray, y: FloatArray, strength: float) -> FloatArray:  # noqa: ARG001
    """Non-negative least squares by bounded-variable least squares (Stark & Parker 1995, Computational Statistics 10).

    `scipy.optimize.nnls` does the same, but its newer versions corrupt memory on some tables of more columns than rows.
    """
    from scipy.optimize import lsq_linear

    found: FloatArray = lsq_linear(z, y, (0, np.inf), method="bvls").x
    return np.maximum(found, 0.0)


def _ridge(z: FloatArray, y: FloatArray, strength: float) -> FloatArray:
    """Ridge regression that shrinks towards equal weights instead of zero (Hoerl & Kennard 1970, about a prior mean).

    The equal weight is the best one, least squares of the labels on the sum of the columns, and not below zero.
    """
    total = z.sum(axis=1)
    equal = max(0.0, float(total @ y) / max(float(total @ total), SAME))
    prior = np.full(z.shape[1], equal)
    found: FloatArray = prior + np.linalg.solve(z.T @ z + strength * np.eye(z.shape[1]), z.T @ (y - z @ prior))
    return found


Recipe = Callable[[FloatArray, FloatArray, float], FloatArray]

RECIPES: Mapping[RecipeName, Recipe] = {
    "squared correlation": _squared_correlation,
    "correlation": _correlation,
    "pls": _pls,
    "ridge": _ridge,
    "nnls": _nnls,
    "equal": _equal,
}
