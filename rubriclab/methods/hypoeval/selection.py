"""Which hypotheses the rubric keeps (HypoEval, section 2, "Hypothesis selection")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from rubriclab.methods.hypoeval.settings import HypoEvalSettings
from rubriclab.rubric import DIGITS
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


def select(matrix: FloatArray, labels: FloatArray, settings: HypoEvalSettings) -> list[int]:
    """Return the columns of the criteria kept, best first: at most `selected`, by Pearson correlation.

    Columns rated on less than half of the texts are not eligible: their correlation is of other texts. Ties go to the
    earlier column.
    """
    r = correlations(matrix, labels)
    rated = (~np.isnan(matrix)).mean(axis=0) if len(matrix) else np.zeros(matrix.shape[1])
    eligible = [
        column
        for column in range(matrix.shape[1])
        if not math.isnan(r[column]) and rated[column] >= 0.5 and (r[column] > 0 or not settings.positive_only)
    ]
    return sorted(eligible, key=lambda column: (-r[column], column))[: settings.selected]


def hopeless(matrix: FloatArray, labels: FloatArray, settings: HypoEvalSettings) -> list[int]:
    """Return the columns that can hardly reach the selection any more.

    A column is hopeless if even the upper end of its correlation's interval (Fisher's z) lies below the lower end of
    the correlation that would be selected last.
    """
    r = correlations(matrix, labels)
    ranked = sorted((value for value in r if not math.isnan(value)), reverse=True)
    if len(ranked) <= settings.selected:
        return []
    counts = (~np.isnan(matrix)).sum(axis=0)
    last = ranked[settings.selected - 1]
    bar = _fisher(last, int(counts.min()), -settings.hopeless_confidence)
    return [
        column
        for column, value in enumerate(r)
        if not math.isnan(value) and _fisher(value, int(counts[column]), settings.hopeless_confidence) < bar
    ]


def predictions(matrix: FloatArray, columns: Sequence[int]) -> FloatArray:
    """Return the mean over the chosen columns, NaN where none of them has a rating; shape (texts,)."""
    chosen = matrix[:, list(columns)]
    rated = ~np.isnan(chosen)
    counts = rated.sum(axis=1)
    sums = np.where(rated, chosen, 0.0).sum(axis=1)
    return np.where(counts > 0, (sums / np.maximum(counts, 1)).round(DIGITS), np.nan)


def _fisher(r: float, n: int, confidence: float) -> float:
    """Return the end of the interval of `r`: the upper one for a positive `confidence`, the lower for a negative."""
    z = math.copysign(NormalDist().inv_cdf((1 + abs(confidence)) / 2), confidence)
    bounded = min(max(r, -0.999999), 0.999999)
    return math.tanh(math.atanh(bounded) + z / math.sqrt(max(n - 3, 1)))
