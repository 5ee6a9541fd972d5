"""Numbers with missing ones among them, as arrays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rubriclab.stats.correlation import FloatArray


def floats(values: Iterable[float | None]) -> FloatArray:
    """Return numbers as an array, NaN for `None`, shape (n,)."""
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def float_table(rows: Iterable[Iterable[float | None]], columns: int) -> FloatArray:
    """Return rows of numbers as a table, NaN for `None`, shape (rows, columns), with no rows too."""
    numbers = [floats(row) for row in rows]
    return np.array(numbers, dtype=float).reshape(len(numbers), columns)
