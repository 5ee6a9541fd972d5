"""Weights within the limits that a person sets: a pinned weight, or its lowest and highest share of the whole.

The weights are the most probable ones that satisfy the limits. As shares of their sum are limited, the constraints are
linear and homogeneous once the signs of text features are fixed: a quadratic program over a cone, solved as a least
distance problem by nonnegative least squares (Lawson & Hanson 1974, "Solving Least Squares Problems", chapter 23).
"""

from __future__ import annotations

import numpy as np

from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import DIGITS

# A smaller sum of weights is none.
NOTHING = 1e-9
# A weight outside of its limits by more than this is not a matter of rounding.
ROUNDED = 10.0**-DIGITS


def within_limits(
    mean: FloatArray, precision: FloatArray, limits: FloatArray, signs: FloatArray, *, instead: FloatArray
) -> FloatArray:
    """Return the most probable weights whose shares of the sum of sizes are within limits.

    Args:
        mean, precision: of the posterior without limits, shapes (m,) and (m, m).
        limits: lowest and highest share of each, shape (m, 2). If the sizes cannot sum to 1, as where a pinned
            criterion is left out of a fold, they are scaled so that they can.
        signs: the sign of each weight that may have either, shape (m,).
        instead: weights, such as the prior's, whose nearest within the limits are returned if the most probable weights
            are all 0.
    """
    sign = np.where(limits[:, 0] >= 0, 1.0, np.where(limits[:, 1] <= 0, -1.0, np.where(signs < 0, -1.0, 1.0)))
    low, high = _sizes(limits, sign)
    inside = np.vstack([np.eye(len(mean)) - low[:, np.newaxis], high[:, np.newaxis] - np.eye(len(mean))])
    turned = precision * np.outer(sign, sign)
    plain = np.eye(len(mean))
    for start, metric in ((mean * sign, turned), (instead * sign, plain), (np.ones(len(mean)), plain)):
        sizes = np.maximum(_nearest(start, metric, inside), 0.0)
        if sizes.sum() > NOTHING:
            break
    weights: FloatArray = sizes * sign
    return weights


def within_rounding(shares: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return rounded shares that are outside of their limits by a rounding error at the limit, others unchanged."""
    clipped = np.clip(shares, low, high)
    return np.where(np.abs(clipped - shares) <= 2 * ROUNDED, clipped, shares)


def _sizes(limits: FloatArray, sign: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and highest size of each weight with these signs, scaled if they cannot sum to 1."""
    turned = np.sort(limits * sign[:, np.newaxis], axis=1)
    low, high = np.maximum(turned[:, 0], 0.0), np.maximum(turned[:, 1], 0.0)
    if 0 < high.sum() < 1:
        return low / high.sum(), high / high.sum()
    return (low / low.sum(), high / low.sum()) if low.sum() > 1 else (low, high)


def _nearest(point: FloatArray, metric: FloatArray, inside: FloatArray) -> FloatArray:
    """Return the point x with `inside @ x >= 0` that is nearest to another in a metric, shape (m,)."""
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    root = np.linalg.cholesky(metric).T
    across = solve_triangular(root, inside.T, trans="T", lower=False)
    needed = -inside @ point
    dual = np.vstack([across, needed])
    target = np.append(np.zeros(len(point)), 1.0)
    multipliers, _ = nnls(dual, target)
    residual = dual @ multipliers - target
    moved: FloatArray = point + solve_triangular(root, -residual[:-1] / residual[-1], lower=False)
    return moved
