"""How far raters who rate the same units give the same answers: Krippendorff's alpha, Fleiss' and weighted kappa.

Answers come as a matrix of raters by units, nan where a rater gave none. Every figure is chance-corrected: 1 where all
agree, 0 where they agree as often as answers dealt out at random would, below 0 where less often.

A figure is undefined, and None, where there is nothing to correct for: fewer than two units with two answers each (a
single unit always gives 0), or only equal answers to such units. No disagreement is then expected by chance, and
raters who give everything the same answer have not shown that they can tell units apart; that is neither 1 nor 0. A
resample of the bootstrap in which all answers are equal is left out.

For nominal data without missing answers, alpha = kappa + (1 - kappa) / n for Fleiss' kappa and n answers in all: on
thousands of answers the two are one figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from rubriclab.stats.bootstrap import Statistic, batch_size, estimate
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.interval import Interval

Metric = Literal["nominal", "ordinal", "interval"]
Weights = Literal["linear", "quadratic"]

NOTHING = Interval(None)
POWERS: dict[Weights, int] = {"linear": 1, "quadratic": 2}


def krippendorff_alpha(
    ratings: npt.ArrayLike,
    metric: Metric,
    clusters: npt.ArrayLike | None = None,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Krippendorff's alpha of raters x units answers, with a bootstrap interval over the units.

    Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". Units with fewer than two answers are left out,
    and each answer counts once, however many its unit has. Disagreement between two answers is, by `metric`,

    - ``nominal``: 0 if they are equal, else 1;
    - ``interval``: the square of their difference;
    - ``ordinal``: the square of the difference of their average ranks among all answers, which is Krippendorff's sum
      over the ranks between them.

    Args:
        ratings: shape (raters, units), nan where missing.
        metric: what the answers are compared as.
        clusters: for each unit the number, from 0, of what it is drawn with; by default every unit is its own.
        resamples: resamples of the bootstrap; 0 leaves the interval out.
        confidence: share of the resamples that lies within the interval.
        seed: equal seeds and numbers of clusters give equal resamples, so that figures are paired.

    Raises:
        ValueError: `ratings` is no matrix or holds infinity, `clusters` does not fit, or an option is out of range.
    """
    _check("metric", metric, get_args(Metric))
    table, cluster = _table(ratings), _clusters(ratings, clusters)
    paired = (~np.isnan(table)).sum(axis=0) >= 2
    if paired.sum() < 2:
        return NOTHING
    answers = _answers(table[:, paired], cluster[paired])
    return _estimate(
        _alpha(answers, metric), cluster, table.size, resamples=resamples, confidence=confidence, seed=seed
    )


def fleiss_kappa(
    ratings: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Fleiss' kappa of raters x units answers, with a bootstrap interval over the units.

    Fleiss 1971, "Measuring nominal scale agreement among many raters", on the units with two answers or more: observed
    agreement is the mean over them of the share of agreeing pairs, a category's chance the mean over them of the share
    of answers in it. So each of these units counts once, however many answers it has.

    Gwet 2014, "Handbook of Inter-Rater Reliability", chapter 2, takes chance from the units with a single answer too.
    Where these differ from the others, as those that one rater alone could answer may, the two sides would speak of
    different units, and kappa could be anything; alpha leaves them out as well.
    Arguments and errors as for `krippendorff_alpha`.
    """
    table, cluster = _table(ratings), _clusters(ratings, clusters)
    paired = (~np.isnan(table)).sum(axis=0) >= 2
    if paired.sum() < 2:
        return NOTHING
    answers = _answers(table[:, paired], cluster[paired])
    return _estimate(_fleiss(answers), cluster, table.size, resamples=resamples, confidence=confidence, seed=seed)


def weighted_kappa(
    ratings: npt.ArrayLike,
    weights: Weights,
    clusters: npt.ArrayLike | None = None,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The mean over all pairs of raters of Cohen's weighted kappa, with a bootstrap interval over the units.

    Cohen 1968, "Weighted kappa"; averaged over the pairs as by Light 1971. Two answers disagree by the difference of
    their values (``linear``) or its square (``quadratic``), so categories are numbers and a category that nobody used
    keeps its place. With two categories both are Cohen's unweighted kappa of 1960.

    A pair is compared on the units that both answered, and left out of the mean where it shares fewer than two or
    where both give one and the same answer throughout; None if that leaves no pair.
    Arguments and errors as for `krippendorff_alpha`; meant for a few dozen distinct values at most.
    """
    _check("weights", weights, get_args(Weights))
    table, cluster = _table(ratings), _clusters(ratings, clusters)
    present = ~np.isnan(table)
    values, codes = np.unique(table[present], return_inverse=True)
    places = np.zeros(table.shape, dtype=np.int64)
    places[present] = codes
    apart = np.abs(np.subtract.outer(_unit_range(values), _unit_range(values))) ** POWERS[weights]
    pairs = [
        _cohen(places[:, both][[first, second]], cluster[both], int(cluster.max()) + 1, apart)
        for first, second in combinations(range(len(table)), 2)
        if (both := present[first] & present[second]).sum() >= 2
    ]
    if not pairs:
        return NOTHING

    def mean(counts: FloatArray) -> FloatArray:
        kappas = np.stack([pair(counts) for pair in pairs])
        defined = (~np.isnan(kappas)).sum(axis=0)
        return _ratio(np.nan_to_num(kappas).sum(axis=0), defined, defined > 0)

    return _estimate(mean, cluster, table.size, resamples=resamples, confidence=confidence, seed=seed)


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
    """The answers to each unit; units with the same answers, whoever gave which, are one pattern."""

    values: FloatArray
    """The distinct values, ascending."""
    codes: IntArray
    """Shape (patterns, raters): each answer's place among the values; where `present` is false, meaningless."""
    present: npt.NDArray[np.bool_]
    sizes: FloatArray
    """How many answers each pattern has."""
    drawn: _Sums
    """From how often each cluster counts to how often each pattern does."""
    totals: _Sums
    """From what each pattern counts to the sum over the answers of each value."""

    @property
    def unequal(self) -> FloatArray:
        """How many ordered pairs of each pattern's answers differ."""
        apart = self.codes[:, :, np.newaxis] != self.codes[:, np.newaxis, :]
        both = self.present[:, :, np.newaxis] & self.present[:, np.newaxis, :]
        unequal: FloatArray = (apart & both).sum(axis=(1, 2), dtype=np.float64)
        return unequal

    def squares(self, points: FloatArray) -> FloatArray:
        """Squared differences summed over the ordered pairs of each pattern's answers, shape (rows, patterns).

        `points` says where each value lies, shape (rows, values).
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
            points = places if metric == "interval" else _average_ranks(totals)
            within, among = answers.squares(points), _squares_among(points, totals)
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


def _cohen(codes: IntArray, cluster: IntArray, clusters: int, apart: FloatArray) -> Statistic:
    """One pair's weighted kappa; `codes` has shape (2, units) and `apart` says how far two values disagree."""
    units = np.bincount(cluster, minlength=clusters).astype(np.float64)
    disagreements = np.bincount(cluster, apart[codes[0], codes[1]], minlength=clusters)
    first, second = (_crossed(cluster, clusters, row, len(apart)) for row in codes)

    def statistic(counts: FloatArray) -> FloatArray:
        among = np.einsum("ij,ij->i", (counts @ first) @ apart, counts @ second)
        return 1 - _ratio((counts @ disagreements) * (counts @ units), among, among > 0)

    return statistic


def _crossed(cluster: IntArray, clusters: int, codes: IntArray, values: int) -> FloatArray:
    """How often each value was given in each cluster, shape (clusters, values)."""
    table = np.bincount(cluster * values + codes, minlength=clusters * values)
    return table.reshape(clusters, values).astype(np.float64)


def _average_ranks(totals: FloatArray) -> FloatArray:
    """Each value's average rank among all answers, less 1/2, shape (rows, values)."""
    ranks: FloatArray = np.cumsum(totals, axis=1) - totals / 2
    return ranks


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
    """The values from 0 to 1; neither alpha nor kappa depends on their unit."""
    span = values[-1:] - values[:1]
    scaled: FloatArray = (values - values[:1]) / np.where(span > 0, span, 1.0)
    return scaled


def _estimate(
    statistic: Statistic, cluster: IntArray, size: int, *, resamples: int, confidence: float, seed: int
) -> Interval:
    batch = batch_size(size)
    clusters = int(cluster.max(initial=-1)) + 1
    return estimate(statistic, clusters, resamples=resamples, confidence=confidence, seed=seed, batch=batch)


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
        raise ValueError(f"clusters: expected {units} whole numbers of at least 0, one a unit, got {clusters!r}")
    return cluster.astype(np.int64)


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
