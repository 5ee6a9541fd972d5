"""Correlation of two variables with others held constant."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rubriclab.stats.correlation import FloatArray, pearson

# Residuals below this share of a variable's own spread are rounding: the controls hold all of it.
NOTHING_LEFT = 1e-9


def partial_correlation(x: npt.ArrayLike, y: npt.ArrayLike, controls: npt.ArrayLike) -> float:
    """Pearson's correlation of what linear regression on the controls leaves of x and of y; nan where undefined.

    Cohen, Cohen, West & Aiken 2003, "Applied Multiple Regression/Correlation Analysis", section 3.3. It is undefined
    where nothing is left of either, so also with fewer than three texts more than controls.

    Args:
        x, y: shape (n,).
        controls: shape (n, k); columns that do not vary or repeat others change nothing.

    Raises:
        ValueError: shapes differ, or a value is nan or infinite (leave missing values out first).
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    held = np.asarray(controls, dtype=np.float64)
    if held.ndim != 2 or first.shape != second.shape or first.shape != held.shape[:1]:
        raise ValueError(
            f"expected vectors and a table of controls with as many rows, got {first.shape}, {second.shape} and "
            f"{held.shape}"
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all() and np.isfinite(held).all()):
        raise ValueError("expected finite numbers, got nan or infinity; leave missing values out first")
    if len(first) < held.shape[1] + 3:
        return float("nan")
    left = [_residuals(vector, held) for vector in (first, second)]
    return float("nan") if any(not rest.any() for rest in left) else pearson(*left)


def _residuals(vector: FloatArray, controls: FloatArray) -> FloatArray:
    """Return what regression on the controls leaves of a vector; exact zeros if that is nothing but rounding."""
    centered = vector - vector.mean()
    spreads = controls.std(axis=0)
    z = (controls - controls.mean(axis=0)) / np.where(spreads > 0, spreads, np.inf)
    rest: FloatArray = centered - z @ np.linalg.lstsq(z, centered, rcond=None)[0]
    return rest if np.linalg.norm(rest) > NOTHING_LEFT * np.linalg.norm(centered) else np.zeros_like(rest)
