"""Interrater reliability: Krippendorff's alpha, Fleiss' kappa and the ceiling for a judge.

Alpha and kappa are corrected for chance: 1 for perfect agreement, 0 for that of random answers. They are undefined
(`None`) below two units with two answers each, or if all these answers are equal.

For the ceiling, a rating is the text's true score, the rater's severity and a residual; if raters are not identified,
severity is part of the residual (cases 2 and 1 of Shrout & Fleiss 1979, "Intraclass correlations: uses in assessing
rater reliability"). Variances are estimated by Henderson's methods (Searle, Casella & McCulloch 1992, "Variance
Components", chapter 5), which are unbiased for any pattern of missing ratings: the residual variance from the fit of
texts and raters (method III), severity as the variance within texts minus the residual. Estimates may be negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from rubriclab.stats.agreement import check_choice
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray
from rubriclab.stats.intervals import (
    MAX_PARTS,
    MIN_GROUPS,
    Interval,
    bundle_units,
    estimate,
    quotient,
    renumber,
    student_interval,
    units,
)

Metric = Literal["nominal", "interval"]

# A smaller share of the sum of squares comes from rounding: all answers are equal.
NO_SPREAD = 1e-12


def krippendorff_alpha(ratings: npt.ArrayLike, metric: Metric, clusters: npt.ArrayLike | None = None) -> Interval:
    """Return Krippendorff's alpha of raters x units answers, with an interval over the units.

    Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". Each answer counts once; units with fewer than two
    are left out. The disagreement of two answers is by `metric` 0 or 1, or the square of their difference.

    Args:
        ratings: shape (raters, units), NaN if missing.
        clusters: the cluster of each unit, an integer; by default every unit is its own.

    Raises:
        ValueError: `ratings` is no matrix or holds infinity, `clusters` does not fit, or `metric` is unknown.
    """
    check_choice("metric", metric, get_args(Metric))
    answers, cluster = _compared_units(ratings, clusters)
    if len(cluster) < 2:
        return Interval(None)
    sizes = (~np.isnan(answers)).sum(axis=0)
    if metric == "nominal":
        # Answers as unit vectors, one dimension for each value: squared distances of different ones are equal.
        sums = _counts(answers)
        squares = sums.sum(axis=0)
    else:
        # Alpha does not depend on origin and unit.
        centered = answers - np.nanmean(answers)
        scaled = np.nan_to_num(centered / (np.nanmax(np.abs(centered)) or 1.0))
        sums, squares = scaled.sum(axis=0, keepdims=True), np.square(scaled).sum(axis=0)
    # Sums of squared deviations are sums of the pairs' disagreements, divided by the number of answers.
    within = (squares - np.square(sums).sum(axis=0) / sizes) * sizes / (sizes - 1)

    def statistic(counts: FloatArray) -> FloatArray:
        weights = counts[:, cluster]
        number, total = weights @ sizes, weights @ squares
        among = total - quotient(np.square(weights @ sums.T).sum(axis=1), number)
        expected = np.where(among > NO_SPREAD * total, among / np.maximum(number - 1, 1), 0.0)
        return 1 - quotient(weights @ within / np.maximum(number, 1), expected)

    return estimate(statistic, int(cluster.max()) + 1, elements=answers.size, correlation=True)


def fleiss_kappa(ratings: npt.ArrayLike, clusters: npt.ArrayLike | None = None) -> Interval:
    """Return Fleiss' kappa of raters x units answers, with an interval over the units.

    Fleiss 1971, "Measuring nominal scale agreement among many raters", on the units with two answers or more, each of
    which counts once. Arguments and errors as for `krippendorff_alpha`.
    """
    answers, cluster = _compared_units(ratings, clusters)
    if len(cluster) < 2:
        return Interval(None)
    counts_of = _counts(answers)
    sizes = counts_of.sum(axis=0)
    apart = 1 - (np.square(counts_of).sum(axis=0) - sizes) / (sizes * (sizes - 1))

    def statistic(counts: FloatArray) -> FloatArray:
        weights = counts[:, cluster]
        number, shares = weights.sum(axis=1), weights @ (counts_of / sizes).T
        among = 1 - np.square(shares / np.maximum(number, 1)[:, np.newaxis]).sum(axis=1)
        return 1 - quotient(quotient(weights @ apart, number), np.where((shares > 0).sum(axis=1) > 1, among, 0))

    return estimate(statistic, int(cluster.max()) + 1, elements=answers.size, correlation=True)


def _compared_units(ratings: npt.ArrayLike, clusters: npt.ArrayLike | None) -> tuple[FloatArray, IntArray]:
    """Return the answers to units with two answers or more, shape (raters, units), and the cluster of each unit."""
    table = _matrix(ratings)
    if np.any(np.isinf(table)):
        raise ValueError("ratings: expected finite answers, or nan where there is none, got infinity")
    number = table.shape[1]
    cluster = np.arange(number) if clusters is None else np.asarray(clusters)
    if cluster.shape != (number,) or cluster.dtype.kind != "i":
        raise ValueError(f"clusters: expected {number} integers, one per unit, got {clusters!r}")
    compared = (~np.isnan(table)).sum(axis=0) >= 2
    return table[:, compared], renumber(cluster[compared])


def _counts(answers: FloatArray) -> FloatArray:
    """Return how often each distinct value is the answer to each unit, shape (values, units)."""
    return np.array([(answers == value).sum(axis=0) for value in np.unique(answers[~np.isnan(answers)])], dtype=float)


def rater_variances(table: FloatArray, *, raters_known: bool) -> tuple[float, float]:
    """Return the variance of the raters' severity, 0 if they are not identified, and of the residual; NaN if undefined.

    `table` has shape (raters, texts), NaN if missing; every text has a rating.
    """
    present = (~np.isnan(table)).astype(np.float64)
    filled = np.nan_to_num(table - np.nanmean(table) if table.size else table)
    sizes, sums, rated = present.sum(axis=0), filled.sum(axis=0), present.sum(axis=1)
    inside = np.square(filled).sum() - (np.square(sums) / sizes).sum()
    within = rest = quotient(inside, sizes.sum() - table.shape[1])
    if raters_known:
        # The mean square of the residuals of a fit of texts and raters, by its normal equations.
        values, vectors = np.linalg.eigh(np.diag(rated) - (present / sizes) @ present.T)
        along = np.square((filled - present * (sums / sizes)).sum(axis=1) @ vectors)
        real = values > 1e-9 * max(rated.max(initial=0), 1)
        explained = (along[real] / values[real]).sum()
        fitted = quotient(np.maximum(inside - explained, 0), (sizes - 1).sum() - real.sum())
        rest = np.where(np.isnan(fitted), within, fitted)
    return float(within - rest), float(rest)


def ceiling(ratings: npt.ArrayLike, groups: npt.ArrayLike | None = None, *, raters_known: bool = True) -> float | None:
    """Return the correlation with the texts' mean ratings of a judge that knows the true scores.

    It is the square root of the means' reliability (Spearman 1904, "The proof and measurement of association between
    two things"): 1 minus the expected noise variance of the means over their variance. If all raters rated all texts,
    reliability is ICC(3,k). Severity is noise only if texts have different raters. The errors of raters are assumed to
    be independent; a bias that raters share, for length say, is part of the true scores.

    Args:
        ratings: shape (raters, texts), NaN if missing.
        groups: integers; correlations are within groups; by default all texts are one group.
        raters_known: whether a row is always the same person.
    """
    table = _matrix(ratings)
    rated = ~np.isnan(table).all(axis=0)
    group = renumber(np.zeros(table.shape[1], dtype=np.int64)[rated] if groups is None else np.asarray(groups)[rated])
    table = table[:, rated]
    severity, rest = rater_variances(table, raters_known=raters_known)
    if not math.isfinite(rest):
        return None
    present = ~np.isnan(table)
    shares = present / present.sum(axis=0)
    means = np.nanmean(table, axis=0) if table.size else np.empty(0)
    texts, alone = np.bincount(group), np.bincount(group, np.square(shares).sum(axis=0))
    spread = float(np.square(means - (np.bincount(group, means) / texts)[group]).sum())
    by_rater = np.array([np.bincount(group, own) for own in shares])
    severity_share = float((alone - np.square(by_rater).sum(axis=0) / texts).sum())
    rest_share = float((alone * (1 - 1 / texts)).sum())
    if not spread > 0:
        return None
    noise = max(0.0, severity) * severity_share + max(0.0, rest) * rest_share
    return math.sqrt(max(0.0, 1 - noise / spread))


def ceiling_interval(
    ratings: npt.ArrayLike, groups: Sequence[str], *, within: bool, raters_known: bool = True
) -> Interval:
    """Return the `ceiling` of correlations within groups or over all texts, with its jackknife interval over groups."""
    table, unit = np.asarray(ratings, dtype=np.float64), units(groups)
    group = renumber(np.array(groups, dtype=str)) if within else np.zeros(len(groups), dtype=np.int64)
    part = bundle_units(unit, MAX_PARTS, seed=0)

    def of(texts: BoolArray) -> float | None:
        return ceiling(table[:, texts], group[texts], raters_known=raters_known)

    value = of(np.ones(len(groups), dtype=bool))
    if value is None or unit.max() + 1 < MIN_GROUPS:
        return Interval(value)
    without = np.array([of(part != left_out) for left_out in range(part.max() + 1)], dtype=np.float64)
    return student_interval(value, without, correlation=True).within(0, 1)


def _matrix(ratings: npt.ArrayLike) -> FloatArray:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings: expected a matrix of raters x texts, got shape {table.shape}")
    return table
