"""How much of what raters say is about the texts: intraclass correlations, and what they allow a judge to reach.

Ratings come as a matrix of raters by texts, nan where a rater gave none, and are taken apart into the text's own worth,
the rater's severity, and the rest. Where it is not known who rated which text, severity is part of the rest (case 1 of
Shrout & Fleiss 1979, "Intraclass correlations: uses in assessing rater reliability", instead of their case 2).

Variances are estimated by Henderson's methods (Searle, Casella & McCulloch 1992, "Variance Components", chapter 5):
sums of squares are set equal to what they are expected to be, which has no bias, whoever left out which texts. The rest
is what is left once texts and raters are fitted (method III), so that it does not matter whether texts of one group had
the same raters; severity is what ratings of one text differ by beyond the rest; the texts' variance is taken from their
totals (method I). Where nobody left out any text all this is the analysis of variance of Shrout & Fleiss. Estimates may
come out below zero, and are then left there, as in theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rubriclab.stats.bootstrap import batch_size, estimate
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import unit_sums
from rubriclab.stats.interval import Interval


@dataclass(frozen=True, eq=False)
class Variances:
    """What ratings vary by, shape (resamples,) each, nan where it cannot be told.

    Attributes:
        text: the worth of the texts.
        rater: severity; 0 where it is not known who rated what.
        rest: everything else.
    """

    text: FloatArray
    rater: FloatArray
    rest: FloatArray


def intraclass(
    ratings: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    raters_known: bool = True,
    of_mean: bool = False,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the intraclass correlation of absolute agreement, with a bootstrap interval over the texts.

    ICC(2,1) of Shrout & Fleiss 1979, or ICC(1,1) unless `raters_known`; with `of_mean` ICC(2,k) or ICC(1,k), k being
    the harmonic mean of how many ratings the texts have, as the noise of a mean falls with their number.

    None where no text has two ratings, all are of one text, or nothing varies.

    Args:
        ratings: shape (raters, texts), nan where missing; texts without any are left out.
        clusters: for each text the number, from 0, of what it is drawn with; by default every text is its own.
        raters_known: whether a row is always the same person.
        of_mean: of the texts' mean ratings instead of single ones.
        resamples, confidence, seed: of the bootstrap.

    Raises:
        ValueError: `ratings` is no matrix.
    """
    table, cluster = _rated(ratings, clusters)
    if table.shape[1] < 2:
        return Interval(None)

    def statistic(counts: FloatArray) -> FloatArray:
        weights = counts[:, cluster]
        components = _variances(table, weights, raters_known)
        averaged = _harmonic(table, weights) if of_mean else 1.0
        noise = (components.rater + components.rest) / averaged
        return _ratio(components.text, components.text + noise)

    batch = batch_size(table.size * len(table))
    return estimate(
        statistic, int(cluster.max()) + 1, resamples=resamples, confidence=confidence, seed=seed, batch=batch
    )


def variances(ratings: npt.ArrayLike, *, raters_known: bool = True) -> Variances:
    """Return what the ratings vary by, shape (1,) each.

    Raises:
        ValueError: `ratings` is no matrix.
    """
    table, _ = _rated(ratings, None)
    return _variances(table, np.ones((1, table.shape[1])), raters_known)


def ceiling(ratings: npt.ArrayLike, groups: npt.ArrayLike | None = None, *, raters_known: bool = True) -> float | None:
    """Return the correlation with the texts' mean ratings that a judge could reach who knows each text's worth.

    That is the square root of the means' reliability (Spearman 1904, "The proof and measurement of association between
    two things"), the share of their variance that is not noise. Reliability is 1 less the noise that the means of these
    raters are expected to have, over their variance; where all raters rated all texts that is ICC(3,k), which is
    Cronbach's alpha and Spearman-Brown's formula for k raters. Severity is noise only as far as texts were rated by
    different people, since a constant does not touch a correlation.

    It is taken for granted that raters err independently of each other and of the judge. A bias that they share, for
    length say, counts as worth: a judge that has it too can come as close as this says, one without it cannot.

    Args:
        ratings: shape (raters, texts), nan where missing.
        groups: for each text a whole number: what correlations are taken within; by default all texts are one group.
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


def _variances(table: FloatArray, weights: FloatArray, raters_known: bool) -> Variances:
    """The variances where text i counts `weights[:, i]` times."""
    present = (~np.isnan(table)).astype(np.float64)
    filled = np.nan_to_num(table - np.nanmean(table) if table.size else table)
    ratings, sums = present.sum(axis=0), filled.sum(axis=0)
    n, texts = weights @ ratings, weights.sum(axis=1)
    total = weights @ (np.square(sums) / ratings)
    inside = weights @ np.square(filled).sum(axis=0) - total
    among = total - _ratio(np.square(weights @ sums), n)
    within = _ratio(inside, n - texts)
    rest = _left_over(filled, present, weights, inside) if raters_known else within
    rest = np.where(np.isnan(rest), within, rest)
    severity = within - rest
    shared = texts - _ratio(np.square(weights @ present.T).sum(axis=1), n)
    spread = n - _ratio(weights @ np.square(ratings), n)
    return Variances(_ratio(among - severity * shared - rest * (texts - 1), spread), severity, rest)


def _left_over(filled: FloatArray, present: FloatArray, weights: FloatArray, inside: FloatArray) -> FloatArray:
    """The mean square of what a worth for each text and a severity for each rater leave over.

    nan where they leave nothing over, as where no two raters ever met twice.
    """
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
    return _ratio(np.maximum(inside - explained, 0), freedom)


def _harmonic(table: FloatArray, weights: FloatArray) -> FloatArray:
    ratings = (~np.isnan(table)).sum(axis=0)
    return _ratio(weights.sum(axis=1), weights @ (1 / ratings))


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Quotients, nan where there is nothing to divide by but what rounding leaves."""
    ratio = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=ratio, where=np.abs(below) > 1e-12)
    return ratio


def _rated(ratings: npt.ArrayLike, clusters: npt.ArrayLike | None) -> tuple[FloatArray, IntArray]:
    """Return the ratings of the texts that have any, and the clusters of these, numbered from 0."""
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings: expected a matrix of raters x texts, got shape {table.shape}")
    kept = ~np.isnan(table).all(axis=0)
    cluster = np.arange(table.shape[1]) if clusters is None else np.asarray(clusters)
    return table[:, kept], np.unique(cluster[kept], return_inverse=True)[1]
