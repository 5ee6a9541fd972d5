"""Interrater reliability: Krippendorff's alpha and Fleiss' kappa.

Answers are a matrix of raters by units, nan if missing. All coefficients are corrected for chance: 1 for perfect
agreement, 0 for the agreement of random answers, negative for less.

A coefficient is undefined (`None`) with fewer than two units with two answers each (a single unit always gives 0), or
if all their answers are equal: no disagreement is then expected by chance, and the raters have not shown that they can
distinguish units.

For nominal data without missing answers, alpha = kappa + (1 - kappa) / n for Fleiss' kappa and n answers in total: with
thousands of answers the two are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import renumbered
from rubriclab.stats.interval import Interval
from rubriclab.stats.jackknife import CONFIDENCE, Statistic, estimate
from rubriclab.stats.levels import check_choice

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
