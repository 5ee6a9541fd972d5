"""How closely each criterion's ratings follow the labels, where some ratings are missing."""

from __future__ import annotations

import math

import numpy as np

from rubriclab.stats.correlation import FloatArray, pearson

# With fewer ratings than this a correlation says nothing, and Fisher's interval is not defined below four.
FEWEST_RATINGS = 5


def correlations(matrix: FloatArray, labels: FloatArray) -> FloatArray:
    """Return each criterion's Pearson correlation with the labels over the texts it has a rating for.

    Args:
        matrix: ratings, shape (texts, criteria), NaN where missing.
        labels: human scores, shape (texts,).

    NaN where there are fewer than five ratings, or where ratings or labels do not vary.
    """
    columns = []
    for column in matrix.T:
        rated = ~np.isnan(column)
        enough = rated.sum() >= FEWEST_RATINGS
        columns.append(pearson(column[rated], labels[rated]) if enough else math.nan)
    return np.array(columns, dtype=float)
