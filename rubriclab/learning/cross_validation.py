"""Held-out scores of the labelled texts, each without the labels of its group, for the gate and for intervals.

Selection, weighting and calibration are repeated for each fold. Criteria generated from labels of the fold are left out
there, so the scores are conservative, especially with few groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rubriclab.aggregation import disagreement
from rubriclab.learning.fitting import HeldOut, Weighting, held_out, mean_over_repetitions
from rubriclab.learning.rating_matrix import RatingMatrix, standardised
from rubriclab.learning.selection import SelectedRubric
from rubriclab.learning.settings import JointSettings
from rubriclab.stats.correlation import FloatArray, IntArray

# The gate computes these from the table and from the texts.
COMPARED_ELSEWHERE = ("direct", "text_features")


@dataclass(frozen=True, eq=False)
class CrossValidatedScores:
    """Held-out scores, all of shape (texts,), NaN where missing.

    Attributes:
        fold: of each text.
        raw, scores: by the rubric, before and after calibration.
        hardness: how far the criteria disagree about the text.
        alone: by method, raw values by its own criteria only.
    """

    fold: IntArray
    raw: FloatArray
    scores: FloatArray
    hardness: FloatArray
    alone: Mapping[str, FloatArray]


def cross_validated(
    selected: SelectedRubric, table: RatingMatrix, every: RatingMatrix, settings: JointSettings, seed: int
) -> CrossValidatedScores:
    """Return the texts' scores by the same candidates, selected, weighted and calibrated without each fold.

    Args:
        selected: from `table`, which has the columns that the rubric may be selected from.
        every: the rating matrix of all candidates.
    """
    nested = selected.held_out
    hard = held_out_hardness(nested, table)
    alone = {name: held_out(part, _linear(settings), seed=seed).raw for name, part in tables_by_method(every).items()}
    return CrossValidatedScores(nested.folds[0], nested.raw, nested.scores, hard, alone)


def tables_by_method(table: RatingMatrix) -> dict[str, RatingMatrix]:
    """Return a table of its own candidates for each method that the rubric is compared with."""
    places = {
        name: [place for place, of in enumerate(table.methods) if of == name]
        for name in dict.fromkeys(table.methods)
        if name not in COMPARED_ELSEWHERE
    }
    return {name: table.columns(columns) for name, columns in places.items()}


def held_out_hardness(held_out_fits: HeldOut, table: RatingMatrix) -> FloatArray:
    """Return how far the criteria disagree about each text, by the rubrics fitted without its fold; shape (texts,)."""
    repeated = []
    for fold, fits in zip(held_out_fits.folds, held_out_fits.fits, strict=True):
        hard = np.full(len(table.labels), np.nan)
        for number, weighting in enumerate(fits):
            inside = fold == number
            hard[inside] = hardness(weighting, table.values[inside])
        repeated.append(hard)
    return mean_over_repetitions(repeated)


def hardness(fitted: Weighting, values: FloatArray) -> FloatArray:
    """Return how far the criteria of a rubric disagree about each text, NaN without any criterion."""
    if not fitted.columns:
        return np.full(len(values), np.nan)
    selected = values[:, list(fitted.columns)]
    z = np.where(np.isnan(selected), np.nan, standardised(selected, fitted.centers, fitted.spreads))
    return disagreement(fitted.weights, z)


def _linear(settings: JointSettings) -> JointSettings:
    return settings.model_copy(update={"calibration": "linear"})
