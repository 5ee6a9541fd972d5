"""The form of a rubric that several methods learn together: a few criteria as reasons, then the aspect as a whole.

The criteria are those whose ratings correlate most with the labels, shrunken, without redundant ones; weights and the
map onto the raters' scale are fitted to all labels. Held-out scores repeat all of this without each fold's labels
(Cawley & Talbot 2010, "On over-fitting in model selection", JMLR 11). Thirty labels cannot tell sizes, methods and ways
of asking apart: a choice among them by held-out labels agreed less with people (`docs/decisions`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rubriclab.learning.fitting import CandidatePool, Fit, HeldOut, fit, held_out
from rubriclab.learning.rating_matrix import RatingMatrix
from rubriclab.learning.settings import JointSettings
from rubriclab.models.aggregation import Ask
from rubriclab.stats.correlation import FloatArray


@dataclass(frozen=True, eq=False)
class SelectedRubric:
    """A rubric fitted to all labels, and held-out scores by the same procedure."""

    fit: Fit
    held_out: HeldOut


def candidate_pool(table: RatingMatrix, most: int, ask: Ask) -> CandidatePool:
    """Return what a rubric is selected from: the `most` best criteria, all scores of the whole, and text features.

    Criteria that need no call of their own are kept as reasons, even with a weight of 0.
    """
    always = tuple(np.flatnonzero(table.holistic | table.signed).tolist())
    others = tuple(place for place in range(len(table.methods)) if place not in always)
    return CandidatePool(others, always, most, reasons=ask == "in one call")


def select_rubric(table: RatingMatrix, settings: JointSettings, ask: Ask, *, seed: int = 0) -> SelectedRubric:
    """Return the rubric selected and fitted by all labels, with held-out scores; the order of the texts is irrelevant.

    Args:
        seed: of the folds.
    """
    pool = candidate_pool(table, settings.criteria, ask)
    return SelectedRubric(fit(table, settings, pool), held_out(table, settings, pool, seed=seed))


def chosen_shares(selected: SelectedRubric, table: RatingMatrix) -> FloatArray:
    """Return for each column of the rubric the share of the folds' rubrics with its criterion, shape (columns,).

    Folds with labels that the criterion was generated from do not count; the share is 1 if there are no others.
    """
    columns = list(selected.fit.columns)
    have, may = np.zeros(len(columns)), np.zeros(len(columns))
    for fold, fits in zip(selected.held_out.folds, selected.held_out.fits, strict=True):
        for number, fold_fit in enumerate(fits):
            free = ~table.seen[fold == number].any(axis=0)[columns]
            may += free
            have += free & np.isin(columns, fold_fit.columns)
    shares: FloatArray = np.divide(have, may, out=np.ones(len(columns)), where=may > 0)
    return shares
