"""Standard errors of held-out agreement that include the variance of learning.

A held-out score depends on two random samples: the text, and the texts that its rubric was learned from. Resampling
final scores covers only the first, and with thirty labels the second is as large: intervals are too narrow (Bates,
Hastie & Tibshirani 2024, "Cross-validation: what does it estimate and how well does it do it?", JASA 119). So groups
are left out here, and the rubrics of all folds are refitted without them: a jackknife of the whole procedure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from rubriclab.learning.fitting import HeldOut
from rubriclab.learning.rating_matrix import RatingMatrix
from rubriclab.learning.weighting import design, posterior
from rubriclab.stats.agreement import agreement
from rubriclab.stats.correlation import FloatArray, IntArray, fisher_z
from rubriclab.stats.folds import grouped_folds
from rubriclab.stats.interval import Interval
from rubriclab.stats.jackknife_correlations import jackknife_error
from rubriclab.stats.levels import Level

# With more groups, this many bundles of groups are left out one by one: the delete-a-group jackknife.
MOST_BUNDLES = 50


def agreement_errors(table: RatingMatrix, nested: HeldOut, *, level: Level, seed: int = 0) -> Mapping[str, float]:
    """Return the standard errors of the held-out `spearman` and `pearson` agreement, on Fisher's scale.

    The rubric selected in each fold is refitted without each group. An error is infinite if fewer than two groups can
    be left out.

    Args:
        nested: held-out scores from `held_out` or `select_rubric`, of the same table.
        level: of the agreement, as in `rubriclab.stats.agreement`.
        seed: of the bundles, if there are more than `MOST_BUNDLES` groups.
    """
    bundle = grouped_folds(table.groups, MOST_BUNDLES, seed)
    agreements = [
        agreement(raw, table.labels, table.groups, level=level, resamples=0)
        for raw in _raw_without(table, nested, bundle)
    ]
    return {name: _error([getattr(result, name).value for result in agreements]) for name in ("spearman", "pearson")}


def fisher_interval(value: float | None, error: float, confidence: float) -> Interval:
    """Return a correlation with its interval, symmetric on Fisher's scale; without ends if `error` is infinite.

    The quantile is normal: the jackknife overestimates the error (Efron & Stein 1981, "The jackknife estimate of
    variance", Annals of Statistics 9), and with Student's quantile the coverage was above the nominal one.
    """
    from scipy.special import ndtri

    if value is None or math.isinf(error):
        return Interval(value, None, None)
    z, margin = float(fisher_z(value)), float(ndtri((1 + confidence) / 2)) * error
    return Interval(value, math.tanh(z - margin), math.tanh(z + margin))


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


def _error(values: list[float | None]) -> float:
    defined = np.array([value for value in values if value is not None], dtype=float)
    if len(defined) < 2:
        return math.inf
    return float(jackknife_error(fisher_z(defined)[:, np.newaxis])[0])
