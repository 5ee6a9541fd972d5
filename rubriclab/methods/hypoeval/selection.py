"""Selection of hypotheses for the final bank and the rubric (HypoEval, section 2, "Hypothesis selection")."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Literal

import numpy as np

from rubriclab.methods.hypoeval.settings import HypoEvalSettings
from rubriclab.methods.method import cross_validated
from rubriclab.rubric import Criterion
from rubriclab.stats.correlation import FloatArray, label_correlations
from rubriclab.stats.interval import DIGITS


def select(matrix: FloatArray, labels: FloatArray, settings: HypoEvalSettings) -> list[int]:
    """Return the columns of the criteria kept, best first: at most `selected`, by Pearson correlation.

    Columns with ratings of less than half of the texts are not eligible. With `positive_only`, columns with a negative
    correlation are kept only if none is positive. Ties go to the earlier column; columns without a correlation come
    last.
    """
    r = np.nan_to_num(label_correlations(matrix, labels), nan=-2.0)
    rated = (~np.isnan(matrix)).mean(axis=0) if len(matrix) else np.zeros(matrix.shape[1])
    eligible = [column for column in range(matrix.shape[1]) if rated[column] >= 0.5]
    if settings.positive_only and any(r[column] > 0 for column in eligible):
        eligible = [column for column in eligible if r[column] > 0]
    return sorted(eligible, key=lambda column: (-r[column], column))[: settings.selected]


def hopeless(matrix: FloatArray, labels: FloatArray, rounds_left: int, settings: HypoEvalSettings) -> list[int]:
    """Return the columns to drop, `rounds_left` rounds of rating before the end.

    Successive halving (Karnin, Koren and Somekh 2013, ICML, "Almost Optimal Exploration in Multi-Armed Bandits") for
    several best arms: one and a half times as many as are selected enter the last round, and twice as many each round
    before it. Columns without a correlation are dropped first.
    """
    r = label_correlations(matrix, labels)
    ranked = sorted(range(len(r)), key=lambda column: (-np.nan_to_num(r[column], nan=-2.0), column))
    return sorted(ranked[math.ceil(0.75 * 2**rounds_left * settings.selected) :])


def predictions(matrix: FloatArray, columns: Sequence[int]) -> FloatArray:
    """Return the mean over the selected columns, NaN if none of them has a rating; shape (texts,)."""
    chosen = matrix[:, list(columns)]
    rated = ~np.isnan(chosen)
    counts = rated.sum(axis=1)
    sums = np.where(rated, chosen, 0.0).sum(axis=1)
    return np.where(counts > 0, (sums / np.maximum(counts, 1)).round(DIGITS), np.nan)


def reselected(matrix: FloatArray, labels: FloatArray, groups: Sequence[str], settings: HypoEvalSettings) -> FloatArray:
    """Return cross-validated predictions: each text's by the criteria that the other groups' labels select; NaN if
    none."""

    def predict(others: np.ndarray, inside: np.ndarray) -> FloatArray:
        return predictions(matrix[inside], select(matrix[others], labels[others], settings))

    return cross_validated(groups, predict)


Union = Literal["reward", "random", "accuracy"]


def final_bank(
    learned: Sequence[Criterion], literature: Sequence[Criterion], size: int, union: Union, draw: random.Random
) -> tuple[Criterion, ...]:
    """Return at most `size` hypotheses from labels and literature, each given best first.

    If there are none of one kind, the others may fill the bank.
    """
    if not (learned and literature):
        return _some([*learned, *literature], size, union, draw)
    half = size // 2
    if union == "random":
        return (*draw.sample(learned, min(half, len(learned))), *draw.sample(literature, min(half, len(literature))))
    if union == "accuracy":
        kept = tuple(learned[:half])
        return (*kept, *literature[: size - len(kept)])
    added = tuple(literature[: max(half, size - len(learned))])
    return (*learned[: size - len(added)], *added)


def _some(side: Sequence[Criterion], size: int, union: Union, draw: random.Random) -> tuple[Criterion, ...]:
    return tuple(draw.sample(side, min(size, len(side))) if union == "random" else side[:size])
