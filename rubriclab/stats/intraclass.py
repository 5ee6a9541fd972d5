"""Intraclass correlations of raters, and the ceiling that they set for the agreement of a judge.

Ratings are a matrix of raters by texts, nan if missing, modelled as the text's true score, the rater's severity, and a
residual. If raters are not identified, severity is part of the residual (case 1 of Shrout & Fleiss 1979, "Intraclass
correlations: uses in assessing rater reliability", instead of case 2).

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

import numpy as np
import numpy.typing as npt

from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray
from rubriclab.stats.folds import bundled, renumbered, unit_sums, units
from rubriclab.stats.interval import Interval
from rubriclab.stats.jackknife import FEWEST_GROUPS, MOST_PARTS, student_interval


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
