"""Parts for cross-validation that keep each group together, the same whatever the order of the texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rubriclab.learning.rating_matrix import BoolArray, RatingMatrix
from rubriclab.stats.correlation import IntArray
from rubriclab.stats.folds import grouped_folds


def left_out(table: RatingMatrix, folds: int, seed: int) -> Iterator[tuple[BoolArray, RatingMatrix]]:
    """Yield for each fold which texts it holds, and the table of all others.

    Candidates that one of the fold's texts had a part in making have no score there: they could know its label. A fold
    of all texts there are is left out.
    """
    fold = grouped_folds(table.groups, folds, seed)
    for number in range(int(fold.max(initial=-1)) + 1):
        inside: BoolArray = fold == number
        if not inside.all():
            told = np.flatnonzero(table.seen[inside].any(axis=0)).tolist()
            yield inside, without_columns(table, told).rows(~inside)


def without_columns(table: RatingMatrix, columns: Sequence[int]) -> RatingMatrix:
    """Return the table as if these columns had no score; places stay as they are."""
    values = table.values.copy()
    values[:, list(columns)] = np.nan
    return replace(table, values=values)


def in_order(table: RatingMatrix) -> IntArray:
    """Return the texts' places in an order that hangs on what they hold, not on how they came.

    Sums then come out the same to the last bit. Labels come last: a text's own label moves it among texts with the
    same scores at most.
    """
    group = np.unique(np.array(table.groups, dtype=str), return_inverse=True)[1]
    keys = [table.labels, *table.seen.T, *table.values.T, group]
    order: IntArray = np.lexsort(keys)
    return order
