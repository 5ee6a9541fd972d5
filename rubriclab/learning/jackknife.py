"""Standard errors of held-out agreement that include the variance of learning.

A held-out score depends on two random samples: the text, and the texts that its rubric was learned from. Resampling
final scores covers only the first, and with thirty labels the second is as large: intervals are too narrow (Bates,
Hastie & Tibshirani 2024, "Cross-validation: what does it estimate and how well does it do it?", JASA 119). So groups
are left out here, and the rubrics of all folds are refitted without them: a jackknife of the whole procedure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rubriclab.learning.fitting import HeldOut
from rubriclab.learning.rating_matrix import RatingMatrix
from rubriclab.learning.weighting import design, posterior
from rubriclab.stats.agreement import agreement_value
from rubriclab.stats.correlation import FloatArray, IntArray, pearson_rows, spearman_rows
from rubriclab.stats.folds import grouped_folds
from rubriclab.stats.interval import Interval
from rubriclab.stats.jackknife import CONFIDENCE, student_interval
from rubriclab.stats.levels import Level

# With more groups, this many bundles of groups are left out one by one: the delete-a-group jackknife.
MOST_BUNDLES = 50


def refitted_agreement(
    table: RatingMatrix, nested: HeldOut, *, level: Level, seed: int = 0, confidence: float = CONFIDENCE
) -> Mapping[str, Interval]:
    """Return the held-out `spearman` and `pearson` agreement with intervals.

    The rubric selected in each fold is refitted without each group.

    Args:
        nested: held-out scores from `held_out` or `select_rubric`, of the same table.
        level: of the agreement, as in `rubriclab.stats.agreement`.
        seed: of the bundles, if there are more than `MOST_BUNDLES` groups.
        confidence: of the intervals.
    """
    every = [nested.raw, *_raw_without(table, nested, grouped_folds(table.groups, MOST_BUNDLES, seed))]
    return {
        name: _interval(
            [agreement_value(raw, table.labels, table.groups, level=level, coefficient=rows) for raw in every],
            confidence,
        )
        for name, rows in (("spearman", spearman_rows), ("pearson", pearson_rows))
    }


def _interval(values: Sequence[float], confidence: float) -> Interval:
    value, *without = values
    if math.isnan(value):
        return Interval(None)
    return student_interval(value, np.array(without), correlation=True, confidence=confidence)


def _raw_without(table: RatingMatrix, folds: HeldOut, bundle: IntArray) -> FloatArray:
    """Return held-out raw values without each bundle, shape (bundles, texts), NaN for the bundle's own texts.

    Only the first repetition is used: the variance that repetitions average out is not an error of learning.
    """
    matrix = design(table)
    every = matrix.moments(np.ones(len(bundle), dtype=bool))
    parts = [matrix.moments(bundle == left) for left in range(int(bundle.max(initial=-1)) + 1)]
    raw = np.full((len(parts), len(bundle)), np.nan)
    for number, fold_fit in enumerate(folds.fits[0]):
        inside = folds.folds[0] == number
        rest = every - matrix.moments(inside)
        for left in range(len(parts)):
            others = ~inside & (bundle != left)
            if others.any() and fold_fit.columns:
                moments = rest - parts[left] if not (inside & (bundle == left)).any() else matrix.moments(others)
                weights = posterior(table, moments, fold_fit.columns)
                raw[left, inside] = matrix.z[inside][:, list(fold_fit.columns)] @ weights.mean * (weights.spread or 1.0)
    raw[bundle, np.arange(len(bundle))] = np.nan
    # Equal up to rounding is a tie for Spearman.
    rounded: FloatArray = raw.round(9)
    return rounded
