"""The most probable weights within limits, by a general solver: independent of the one that learning uses."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

minimize: Any = optimize.minimize


def nearest_weights(mean: np.ndarray, precision: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return the nonnegative weights nearest to `mean` whose shares are within limits, by sequential programming."""
    size = len(mean)
    rows = np.vstack([np.eye(size) - limits[:, :1], limits[:, 1:] - np.eye(size), np.eye(size)])
    starts = (np.full(size, 0.5), np.abs(mean) + 0.1, limits.mean(axis=1) + 0.01)
    found = [
        minimize(
            lambda x: (x - mean) @ precision @ (x - mean),
            start,
            jac=lambda x: 2 * precision @ (x - mean),
            constraints=[{"type": "ineq", "fun": lambda x: rows @ x, "jac": lambda _: rows}],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        for start in starts
    ]
    feasible = [each for each in found if (rows @ each.x).min() > -1e-7]
    return np.asarray(min(feasible, key=lambda each: each.fun).x)
