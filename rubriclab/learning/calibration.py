"""Calibration: maps from raw scores (weighted sums of ratings, or a judge's direct scores) onto the raters' scale.

Weights are fitted to the same labels as the map. The slope of the regression line is therefore multiplied by the
ratio of adjusted R squared to R squared (Copas 1983, "Regression, prediction and shrinkage", JRSS B 45; van Houwelingen
& le Cessie 1990, "Predictive value of statistical models", Statistics in Medicine 9, section 3).
"""

from __future__ import annotations

import numpy as np

from rubriclab.models.aggregation import MIN_SPREAD, Calibration, Conformal
from rubriclab.models.text import Scale
from rubriclab.stats.correlation import BoolArray, FloatArray
from rubriclab.stats.intervals import DIGITS, enough_errors, error_bounds

# The number of parameters fitted to the labels, for the shrinkage of the slope. Weights do not count, as `weighting`
# has already shrunk them. With an earlier `weighting`, which shrank them less, 5 gave the smallest error on new groups.
N_PARAMETERS = 1
MIN_SHRINKAGE = 0.1  # smallest factor of the slope: a slope of 0 would give all texts the same score
MAX_LOG_ODDS = 60.0  # larger than any log odds that labels can give
# Newton's method: number of steps, largest change of a coefficient in a step, ridge that keeps its matrix invertible.
NEWTON_STEPS, MAX_STEP, RIDGE = 50, 1.0, 1e-9


def fit_calibration(raw: FloatArray, labels: FloatArray, scale: Scale, *, shrink: bool = True) -> Calibration:
    """Return the map onto `scale`, logistic if it has two levels; its slope is shrunk if `shrink`."""
    return fit_logistic(raw, labels, shrink=shrink) if scale.has_two_levels else fit_linear(raw, labels, shrink=shrink)


def fit_linear(raw: FloatArray, labels: FloatArray, *, shrink: bool = True) -> Calibration:
    """Return the least-squares linear map with a slope of at least 0, shrunk if `shrink`; `raw` has no NaN."""
    n, mean_raw, mean_label = len(raw), float(raw.mean()), float(labels.mean())
    raw_squares = float(np.square(raw - mean_raw).sum())
    label_squares = float(np.square(labels - mean_label).sum())
    products = float((raw - mean_raw) @ (labels - mean_label))
    if products <= 0 or label_squares <= 0 or raw_squares <= n * MIN_SPREAD**2:
        return linear_map(0.0, mean_raw, mean_label)
    r_squared = min(products**2 / (raw_squares * label_squares), 1.0)
    slope = products / raw_squares * (_shrinkage(r_squared, n) if shrink else 1.0)
    return linear_map(slope, mean_raw, mean_label)


def fit_logistic(raw: FloatArray, labels: FloatArray, *, shrink: bool = True) -> Calibration:
    """Return the map to probabilities of label 1, with a slope of at least 0, shrunk if `shrink`; `raw` has no NaN.

    Labels are moved inwards from 0 and 1, so that the slope is finite if raw values separate them (Platt 1999,
    "Probabilistic outputs for support vector machines", section 2.2).
    """
    from scipy.optimize import brentq
    from scipy.special import expit

    n, label_sum = len(raw), float(labels.sum())
    lower_target = 1 / (n - label_sum + 2)
    upper_target = (label_sum + 1) / (label_sum + 2)
    targets = lower_target + labels * (upper_target - lower_target)
    mean_raw, spread = float(raw.mean()), float(raw.std())
    z, slope, slope_per_raw, correlation = np.zeros(n), 0.0, 0.0, 0.0
    if spread > MIN_SPREAD and np.ptp(labels) > 0:
        correlation = float(np.corrcoef(raw, labels)[0, 1])
    if correlation > 0:
        # The maximum-likelihood slope of a regression with an intercept, by Newton's method.
        z = (raw - mean_raw) / spread
        columns, beta = np.stack([np.ones(n), z]), np.zeros(2)
        for _ in range(NEWTON_STEPS):
            p = expit(beta @ columns)
            curvature = (columns * (p * (1 - p))) @ columns.T + RIDGE * np.eye(2)
            beta = beta + np.clip(np.linalg.solve(curvature, columns @ (targets - p)), -MAX_STEP, MAX_STEP)
        slope = max(float(beta[1]), 0.0) * (_shrinkage(correlation**2, n) if shrink else 1.0)
        slope_per_raw = slope / spread
    # With this intercept, probabilities and targets have the same mean.
    intercept = brentq(lambda shift: float((expit(slope * z + shift) - targets).sum()), -MAX_LOG_ODDS, MAX_LOG_ODDS)
    return linear_map(slope_per_raw, mean_raw, float(intercept)).model_copy(update={"kind": "logistic"})


def mean_rating_map(
    weights: FloatArray, centers: FloatArray, spreads: FloatArray, is_question: BoolArray, scale: Scale
) -> Calibration:
    """Return the label-free map from weighted sums of z scores to weighted mean ratings in points of `scale`."""
    points_per_rating, points_at_zero = np.where(is_question, scale.width, 1.0), np.where(is_question, scale.low, 0.0)
    weights_per_point = weights / (spreads * points_per_rating)  # a question's 0 to 1 is stretched to the scale
    total = float(weights_per_point.sum())
    average = float(weights_per_point @ (points_at_zero + points_per_rating * centers)) / total
    return Calibration(kind="none", x=(0.0, 1.0), y=(round(average, DIGITS), round(average + 1 / total, DIGITS)))


def held_out_errors(scores: FloatArray, labels: FloatArray, confidence: float) -> Conformal | None:
    """Return label minus score of each text with a held-out score; `None` if too few for intervals of `confidence`."""
    errors = (labels - scores)[~np.isnan(scores)]
    if not enough_errors(len(errors), confidence):
        return None
    return Conformal(errors=tuple(np.sort(errors).round(DIGITS).tolist()), confidence=confidence)


def interval_ends(scores: FloatArray, conformal: Conformal | None, scale: Scale) -> tuple[FloatArray, FloatArray]:
    """Return the ends of each score's interval, shape (texts,) each; NaN without a score or an interval."""
    if conformal is None:
        return np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    below, above = error_bounds(conformal.errors, conformal.confidence)
    return np.clip(scores + below, scale.low, scale.high), np.clip(scores + above, scale.low, scale.high)


def _shrinkage(r_squared: float, n: int) -> float:
    """Return the ratio of adjusted R squared to R squared, at least `MIN_SHRINKAGE`."""
    degrees_of_freedom = n - 1 - N_PARAMETERS
    if degrees_of_freedom <= 0:
        return MIN_SHRINKAGE
    adjusted = r_squared - N_PARAMETERS * (1 - r_squared) / degrees_of_freedom
    return max(adjusted / r_squared, MIN_SHRINKAGE)


def linear_map(slope: float, x: float, y: float) -> Calibration:
    """Return the line with this slope through the point (x, y)."""
    at_zero = y - slope * x
    return Calibration(kind="linear", x=(0.0, 1.0), y=(round(at_zero, DIGITS), round(at_zero + slope, DIGITS)))
