"""Agreement of raters with each other: Krippendorff's alpha, and the ceiling that their noise sets for a judge.

Alpha is corrected for chance: 1 is perfect agreement, 0 is the agreement of random ratings. It is undefined (`None`)
if fewer than two units, such as texts, have two or more ratings, or if all these ratings are equal.

For the ceiling, a rating is the sum of the text's true score, the rater's severity and a residual (case 2 of Shrout &
Fleiss 1979, "Intraclass correlations: uses in assessing rater reliability"). If raters are not identified, severity is
part of the residual (case 1). Variances are estimated by Henderson's methods (Searle, Casella & McCulloch 1992,
"Variance Components", chapter 5), which are unbiased for any pattern of missing ratings. The residual variance comes
from the fit of texts and raters (method III), the variance of severity is the variance within texts minus the residual
variance. Estimates may be negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from rubriclab.stats import intervals
from rubriclab.stats.correlation import BoolArray, FloatArray

Metric = Literal["nominal", "interval"]

# Ratings count as equal if the sum of their squared deviations is at most this share of the sum of their squares.
MIN_SQUARES_SHARE = 1e-12


def krippendorff_alpha(
    ratings: npt.ArrayLike, metric: Metric, groups: Sequence[str] | None = None
) -> intervals.Interval:
    """Return Krippendorff's alpha with its confidence interval, by the jackknife over groups of texts.

    Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". Units with fewer than two ratings are left out. Two
    different ratings disagree by 1 with the metric "nominal", by their squared difference with "interval".

    Args:
        ratings: shape (raters, units), NaN if missing. A unit is a text; with several criteria, the units are all texts
            for the first criterion, then all texts for the second, and so on.
        groups: the group of each text; if all compared texts are in one group, as by default, each is left out alone.
    """
    table = np.asarray(ratings, dtype=np.float64)
    group_names = np.array([""] * table.shape[1] if groups is None else groups, dtype=str)
    is_compared = (~np.isnan(table)).sum(axis=0) >= 2
    if is_compared.sum() < 2:
        return intervals.Interval(None)
    table = table[:, is_compared]
    texts, text_of_unit = np.unique(np.flatnonzero(is_compared) % len(group_names), return_inverse=True)
    cluster_of_unit = intervals.cluster_numbers(group_names[texts].tolist())[text_of_unit]
    n_ratings = (~np.isnan(table)).sum(axis=0)
    if metric == "nominal":
        # Each rating is a vector with a 1 in its value's dimension, so all different ratings have the same distance.
        values = np.unique(table[~np.isnan(table)])
        sums = np.array([(table == value).sum(axis=0) for value in values], dtype=float)
        squares = sums.sum(axis=0)
    else:
        # Centered and scaled so that no square overflows; adding or multiplying by a constant does not change alpha.
        centered = table - np.nanmean(table)
        scaled = np.nan_to_num(centered / (np.nanmax(np.abs(centered)) or 1.0))
        sums, squares = scaled.sum(axis=0, keepdims=True), np.square(scaled).sum(axis=0)
    # Squared deviations from the unit's mean, times `n_ratings`, are the sum of the squared differences of all pairs.
    squared_differences = (squares - np.square(sums).sum(axis=0) / n_ratings) * n_ratings
    pair_disagreements = squared_differences / (n_ratings - 1)

    def statistic(cluster_weights: FloatArray) -> FloatArray:
        weights = cluster_weights[:, cluster_of_unit]
        n, total_squares = weights @ n_ratings, weights @ squares
        squared_deviations = total_squares - intervals.quotient(np.square(weights @ sums.T).sum(axis=1), n)
        variance = squared_deviations / np.maximum(n - 1, 1)
        expected = np.where(squared_deviations > MIN_SQUARES_SHARE * total_squares, variance, 0.0)
        return 1 - intervals.quotient(weights @ pair_disagreements / np.maximum(n, 1), expected)

    return intervals.estimate(statistic, int(cluster_of_unit.max()) + 1, n_values=table.size, is_correlation=True)


def rater_variances(table: FloatArray, *, raters_known: bool) -> tuple[float, float]:
    """Return the variances of the raters' severity (0 unless `raters_known`) and of the residual, NaN if undefined.

    `table` has shape (raters, texts), NaN if missing; every text has a rating.
    """
    has_rating = (~np.isnan(table)).astype(np.float64)
    filled = np.nan_to_num(table - np.nanmean(table) if table.size else table)
    n_ratings, sums = has_rating.sum(axis=0), filled.sum(axis=0)
    within_squares = np.square(filled).sum() - (np.square(sums) / n_ratings).sum()
    within_variance = residual = intervals.quotient(within_squares, n_ratings.sum() - table.shape[1])
    if raters_known:
        # The residual mean square after fitting effects of texts and raters, by the normal equations.
        n_by_rater = has_rating.sum(axis=1)
        eigenvalues, eigenvectors = np.linalg.eigh(np.diag(n_by_rater) - (has_rating / n_ratings) @ has_rating.T)
        projected = np.square((filled - has_rating * (sums / n_ratings)).sum(axis=1) @ eigenvectors)
        nonzero = eigenvalues > 1e-9 * max(n_by_rater.max(initial=0), 1)
        unexplained = np.maximum(within_squares - (projected[nonzero] / eigenvalues[nonzero]).sum(), 0)
        mean_square = intervals.quotient(unexplained, (n_ratings - 1).sum() - nonzero.sum())
        residual = np.where(np.isnan(mean_square), within_variance, mean_square)
    return float(within_variance - residual), float(residual)


def ceiling(ratings: npt.ArrayLike, groups: npt.ArrayLike | None = None, *, raters_known: bool = True) -> float | None:
    """Return the correlation of the texts' true scores with their mean ratings, which bounds what a judge can reach.

    It is the square root of the reliability of the means (Spearman 1904, "The proof and measurement of association
    between two things"). Reliability is 1 minus the means' expected noise variance divided by the means' variance. In
    one group it is ICC(3,k) if all raters rated all texts, ICC(1,k) if raters are unknown. A rater's severity is noise
    only if different texts have different raters. Raters' errors are assumed independent; a bias that all share counts
    as true.

    Args:
        ratings: shape (raters, texts), NaN if missing.
        groups: the group of each text, an integer; correlations are within groups. By default there is one group.
        raters_known: whether each row holds the ratings of one person.
    """
    table = np.asarray(ratings, dtype=np.float64)
    is_rated = ~np.isnan(table).all(axis=0)
    all_groups = np.zeros(table.shape[1]) if groups is None else np.asarray(groups)
    table, group = table[:, is_rated], intervals.renumber(all_groups[is_rated])
    severity, residual = rater_variances(table, raters_known=raters_known)
    if not math.isfinite(residual):
        return None
    present = ~np.isnan(table)
    rating_weights = present / present.sum(axis=0)  # the weight of each rating in its text's mean
    means = np.nanmean(table, axis=0) if table.size else np.empty(0)
    group_sizes, squared_weights = np.bincount(group), np.bincount(group, np.square(rating_weights).sum(axis=0))
    squared_deviations = float(np.square(means - (np.bincount(group, means) / group_sizes)[group]).sum())
    rater_weights = np.array([np.bincount(group, weights) for weights in rating_weights])
    severity_factor = float((squared_weights - np.square(rater_weights).sum(axis=0) / group_sizes).sum())
    residual_factor = float((squared_weights * (1 - 1 / group_sizes)).sum())
    if not squared_deviations > 0:
        return None
    noise = max(0.0, severity) * severity_factor + max(0.0, residual) * residual_factor
    return math.sqrt(max(0.0, 1 - noise / squared_deviations))


def ceiling_interval(
    ratings: npt.ArrayLike, groups: Sequence[str], *, within_groups: bool, raters_known: bool = True
) -> intervals.Interval:
    """Return the `ceiling` of correlations within groups or over all texts, with its jackknife interval over groups."""
    table, cluster_of_text = np.asarray(ratings, dtype=np.float64), intervals.cluster_numbers(groups)
    group = intervals.renumber(np.array(groups, dtype=str)) if within_groups else np.zeros(len(groups), dtype=np.int64)
    jackknife_part = intervals.bundle_clusters(cluster_of_text, intervals.MAX_PARTS, seed=0)

    def ceiling_of(is_used: BoolArray) -> float | None:
        return ceiling(table[:, is_used], group[is_used], raters_known=raters_known)

    value = ceiling_of(np.ones(len(groups), dtype=bool))
    ceilings = [ceiling_of(jackknife_part != part) for part in range(jackknife_part.max(initial=-1) + 1)]
    return intervals.jackknife_interval(value, np.array(ceilings, dtype=float), is_correlation=True).within(0, 1)
