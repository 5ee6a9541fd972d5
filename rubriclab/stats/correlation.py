"""Pearson, Spearman and Kendall correlation, of two vectors or of many weighted rows.

An element's weight is how often it counts: 0 if it is missing or a jackknife leaves it out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# Up to this many elements, Kendall's tau is computed from the matrix of all pairs (32 MB at this size); above, by
# scipy's O(n log n) algorithm for each row.
PAIR_LIMIT = 2000
# With fewer ratings a criterion's correlation is undefined: its standard error by Fisher, 1/√(n - 3), is at least 1.
MIN_RATINGS = 5
# Maximum absolute correlation before Fisher's transform, since the transform of 1 is infinite.
MAX_CORRELATION = 1 - 1e-9


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return Pearson's correlation of two vectors, NaN if either is constant; ValueError as for `pearson_rows`."""
    return float(pearson_rows(x, y)[0])


def pearson_rows(x: npt.ArrayLike, y: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatArray:
    """Return Pearson's correlations of paired rows, shape (rows,), NaN where either row of a pair is constant.

    Args:
        x: shape (n,), or (rows, n).
        y: shape (n,), or (rows, n); if one of x and y has a single row, it is paired with each row of the other.
        weights: how often each element counts, integers of shape (n,) or (rows, n); 1 by default.

    Raises ValueError if lengths differ or a value is NaN or infinite.
    """
    x, y, weights = _checked_rows(x, y, weights)
    defined = ~(is_constant(x, weights) | is_constant(y, weights))
    return _weighted_pearson(scaled(x), scaled(y), weights, defined)


def spearman_rows(x: npt.ArrayLike, y: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatArray:
    """Return Spearman's correlations of paired rows, by weighted average ranks; arguments as for `pearson_rows`."""
    x, y, weights = _checked_rows(x, y, weights)
    ranks, defined = [], np.ones(len(weights), dtype=bool)
    for rows in (x, y):
        dense_ranks, rank_weights, unequal_pairs = _dense_ranks(rows, weights)
        average_ranks = np.cumsum(rank_weights, axis=1) - (rank_weights - 1) / 2
        ranks.append(np.take_along_axis(average_ranks, np.broadcast_to(dense_ranks, weights.shape), axis=1))
        defined &= unequal_pairs > 0
    return _weighted_pearson(ranks[0], ranks[1], weights, defined)


def kendall_rows(x: npt.ArrayLike, y: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatArray:
    """Return Kendall's tau-b of paired rows; arguments as for `pearson_rows`."""
    x, y, weights = _checked_rows(x, y, weights)
    x_ranks, _, x_unequal_pairs = _dense_ranks(x, weights)
    y_ranks, _, y_unequal_pairs = _dense_ranks(y, weights)
    taus = np.full(len(weights), np.nan)
    defined = np.flatnonzero((x_unequal_pairs > 0) & (y_unequal_pairs > 0))
    row_ranks = [np.broadcast_to(dense_ranks, weights.shape) for dense_ranks in (x_ranks, y_ranks)]
    if weights.shape[1] > PAIR_LIMIT:
        from scipy.stats import kendalltau

        copies = weights.astype(np.int64)
        for row in defined:
            repeated = (np.repeat(dense_ranks[row], copies[row]) for dense_ranks in row_ranks)
            taus[row] = kendalltau(*repeated, method="asymptotic").statistic
        return taus.clip(-1.0, 1.0)
    # The numerator: pairs in the same order in x and y, minus pairs in opposite order.
    if len(x_ranks) == len(y_ranks) == 1:
        concordance = np.einsum("ij,ij->i", weights @ _pair_signs(x_ranks[0], y_ranks[0]), weights) / 2
    else:
        rows = zip(*row_ranks, weights, strict=True)
        concordance = np.array([weight @ _pair_signs(x_row, y_row) @ weight / 2 for x_row, y_row, weight in rows])
    taus[defined] = concordance[defined] / np.sqrt(x_unequal_pairs[defined] * y_unequal_pairs[defined])
    return taus.clip(-1.0, 1.0)


def label_correlations(ratings: FloatArray, labels: FloatArray) -> FloatArray:
    """Return each criterion's Pearson correlation with the labels over the texts with a rating, shape (criteria,).

    NaN below `MIN_RATINGS`, or if ratings or labels are constant. `ratings`: shape (texts, criteria), NaN if missing.
    """
    correlations = []
    for column in ratings.T:
        has_rating = ~np.isnan(column)
        enough = has_rating.sum() >= MIN_RATINGS
        correlations.append(pearson(column[has_rating], labels[has_rating]) if enough else math.nan)
    return np.array(correlations, dtype=float)


def scaled(rows: FloatArray) -> FloatArray:
    """Return rows scaled to [-1, 1], so that no square overflows; correlations do not depend on the scale."""
    largest = np.abs(rows).max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(rows / np.where(largest > 0, largest, 1.0))


def fisher_z(r: npt.ArrayLike) -> FloatArray:
    """Return Fisher's transform of correlations; perfect correlations are clipped, so that it is finite."""
    return np.asarray(np.arctanh(np.clip(r, -MAX_CORRELATION, MAX_CORRELATION)))


def is_constant(values: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> BoolArray:
    """Return whether all values of a row are exactly equal, shape (rows,); arguments as for `pearson_rows`."""
    rows, _, weights = _checked_rows(values, values, weights)
    has_weight = weights > 0
    # A row without weight is constant: its highest value is -inf and its lowest inf.
    highest = np.where(has_weight, rows, -np.inf).max(axis=1, initial=-np.inf)
    lowest = np.where(has_weight, rows, np.inf).min(axis=1, initial=np.inf)
    return np.asarray(highest <= lowest)


def _checked_rows(
    x: npt.ArrayLike, y: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return x, y and the weights as tables of shapes (1 or rows, n), (1 or rows, n) and (rows, n)."""
    x = np.atleast_2d(np.asarray(x, dtype=np.float64))
    y = np.atleast_2d(np.asarray(y, dtype=np.float64))
    weights = np.ones((1, x.shape[1])) if weights is None else np.atleast_2d(np.asarray(weights, dtype=np.float64))
    if not all(np.isfinite(table).all() for table in (x, y, weights)):
        raise ValueError("expected finite numbers, got nan or infinity; leave missing values out first")
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"expected equally many elements, got x of shape {x.shape} and y of shape {y.shape}")
    return x, y, np.broadcast_to(weights, (max(len(x), len(y), len(weights)), x.shape[1]))


def _dense_ranks(rows: FloatArray, weights: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the elements' dense ranks, the weight of each dense rank, and how many pairs of elements differ in value.

    An element's dense rank is the index of its value among the distinct values of its row. The weights of
    dense ranks have shape (rows, dense ranks), numbers of pairs have shape (rows,).
    """
    dense_ranks = np.reshape([np.unique(row, return_inverse=True)[1] for row in rows], rows.shape).astype(np.int64)
    row_count, rank_count = len(weights), int(dense_ranks.max(initial=-1)) + 1
    flat_indices = dense_ranks + rank_count * np.arange(row_count)[:, np.newaxis]
    flat_weights = np.bincount(flat_indices.ravel(), weights.ravel(), minlength=row_count * rank_count).astype(float)
    rank_weights = flat_weights.reshape(row_count, rank_count)
    # The number of pairs is exact, since weights are whole numbers.
    unequal_pairs = (rank_weights.sum(axis=1) ** 2 - (rank_weights**2).sum(axis=1)) / 2
    return dense_ranks, rank_weights, unequal_pairs


def _weighted_pearson(x: FloatArray, y: FloatArray, weights: FloatArray, defined: BoolArray) -> FloatArray:
    total = np.maximum(weights.sum(axis=1), 1.0)
    x = x - (np.einsum("ij,ij->i", weights, x) / total)[:, np.newaxis]
    y = y - (np.einsum("ij,ij->i", weights, y) / total)[:, np.newaxis]
    weighted = weights * x
    covariance = np.einsum("ij,ij->i", weighted, y)
    spread = np.sqrt(np.einsum("ij,ij->i", weighted, x)) * np.sqrt(np.einsum("ij,ij->i", weights * y, y))
    correlations = np.full(len(weights), np.nan)
    np.divide(covariance, spread, out=correlations, where=defined & (spread > 0))
    return correlations.clip(-1.0, 1.0)


def _pair_signs(x: IntArray, y: IntArray) -> FloatArray:
    """Return 1 for pairs of elements in the same order in x and y, -1 for pairs in opposite order, 0 for ties."""
    # Differences of dense ranks are at most `PAIR_LIMIT`, which fits into two bytes.
    x_small, y_small = x.astype(np.int16), y.astype(np.int16)
    signs = np.sign(np.subtract.outer(x_small, x_small)) * np.sign(np.subtract.outer(y_small, y_small))
    return np.asarray(signs, dtype=np.float64)


def floats(values: Iterable[float | None]) -> FloatArray:
    """Return numbers as an array, NaN for `None`, shape (n,)."""
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def float_table(rows: Iterable[Iterable[float | None]], columns: int) -> FloatArray:
    """Return rows of numbers as a table, NaN for `None`, shape (rows, columns), which may be empty."""
    numbers = [floats(row) for row in rows]
    return np.array(numbers, dtype=float).reshape(len(numbers), columns)
