"""Interrater reliability: Krippendorff's alpha, Fleiss' kappa, intraclass correlations and the ceiling for a judge.

**Alpha and kappa.** Answers are a matrix of raters by units, nan if missing. All coefficients are corrected for chance:
1 for perfect agreement, 0 for the agreement of random answers, negative for less.

A coefficient is undefined (`None`) with fewer than two units with two answers each (a single unit always gives 0), or
if all their answers are equal: no disagreement is then expected by chance, and the raters have not shown that they can
distinguish units.

For nominal data without missing answers, alpha = kappa + (1 - kappa) / n for Fleiss' kappa and n answers in total: with
thousands of answers the two are equal.

**Intraclass correlations.** Ratings are a matrix of raters by texts, nan if missing, modelled as the text's true score,
the rater's severity, and a residual. If raters are not identified, severity is part of the residual (case 1 of Shrout &
Fleiss 1979, "Intraclass correlations: uses in assessing rater reliability", instead of case 2).

Variances are estimated by Henderson's methods (Searle, Casella & McCulloch 1992, "Variance Components", chapter 5):
sums of squares are equated to their expectations, which is unbiased for any pattern of missing ratings. The residual
variance is from the fit of texts and raters (method III), so that it does not depend on which raters rated which group;
severity is the variance within texts minus the residual. Without missing ratings this is the analysis of variance of
Shrout & Fleiss. Estimates may be negative, as in theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from rubriclab.stats.agreement import check_choice
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray
from rubriclab.stats.intervals import (
    MAX_PARTS,
    MIN_GROUPS,
    Interval,
    Statistic,
    bundle_units,
    estimate,
    quotient,
    renumber,
    student_interval,
    units,
)

Metric = Literal["nominal", "interval"]


def krippendorff_alpha(ratings: npt.ArrayLike, metric: Metric, clusters: npt.ArrayLike | None = None) -> Interval:
    """Krippendorff's alpha of raters x units answers, with an interval over the units.

    Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". Units with fewer than two answers are left out, and
    each answer counts once, regardless of the number of answers to its unit. Disagreement of two answers, by `metric`:

    - ``nominal``: 0 if they are equal, else 1;
    - ``interval``: the square of their difference.

    Args:
        ratings: shape (raters, units), nan if missing.
        metric: level of measurement of the answers.
        clusters: the cluster of each unit, numbered from 0; by default every unit is its own.

    Raises:
        ValueError: `ratings` is no matrix or holds infinity, `clusters` does not fit, or an option is out of range.
    """
    check_choice("metric", metric, get_args(Metric))
    answers = _Answers(ratings, clusters)
    # Scaled to [0, 1]; alpha does not depend on the unit of the values.
    span = answers.values[-1:] - answers.values[:1]
    points = ((answers.values - answers.values[:1]) / np.where(span > 0, span, 1.0))[np.newaxis]

    def statistic(counts: FloatArray) -> FloatArray:
        drawn = answers.drawn(counts)
        totals = answers.totals(drawn)
        n = totals.sum(axis=1)
        if metric == "nominal":
            within, among = answers.unequal, n**2 - np.square(totals).sum(axis=1)
        else:
            means = (totals * points).sum(axis=1) / np.maximum(n, 1)
            within = answers.squares(points)
            among = 2 * n * (totals * np.square(points - means[:, np.newaxis])).sum(axis=1)
        # Both are sums over pairs: within units each pair weighs 1 / (answers - 1), among all answers 1 / (n - 1).
        disagreement = (drawn * within / (answers.sizes - 1)).sum(axis=1) * (n - 1)
        return 1 - quotient(disagreement, np.where((totals > 0).sum(axis=1) > 1, among, 0))

    return answers.estimate(statistic)


def fleiss_kappa(ratings: npt.ArrayLike, clusters: npt.ArrayLike | None = None) -> Interval:
    """Fleiss' kappa of raters x units answers, with an interval over the units.

    Fleiss 1971, "Measuring nominal scale agreement among many raters", on the units with two answers or more. Observed
    agreement is the mean share of agreeing pairs; the probability of a category is its mean share of answers. Each of
    these units counts once, regardless of its number of answers.

    Gwet 2014, "Handbook of Inter-Rater Reliability", chapter 2, estimates these probabilities from units with a single
    answer too. If such units differ from the others, observed and expected agreement are about different units, and
    kappa is meaningless; alpha leaves them out as well.
    Arguments and errors as for `krippendorff_alpha`.
    """
    answers = _Answers(ratings, clusters)
    apart = answers.unequal / (answers.sizes * (answers.sizes - 1))

    def statistic(counts: FloatArray) -> FloatArray:
        drawn = answers.drawn(counts)
        units = drawn.sum(axis=1)
        shares = answers.totals(drawn / answers.sizes)
        among = 1 - np.square(shares / np.maximum(units, 1)[:, np.newaxis]).sum(axis=1)
        varied = (answers.totals(drawn) > 0).sum(axis=1) > 1
        return 1 - quotient(quotient(drawn @ apart, units), np.where(varied, among, 0))

    return answers.estimate(statistic)


class _Answers:
    """The answers to each unit with two answers or more; units with the same answers, in any order of raters, are one
    pattern.

    Attributes:
        cluster: of each unit, numbered without gaps.
        number: of answers and missing answers.
        values: the distinct values, ascending.
        codes: index of each answer among the values, shape (patterns, raters); meaningless unless `present`.
        sizes: how many answers each pattern has.
        drawn: maps cluster counts to pattern counts.
        totals: maps pattern counts to the total of each value.
    """

    def __init__(self, ratings: npt.ArrayLike, clusters: npt.ArrayLike | None) -> None:
        table = _matrix(ratings)
        if np.any(np.isinf(table)):
            raise ValueError("ratings: expected finite answers, or nan where there is none, got infinity")
        units = table.shape[1]
        cluster = np.arange(units) if clusters is None else np.asarray(clusters)
        if cluster.shape != (units,) or cluster.dtype.kind != "i" or np.any(cluster < 0):
            raise ValueError(f"clusters: expected {units} integers of at least 0, one per unit, got {clusters!r}")
        compared = (~np.isnan(table)).sum(axis=0) >= 2
        self.cluster, self.number = renumber(cluster[compared]), table[:, compared].size
        ordered = np.sort(table[:, compared], axis=0)  # nan last
        answered = ~np.isnan(ordered)
        self.values, inverse = np.unique(ordered[answered], return_inverse=True)
        codes = np.full(ordered.shape, -1)
        codes[answered] = inverse
        self.codes, pattern = np.unique(codes.T, axis=0, return_inverse=True)
        self.present = self.codes >= 0
        self.sizes = self.present.sum(axis=1).astype(np.float64)
        owner = np.broadcast_to(np.arange(len(self.codes))[:, np.newaxis], self.codes.shape)
        self.drawn = _column_sums(self.cluster, pattern.ravel())
        self.totals = _column_sums(owner[self.present], self.codes[self.present])

    @cached_property
    def unequal(self) -> FloatArray:
        """How many ordered pairs of each pattern's answers differ."""
        apart = self.codes[:, :, np.newaxis] != self.codes[:, np.newaxis, :]
        both = self.present[:, :, np.newaxis] & self.present[:, np.newaxis, :]
        return np.asarray((apart & both).sum(axis=(1, 2), dtype=np.float64))

    def squares(self, points: FloatArray) -> FloatArray:
        """Return squared differences summed over the ordered pairs of each pattern's answers, shape (rows, patterns).

        `points` are the positions of the values, shape (rows, values).
        """
        placed = np.take(points, self.codes, axis=1) * self.present
        means = placed.sum(axis=2) / self.sizes
        deviations = (placed - means[:, :, np.newaxis]) * self.present
        return np.asarray(2 * self.sizes * np.square(deviations).sum(axis=2))

    def estimate(self, statistic: Statistic) -> Interval:
        """Return a coefficient with its interval; undefined below two units."""
        if len(self.cluster) < 2:
            return Interval(None)
        clusters = int(self.cluster.max()) + 1
        return estimate(statistic, clusters, elements=self.number, correlation=True)


def _column_sums(columns: IntArray, groups: IntArray) -> Statistic:
    """Return what sums these columns of an array by group, for many rows at once."""
    order, sizes = np.argsort(groups, kind="stable"), np.bincount(groups)
    columns, starts = columns[order], np.cumsum(sizes) - sizes
    return lambda rows: np.asarray(np.add.reduceat(np.take(rows, columns, axis=1), starts, axis=1))


def rater_variances(table: FloatArray, *, raters_known: bool) -> tuple[float, float]:
    """Return the variance of the raters' severity, 0 if they are not identified, and of the residual; nan if undefined.

    Args:
        table: shape (raters, texts), nan if missing; every text has a rating.
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

    It is the square root of the reliability of the means (Spearman 1904, "The proof and measurement of association
    between two things"), the share of their variance that is not noise: 1 minus the expected noise variance of the
    means over their variance. If all raters rated all texts, reliability is ICC(3,k), that is Cronbach's alpha and
    Spearman-Brown's formula for k raters. Severity is noise only if texts have different raters, as a constant does not
    affect a correlation.

    The errors of raters are assumed to be independent of each other and of the judge. A shared bias, for length say, is
    part of the true scores: only a judge with the same bias can reach the ceiling.

    Args:
        ratings: shape (raters, texts), nan if missing.
        groups: integers; correlations are within groups; by default all texts are one group.
        raters_known: whether a row is always the same person.

    Raises:
        ValueError: `ratings` is no matrix.
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
    by_rater = _column_sums(np.arange(len(group)), group)(shares)
    severity_share = float((alone - np.square(by_rater).sum(axis=0) / texts).sum())
    rest_share = float((alone * (1 - 1 / texts)).sum())
    if not spread > 0:
        return None
    noise = max(0.0, severity) * severity_share + max(0.0, rest) * rest_share
    return math.sqrt(max(0.0, 1 - noise / spread))


def ceiling_interval(
    ratings: npt.ArrayLike, groups: Sequence[str], *, within: bool, raters_known: bool = True
) -> Interval:
    """Return the ceiling of correlations, `within` groups or over all texts, with its jackknife interval over groups.

    Other arguments and errors as for `ceiling`.
    """
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
