"""Held-out scores of the labelled texts, each without the labels of its group, for the gate and for intervals.

Selection, weighting and calibration are repeated for each fold. Criteria generated from labels of the fold are left out
there, so the scores are conservative, especially with few groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rubriclab.learning.fitting import held_out
from rubriclab.learning.rating_matrix import RatingMatrix
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
        alone: by method, raw values by its own criteria only.
    """

    fold: IntArray
    raw: FloatArray
    scores: FloatArray
    alone: Mapping[str, FloatArray]


def cross_validated(
    selected: SelectedRubric, every: RatingMatrix, settings: JointSettings, seed: int
) -> CrossValidatedScores:
    """Return the texts' scores by the same candidates, selected, weighted and calibrated without each fold.

    Args:
        selected: the rubric with its held-out scores.
        every: the rating matrix of all candidates.
    """
    nested = selected.held_out
    alone = {name: held_out(part, _linear(settings), seed=seed).raw for name, part in tables_by_method(every).items()}
    return CrossValidatedScores(nested.folds[0], nested.raw, nested.scores, alone)


def tables_by_method(table: RatingMatrix) -> dict[str, RatingMatrix]:
    """Return a table of its own candidates for each method that the rubric is compared with."""
    places = {
        name: [place for place, of in enumerate(table.methods) if of == name]
        for name in dict.fromkeys(table.methods)
        if name not in COMPARED_ELSEWHERE
    }
    return {name: table.columns(columns) for name, columns in places.items()}


def _linear(settings: JointSettings) -> JointSettings:
    return settings.model_copy(update={"calibration": "linear"})
