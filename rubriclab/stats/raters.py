"""How single raters differ from the others who rated the same texts.

Ratings come as a matrix of raters by texts, nan where a rater gave none. A rater is compared on the texts that at least
one other rated, with the mean of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rubriclab.stats.bootstrap import BATCH_ELEMENTS, estimate
from rubriclab.stats.correlation import FloatArray, pearson
from rubriclab.stats.interval import Interval


@dataclass(frozen=True, slots=True)
class RaterStatistics:
    """One rater beside the others.

    Attributes:
        n: texts that others rated too.
        severity: mean distance below the others' mean, in points of the scale: positive is strict.
        noise: standard deviation of that distance; None below two texts. The others' own noise is in it.
        agreement: Pearson correlation with the others' mean; None where either is constant.
    """

    n: int
    severity: Interval
    noise: float | None
    agreement: float | None


def rater_statistics(
    ratings: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[RaterStatistics, ...]:
    """Return each rater's statistics, in the order of the rows, severity with a bootstrap interval over the texts.

    Args:
        ratings: shape (raters, texts), nan where missing.
        clusters: for each text the number, from 0, of what it is drawn with; by default every text is its own.
        resamples, confidence, seed: of the bootstrap.

    Raises:
        ValueError: `ratings` is no matrix, or holds infinity.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise ValueError(f"ratings: expected a finite matrix of raters x texts, got shape {table.shape}")
    cluster = np.arange(table.shape[1]) if clusters is None else np.asarray(clusters)
    options = {"resamples": resamples, "seed": seed}
    return tuple(
        _statistics(own, others, cluster, confidence, **options)
        for own, others in zip(table, others_mean(table), strict=True)
    )


def others_mean(ratings: FloatArray) -> FloatArray:
    """Return for each rater and text the mean of the others' ratings, nan where there are none."""
    present = ~np.isnan(ratings)
    filled = np.where(present, ratings, 0.0)
    others = present.sum(axis=0) - present
    means = np.full(ratings.shape, np.nan)
    np.divide(filled.sum(axis=0) - filled, others, out=means, where=others > 0)
    return means


def _statistics(
    own: FloatArray, others: FloatArray, cluster: npt.NDArray[np.int64], confidence: float, *, resamples: int, seed: int
) -> RaterStatistics:
    shared = ~(np.isnan(own) | np.isnan(others))
    below = (others - own)[shared]
    clusters = int(cluster.max(initial=-1)) + 1
    sums, sizes = (np.bincount(cluster[shared], part, clusters) for part in (below, np.ones(len(below))))

    def severity(counts: FloatArray) -> FloatArray:
        texts = counts @ sizes
        mean = np.full(len(counts), np.nan)
        np.divide(counts @ sums, texts, out=mean, where=texts > 0)
        return mean

    batch = max(1, BATCH_ELEMENTS // max(1, clusters))
    strict = estimate(severity, clusters, resamples=resamples, confidence=confidence, seed=seed, batch=batch)
    agreement = pearson(own[shared], others[shared])
    noise = float(below.std(ddof=1)) if len(below) > 1 else None
    return RaterStatistics(len(below), strict, noise, None if math.isnan(agreement) else agreement)
