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
severity is the variance within texts minus the residual; the variance of texts is from their totals (method I). Without
missing ratings this is the analysis of variance of Shrout & Fleiss. Estimates may be negative, as in theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from rubriclab.stats.agreement import check_choice
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray
from rubriclab.stats.intervals import (
    CONFIDENCE,
    FEWEST_GROUPS,
    MOST_PARTS,
    Interval,
    Statistic,
    bundled,
    estimate,
    renumbered,
    student_interval,
    unit_sums,
    units,
)

Metric = Literal["nominal", "interval"]

NOTHING = Interval(None)


def krippendorff_alpha(
    ratings: npt.ArrayLike,
    metric: Metric,
    clusters: npt.ArrayLike | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Krippendorff's alpha of raters x units answers, with an interval over the units.

    Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". Units with fewer than two answers are left out, and
    each answer counts once, regardless of the number of answers to its unit. Disagreement of two answers, by `metric`:

    - ``nominal``: 0 if they are equal, else 1;
    - ``interval``: the square of their difference.

    Args:
        ratings: shape (raters, units), nan if missing.
        metric: level of measurement of the answers.
        clusters: the cluster of each unit, numbered from 0; by default every unit is its own.
        confidence: of the interval.

    Raises:
        ValueError: `ratings` is no matrix or holds infinity, `clusters` does not fit, or an option is out of range.
    """
    check_choice("metric", metric, get_args(Metric))
    table, cluster = _compared(ratings, clusters)
    if table.shape[1] < 2:
        return NOTHING
    answers = _answers(table, cluster)
    return _estimate(_alpha(answers, metric), cluster, table.size, confidence)


def fleiss_kappa(
    ratings: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Fleiss' kappa of raters x units answers, with an interval over the units.

    Fleiss 1971, "Measuring nominal scale agreement among many raters", on the units with two answers or more. Observed
    agreement is the mean share of agreeing pairs; the probability of a category is its mean share of answers. Each of
    these units counts once, regardless of its number of answers.

    Gwet 2014, "Handbook of Inter-Rater Reliability", chapter 2, estimates these probabilities from units with a single
    answer too. If such units differ from the others, observed and expected agreement are about different units, and
    kappa is meaningless; alpha leaves them out as well.
    Arguments and errors as for `krippendorff_alpha`.
    """
    table, cluster = _compared(ratings, clusters)
    if table.shape[1] < 2:
        return NOTHING
    answers = _answers(table, cluster)
    return _estimate(_fleiss(answers), cluster, table.size, confidence)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of columns by group, for many rows at once."""

    columns: IntArray
    starts: IntArray

    def __call__(self, rows: FloatArray) -> FloatArray:
        sums: FloatArray = np.add.reduceat(np.take(rows, self.columns, axis=1), self.starts, axis=1)
        return sums


@dataclass(frozen=True, eq=False)
class _Answers:
    """The answers to each unit; units with the same answers, in any order of raters, are one pattern."""

    values: FloatArray
    """The distinct values, ascending."""
    codes: IntArray
    """Index of each answer among the values, shape (patterns, raters); meaningless unless `present`."""
    present: npt.NDArray[np.bool_]
    sizes: FloatArray
    """How many answers each pattern has."""
    drawn: _Sums
    """Maps cluster counts to pattern counts."""
    totals: _Sums
    """Maps pattern counts to the total of each value."""

    @property
    def unequal(self) -> FloatArray:
        """How many ordered pairs of each pattern's answers differ."""
        apart = self.codes[:, :, np.newaxis] != self.codes[:, np.newaxis, :]
        both = self.present[:, :, np.newaxis] & self.present[:, np.newaxis, :]
        unequal: FloatArray = (apart & both).sum(axis=(1, 2), dtype=np.float64)
        return unequal

    def squares(self, points: FloatArray) -> FloatArray:
        """Squared differences summed over the ordered pairs of each pattern's answers, shape (rows, patterns).

        `points` are the positions of the values, shape (rows, values).
        """
        placed = np.take(points, self.codes, axis=1) * self.present
        means = placed.sum(axis=2) / self.sizes
        deviations = (placed - means[:, :, np.newaxis]) * self.present
        squares: FloatArray = 2 * self.sizes * np.square(deviations).sum(axis=2)
        return squares


def _answers(table: FloatArray, cluster: IntArray) -> _Answers:
    ordered = np.sort(table, axis=0)  # nan last
    present = ~np.isnan(ordered)
    values, inverse = np.unique(ordered[present], return_inverse=True)
    codes = np.full(ordered.shape, -1)
    codes[present] = inverse
    patterns, pattern = np.unique(codes.T, axis=0, return_inverse=True)
    present = patterns >= 0
    owner = np.broadcast_to(np.arange(len(patterns))[:, np.newaxis], patterns.shape)
    return _Answers(
        values,
        patterns,
        present,
        present.sum(axis=1).astype(np.float64),
        _sums(cluster, pattern.ravel()),
        _sums(owner[present], patterns[present]),
    )


def _sums(columns: IntArray, groups: IntArray) -> _Sums:
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    return _Sums(columns[order], np.cumsum(sizes) - sizes)


def _alpha(answers: _Answers, metric: Metric) -> Statistic:
    unequal = answers.unequal
    places = _unit_range(answers.values)[np.newaxis]

    def statistic(counts: FloatArray) -> FloatArray:
        drawn = answers.drawn(counts)
        totals = answers.totals(drawn)
        n = totals.sum(axis=1)
        if metric == "nominal":
            within, among = unequal, n**2 - np.square(totals).sum(axis=1)
        else:
            within, among = answers.squares(places), _squares_among(places, totals)
        # Both are sums over pairs: within units each pair weighs 1 / (answers - 1), among all answers 1 / (n - 1).
        disagreement = (drawn * within / (answers.sizes - 1)).sum(axis=1) * (n - 1)
        return 1 - _ratio(disagreement, among, _varied(totals) & (among > 0))

    return statistic


def _fleiss(answers: _Answers) -> Statistic:
    apart = answers.unequal / (answers.sizes * (answers.sizes - 1))

    def statistic(counts: FloatArray) -> FloatArray:
        drawn = answers.drawn(counts)
        units = drawn.sum(axis=1)
        shares = answers.totals(drawn / answers.sizes)
        among = 1 - np.square(shares / np.maximum(units, 1)[:, np.newaxis]).sum(axis=1)
        disagreement = _ratio(drawn @ apart, units, units > 0)
        return 1 - _ratio(disagreement, among, _varied(answers.totals(drawn)))

    return statistic


def _squares_among(points: FloatArray, totals: FloatArray) -> FloatArray:
    """Squared differences summed over the ordered pairs of all answers, shape (rows,)."""
    n = totals.sum(axis=1)
    means = (totals * points).sum(axis=1) / np.maximum(n, 1)
    squares: FloatArray = 2 * n * (totals * np.square(points - means[:, np.newaxis])).sum(axis=1)
    return squares


def _varied(totals: FloatArray) -> npt.NDArray[np.bool_]:
    varied: npt.NDArray[np.bool_] = (totals > 0).sum(axis=1) > 1
    return varied


def _ratio(above: FloatArray, below: FloatArray | IntArray, defined: npt.NDArray[np.bool_]) -> FloatArray:
    ratio = np.full(above.shape, np.nan)
    np.divide(above, below, out=ratio, where=defined)
    return ratio


def _unit_range(values: FloatArray) -> FloatArray:
    """The values scaled to [0, 1]; alpha does not depend on their unit."""
    span = values[-1:] - values[:1]
    scaled: FloatArray = (values - values[:1]) / np.where(span > 0, span, 1.0)
    return scaled


def _estimate(statistic: Statistic, cluster: IntArray, size: int, confidence: float) -> Interval:
    clusters = int(cluster.max(initial=-1)) + 1
    return estimate(statistic, clusters, elements=size, correlation=True, confidence=confidence)


def _compared(ratings: npt.ArrayLike, clusters: npt.ArrayLike | None) -> tuple[FloatArray, IntArray]:
    """Return the units with two answers or more, and their clusters, numbered without gaps."""
    table, cluster = _table(ratings), _clusters(ratings, clusters)
    compared = (~np.isnan(table)).sum(axis=0) >= 2
    return table[:, compared], renumbered(cluster[compared])


def _table(ratings: npt.ArrayLike) -> FloatArray:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings: expected a matrix of raters x units, got shape {table.shape}")
    if np.any(np.isinf(table)):
        raise ValueError("ratings: expected finite answers, or nan where there is none, got infinity")
    return table


def _clusters(ratings: npt.ArrayLike, clusters: npt.ArrayLike | None) -> IntArray:
    units = np.shape(ratings)[1]
    if clusters is None:
        return np.arange(units)
    cluster = np.asarray(clusters)
    if cluster.shape != (units,) or cluster.dtype.kind != "i" or np.any(cluster < 0):
        raise ValueError(f"clusters: expected {units} integers of at least 0, one per unit, got {clusters!r}")
    return cluster.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Variances:
    """Variance components of ratings, shape (resamples,) each, nan if undefined.

    Attributes:
        text: of the texts' true scores.
        rater: of severity; 0 if raters are not identified.
        rest: of the residual.
    """

    text: FloatArray
    rater: FloatArray
    rest: FloatArray


def variances(ratings: npt.ArrayLike, *, raters_known: bool = True) -> Variances:
    """Return the variance components of the ratings, shape (1,) each.

    Raises:
        ValueError: `ratings` is no matrix.
    """
    table, _ = _rated(ratings, None)
    return _variances(table, np.ones((1, table.shape[1])), raters_known)


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
    table, group = _rated(ratings, groups if groups is not None else np.zeros(np.shape(ratings)[1], dtype=np.int64))
    components = variances(table, raters_known=raters_known)
    if not math.isfinite(components.rest[0]):
        return None
    rater, rest = (max(0.0, float(part[0])) for part in (components.rater, components.rest))
    present = ~np.isnan(table)
    shares = present / present.sum(axis=0)
    means = np.nanmean(table, axis=0) if table.size else np.empty(0)
    texts, alone = np.bincount(group), np.bincount(group, np.square(shares).sum(axis=0))
    spread = float(np.square(means - (np.bincount(group, means) / texts)[group]).sum())
    severity_share = float((alone - np.square(unit_sums(shares.T, group)).sum(axis=1) / texts).sum())
    rest_share = float((alone * (1 - 1 / texts)).sum())
    if not spread > 0:
        return None
    return math.sqrt(max(0.0, 1 - (rater * severity_share + rest * rest_share) / spread))


def ceiling_interval(
    ratings: npt.ArrayLike, groups: Sequence[str], *, within: bool, raters_known: bool = True
) -> Interval:
    """Return the ceiling of correlations, `within` groups or over all texts, with its jackknife interval over groups.

    Other arguments and errors as for `ceiling`.
    """
    table, unit = np.asarray(ratings, dtype=np.float64), units(groups)
    group = renumbered(np.array(groups, dtype=str)) if within else np.zeros(len(groups), dtype=np.int64)
    part = bundled(unit, MOST_PARTS, seed=0)

    def of(texts: BoolArray) -> float | None:
        return ceiling(table[:, texts], group[texts], raters_known=raters_known)

    value = of(np.ones(len(groups), dtype=bool))
    if value is None or unit.max() + 1 < FEWEST_GROUPS:
        return Interval(value)
    without = np.array([of(part != left_out) for left_out in range(part.max() + 1)], dtype=np.float64)
    return student_interval(value, without, correlation=True).within(0, 1)


def _variances(table: FloatArray, weights: FloatArray, raters_known: bool) -> Variances:
    """The variance components if text i counts `weights[:, i]` times."""
    present = (~np.isnan(table)).astype(np.float64)
    filled = np.nan_to_num(table - np.nanmean(table) if table.size else table)
    ratings, sums = present.sum(axis=0), filled.sum(axis=0)
    n, texts = weights @ ratings, weights.sum(axis=1)
    total = weights @ (np.square(sums) / ratings)
    inside = weights @ np.square(filled).sum(axis=0) - total
    among = total - _quotient(np.square(weights @ sums), n)
    within = _quotient(inside, n - texts)
    rest = _left_over(filled, present, weights, inside) if raters_known else within
    rest = np.where(np.isnan(rest), within, rest)
    severity = within - rest
    shared = texts - _quotient(np.square(weights @ present.T).sum(axis=1), n)
    spread = n - _quotient(weights @ np.square(ratings), n)
    return Variances(_quotient(among - severity * shared - rest * (texts - 1), spread), severity, rest)


def _left_over(filled: FloatArray, present: FloatArray, weights: FloatArray, inside: FloatArray) -> FloatArray:
    """The mean square of the residuals of a fit of texts and raters; nan without degrees of freedom."""
    ratings, sums = present.sum(axis=0), filled.sum(axis=0)
    met = (present * (weights / ratings)[:, np.newaxis, :]) @ present.T
    rated = weights @ present.T
    normal = rated[:, :, np.newaxis] * np.eye(len(present)) - met
    beyond = weights @ (filled - present * (sums / ratings)).T
    values, vectors = np.linalg.eigh(normal)
    real = values > 1e-9 * np.maximum(rated.max(axis=1, initial=0), 1)[:, np.newaxis]
    along = np.square((beyond[:, np.newaxis, :] @ vectors)[:, 0, :])
    explained = np.where(real, along / np.where(real, values, 1), 0).sum(axis=1)
    freedom = weights @ (ratings - 1) - real.sum(axis=1)
    return _quotient(np.maximum(inside - explained, 0), freedom)


def _quotient(above: FloatArray, below: FloatArray) -> FloatArray:
    """Quotients, nan if the denominator is 0 up to rounding."""
    ratio = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=ratio, where=np.abs(below) > 1e-12)
    return ratio


def _rated(ratings: npt.ArrayLike, clusters: npt.ArrayLike | None) -> tuple[FloatArray, IntArray]:
    """Return the ratings of texts with any, and the clusters of these texts, numbered from 0."""
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings: expected a matrix of raters x texts, got shape {table.shape}")
    kept = ~np.isnan(table).all(axis=0)
    cluster = np.arange(table.shape[1]) if clusters is None else np.asarray(clusters)
    return table[:, kept], np.unique(cluster[kept], return_inverse=True)[1]
