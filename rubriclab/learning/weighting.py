"""The weight of each criterion: a linear Gaussian model with a prior mean, in closed form.

The labels y and the ratings z by the criteria are standardized; y = z v + e with weights v and errors e. By the normal
prior on the weights, scores of the whole text (holistic) have most of the weight, other judged criteria share the rest
equally, and text features have their usual directions (Lindley & Smith 1972, "Bayes estimates for the linear model",
JRSS B 34; `docs/decisions/0012`). A column is a criterion's ratings of all texts.

If a criterion was generated from a text's label, its rating of this text counts as missing: it agrees by construction.
The model depends on the texts only through sums over them (`Moments`): to leave out a fold, its sums are subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from rubriclab.learning.calibration import MIN_SHRINKAGE
from rubriclab.learning.matrix import ROUNDING, RatingMatrix, centers_and_spreads, standardize
from rubriclab.stats.correlation import BoolArray, FloatArray

# These values, for labels of variance 1, were chosen on 220 training sets of 20 aspects with the offline judge, and on
# 3 training sets with a language model. Halving or doubling one changes agreement on other groups by at most 0.02.
NOISE = 0.9  # standard deviation of the error e
PRIOR_SPREAD = 0.5  # standard deviation, over texts, of the weighted sums of ratings if the weights are the prior ones
COMPOSITE_ERROR = 0.3  # prior standard deviation of the weight of a composite: the weighted sum of one kind of columns
WEIGHT_VARIANCE = 0.25  # sum of the prior variances of the columns' weights, without what `COMPOSITE_ERROR` adds
# Prior weight of each kind of column; `_prior` divides it by the sum over the kinds that a rubric has. The best
# `HOLISTIC_WEIGHT` was 0.65 to 0.8 with a language model, and 0.5 with the offline judge.
HOLISTIC_WEIGHT, JUDGED_WEIGHT, FEATURE_WEIGHT = 0.75, 0.25, 0.2
MAX_STANDARD_SCORE = 3.0  # standardized ratings are clipped to the range from -3 to 3

# If columns correlate with each other by at least this much, only the column is kept that agrees best with labels.
REDUNDANT_R = 0.95
# Composites with a smaller spread are not scaled to unit variance: their criteria cancel each other out.
MIN_COMPOSITE_SPREAD = 0.15
# A column's correlation with the labels is averaged with its kind's mean, which counts as much as this many labels.
SHRINKAGE_LABELS = 30.0
NO_WEIGHT = 1e-9  # a smaller sum of weights counts as 0


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over texts, of standardized ratings z and of labels y in points; to leave out texts, subtract their sums.

    Attributes:
        n, y, yy: the number of texts, the sum of their labels, and the sum of the squared labels.
        z, zy: sums of the ratings, and of ratings times labels, shape (columns,).
        zz: sums of products of two columns, shape (columns, columns).
        used_n, used_y, used_yy: n, y and yy over the texts whose rating in the column is used, shape (columns,).
    """

    n: FloatArray
    y: FloatArray
    yy: FloatArray
    z: FloatArray
    zy: FloatArray
    zz: FloatArray
    used_n: FloatArray
    used_y: FloatArray
    used_yy: FloatArray

    def __sub__(self, other: Moments) -> Moments:
        return Moments(*(getattr(self, field.name) - getattr(other, field.name) for field in fields(self)))

    @property
    def label_correlations(self) -> FloatArray:
        """Each column's correlation with the labels, 0 if undefined; shape (columns,)."""
        n = np.maximum(self.used_n, 1.0)
        covariance = self.zy - self.z * self.used_y / n
        variance_products = (self.zz.diagonal() - self.z**2 / n) * (self.used_yy - self.used_y**2 / n)
        defined = variance_products > ROUNDING * np.maximum(self.zz.diagonal() * self.used_yy, ROUNDING)
        deviation_products = np.sqrt(np.where(defined, variance_products, 1.0))
        r: FloatArray = np.divide(covariance, deviation_products, out=np.zeros_like(n), where=defined)
        return r.clip(-1.0, 1.0)


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """A rating matrix that is prepared for the model.

    Attributes:
        centers, spreads: of each column over all texts, also for fits that leave out a fold, since no labels are used.
        z: standardized ratings, shape (texts, columns), 0 if missing.
        is_used: false if a rating is missing, or if its criterion was generated from the text's group.
        column_correlations: the correlation of each pair of columns, shape (columns, columns).
        is_redundant: whether a pair of columns correlates so highly that one is enough, shape (columns, columns).
    """

    table: RatingMatrix
    centers: FloatArray
    spreads: FloatArray
    z: FloatArray
    is_used: BoolArray
    column_correlations: FloatArray
    is_redundant: BoolArray

    def moments(self, rows: BoolArray) -> Moments:
        is_used = self.is_used[rows].astype(float)
        z = np.clip(self.z[rows], -MAX_STANDARD_SCORE, MAX_STANDARD_SCORE) * is_used
        y = self.table.labels[rows]
        return Moments(
            n=np.array(float(len(y))),
            y=np.array(y.sum()),
            yy=np.array(y @ y),
            z=z.sum(axis=0),
            zy=z.T @ y,
            zz=z.T @ z,
            used_n=is_used.sum(axis=0),
            used_y=is_used.T @ y,
            used_yy=is_used.T @ (y * y),
        )


def design_matrix(table: RatingMatrix, redundant_r: float = REDUNDANT_R) -> DesignMatrix:
    """Return the table prepared for the model; two columns that correlate by `redundant_r` or more are redundant."""
    centers, spreads = centers_and_spreads(table.values)
    z = standardize(table.values, centers, spreads)
    lengths = np.sqrt((z**2).sum(axis=0))
    unit_vectors = z / np.where(lengths > 0, lengths, 1.0)
    correlations = (unit_vectors.T @ unit_vectors).round(9)
    # Text features may have weights of either sign, so their negative correlations are redundant too.
    has_feature = table.is_feature | table.is_feature[:, np.newaxis]
    similarities = np.where(has_feature, np.abs(correlations), correlations)
    is_redundant = (similarities >= redundant_r) & ~np.eye(len(correlations), dtype=bool)
    is_used: BoolArray = ~np.isnan(table.values) & ~table.is_from_own_group
    return DesignMatrix(table, centers, spreads, z, is_used, correlations, is_redundant)


def shrunken_correlations(table: RatingMatrix, moments: Moments) -> FloatArray:
    """Return each column's correlation with the labels, shrunk towards the mean of its kind; absolute if a feature."""
    r, n = moments.label_correlations, moments.used_n
    r = np.where(table.is_feature, np.abs(r), r)
    shrunken = np.zeros_like(r)
    others = ~(table.holistic | table.is_feature | table.is_question)
    for kind in (table.holistic, table.is_feature, table.is_question, others):
        mean = float(n[kind] @ r[kind]) / max(float(n[kind].sum()), 1.0)
        shrunken[kind] = (n[kind] * r[kind] + SHRINKAGE_LABELS * mean) / (n[kind] + SHRINKAGE_LABELS)
    return shrunken.round(9)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Weights of columns, in standard deviations of the labels for each standard deviation of the column.

    Attributes:
        mean: the weights, shape (columns,); not negative for judged columns. If all weights would be 0, it is the prior
            weights times `MIN_SHRINKAGE`, so that scores rank the texts but stay close to the mean label.
        errors: the standard deviation of each weight.
        label_spread, label_mean: standard deviation (0 if labels differ only by rounding) and mean of the labels.
    """

    mean: FloatArray
    errors: FloatArray
    label_spread: float
    label_mean: float


def posterior(table: RatingMatrix, moments: Moments, columns: Sequence[int]) -> Posterior:
    """Return the posterior weights of these columns; if all labels are equal, their prior weights."""
    # Sums of products of deviations from the mean: of two columns (`gram`), and of a column and the labels.
    indices, n = list(columns), max(float(moments.n), 1.0)
    gram = moments.zz[np.ix_(indices, indices)] - np.outer(moments.z[indices], moments.z[indices]) / n
    label_products = moments.zy[indices] - moments.z[indices] * float(moments.y) / n
    label_mean = float(moments.y) / n
    label_spread = float(np.sqrt(max(float(moments.yy) / n - label_mean**2, 0.0)))
    labels_vary = label_spread > ROUNDING * max(1.0, abs(label_mean))
    prior, precision = _prior(table, indices, gram / n)
    gradient = np.zeros(len(indices))  # of the log likelihood, at the prior mean
    if labels_vary:
        precision = precision + gram / NOISE**2
        gradient = (label_products / label_spread - gram @ prior) / NOISE**2
    covariance = np.linalg.inv(precision)
    unconstrained = prior + covariance @ gradient
    # The wording of a judged criterion says which end is better, and thirty labels are too few to refute it. Judged
    # weights that would be negative are set to 0. Then the other weights are estimated again; the `errors` stay.
    is_judged = ~table.is_feature[indices]
    is_zero = np.zeros(len(indices), dtype=bool)
    mean = unconstrained
    while (is_negative := is_judged & ~is_zero & (mean < -ROUNDING)).any():
        is_zero |= is_negative
        multipliers = np.linalg.solve(covariance[np.ix_(is_zero, is_zero)], unconstrained[is_zero])
        mean = np.where(is_zero, 0.0, unconstrained - covariance[:, is_zero] @ multipliers)
    if np.abs(mean).sum() <= ROUNDING:
        mean = MIN_SHRINKAGE * prior
    if table.weight_bounds is not None:
        mean = constrain_weights(unconstrained, precision, table.weight_bounds[indices], np.sign(mean), fallback=prior)
    return Posterior(mean, np.sqrt(covariance.diagonal()), label_spread if labels_vary else 0.0, label_mean)


def _prior(table: RatingMatrix, columns: list[int], covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the prior mean and precision of the weights of these columns, given the columns' covariances."""

    def deviation_of_sums(weights: FloatArray) -> float:
        return float(np.sqrt(max(float(weights @ covariances @ weights), 0.0)))  # rounding may make 0 negative

    # The composites: of the holistic columns, of the other judged columns, and of the text features.
    kinds = (table.holistic[columns], ~(table.holistic | table.is_feature)[columns], table.is_feature[columns])
    scaled_composites, kind_weights = [], []
    for kind, kind_weight in zip(kinds, (HOLISTIC_WEIGHT, JUDGED_WEIGHT, FEATURE_WEIGHT), strict=True):
        composite = np.where(kind, table.prior_weights[columns], 0.0)
        total = np.abs(composite).sum()
        if total > 0:
            composite = composite / total
            scaled_composites.append(composite / max(deviation_of_sums(composite), MIN_COMPOSITE_SPREAD))
            kind_weights.append(kind_weight)
    column_precision = len(columns) / WEIGHT_VARIANCE
    if not scaled_composites:
        return np.zeros(len(columns)), column_precision * np.eye(len(columns))
    composites = np.stack(scaled_composites)
    mean = (np.array(kind_weights) / sum(kind_weights)) @ composites
    mean = mean * PRIOR_SPREAD / max(deviation_of_sums(mean), MIN_COMPOSITE_SPREAD)
    # The precision is the inverse of I / column_precision + COMPOSITE_ERROR² · Σ c cᵀ over composites c (Woodbury).
    inner = np.eye(len(composites)) / COMPOSITE_ERROR**2 + column_precision * composites @ composites.T
    shared_precision = column_precision**2 * composites.T @ np.linalg.solve(inner, composites)
    return mean, column_precision * np.eye(len(columns)) - shared_precision


def constrain_weights(
    mean: FloatArray, precision: FloatArray, bounds: FloatArray, default_signs: FloatArray, *, fallback: FloatArray
) -> FloatArray:
    """Return the most probable weights that are within `bounds` when divided by the sum of their absolute values.

    With fixed signs this is a least distance problem over a cone, solved by nonnegative least squares (Lawson & Hanson
    1974, "Solving Least Squares Problems", chapter 23).

    Args:
        mean, precision: of the posterior without bounds, shapes (m,) and (m, m).
        bounds: the lowest and highest share that a person allows each weight, shape (m, 2). If shares that sum to 1
            cannot meet the bounds (a fit without a fold may lack a criterion of fixed weight), the bounds are scaled.
        default_signs: a sign for each weight, shape (m,); used only if the bounds of the weight allow both signs.
        fallback: if the most probable weights are all 0, the weights nearest to `fallback` are returned instead.
    """
    sign = np.select([bounds[:, 0] >= 0, bounds[:, 1] <= 0, default_signs < 0], [1.0, -1.0, -1.0], default=1.0)
    # Bounds of absolute weights. A negative weight's low and high change places; a bound of the wrong sign becomes 0.
    absolute_bounds = np.maximum(np.sort(bounds * sign[:, np.newaxis], axis=1), 0.0)
    low, high = absolute_bounds[:, 0], absolute_bounds[:, 1]
    # If the highest shares sum to less than 1, or the lowest to more, the scale makes this sum 1.
    scale = high.sum() if 0 < high.sum() < 1 else max(low.sum(), 1.0)
    low, high = low / scale, high / scale
    identity = np.eye(len(mean))
    constraints = np.vstack([identity - low[:, np.newaxis], high[:, np.newaxis] - identity])
    signed_precision = precision * np.outer(sign, sign)
    # Find the weights that are nearest to a target by a metric. If all of them are 0, try the next target.
    attempts = ((mean * sign, signed_precision), (fallback * sign, identity), (np.ones(len(mean)), identity))
    for target, metric in attempts:
        absolute = np.maximum(_nearest(target, metric, constraints), 0.0)
        if absolute.sum() > NO_WEIGHT:
            break
    return np.asarray(absolute * sign)


def _nearest(point: FloatArray, metric: FloatArray, constraints: FloatArray) -> FloatArray:
    """Return the point nearest to `point` by `metric` whose products with all `constraints` are at least 0."""
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    root = np.linalg.cholesky(metric).T
    dual = np.vstack([solve_triangular(root, constraints.T, trans="T", lower=False), -constraints @ point])
    target = np.append(np.zeros(len(point)), 1.0)
    residual = dual @ nnls(dual, target)[0] - target
    return np.asarray(point + solve_triangular(root, -residual[:-1] / residual[-1], lower=False))
