"""Single raters: how each differs from the others.

Ratings are a matrix of raters by texts, nan if missing. A rater is compared on the texts that another rater rated too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rubriclab.stats.bootstrap import batch_size, estimate
from rubriclab.stats.correlation import FloatArray, pearson
from rubriclab.stats.interval import Interval


@dataclass(frozen=True, slots=True)
class RaterStatistics:
    """A rater compared with the others.

    Attributes:
        n: texts that others rated too.
        severity: mean of the others' mean minus the rating, in points of the scale: positive is strict.
        noise: standard deviation of this difference, which includes the others' noise; `None` below two texts.
        agreement: Pearson correlation with the others' mean; `None` if either is constant.
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
        clusters: the resampling cluster of each text, numbered from 0; by default every text is its own.
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
        _statistics(row, others, cluster, confidence, **options)
        for row, others in zip(table, others_mean(table), strict=True)
    )


def others_mean(ratings: FloatArray) -> FloatArray:
    """Return for each rater and text the mean of the others' ratings, nan without any."""
    present = ~np.isnan(ratings)
    filled = np.where(present, ratings, 0.0)
    others = present.sum(axis=0) - present
    means = np.full(ratings.shape, np.nan)
    np.divide(filled.sum(axis=0) - filled, others, out=means, where=others > 0)
    return means


def _statistics(
    ratings: FloatArray,
    others: FloatArray,
    cluster: npt.NDArray[np.int64],
    confidence: float,
    *,
    resamples: int,
    seed: int,
) -> RaterStatistics:
    shared = ~(np.isnan(ratings) | np.isnan(others))
    below = (others - ratings)[shared]
    clusters = int(cluster.max(initial=-1)) + 1
    sums, sizes = (np.bincount(cluster[shared], part, clusters) for part in (below, np.ones(len(below))))

    def severity(counts: FloatArray) -> FloatArray:
        texts = counts @ sizes
        mean = np.full(len(counts), np.nan)
        np.divide(counts @ sums, texts, out=mean, where=texts > 0)
        return mean

    batch = batch_size(clusters)
    strict = estimate(severity, clusters, resamples=resamples, confidence=confidence, seed=seed, batch=batch)
    agreement = pearson(ratings[shared], others[shared])
    noise = float(below.std(ddof=1)) if len(below) > 1 else None
    return RaterStatistics(len(below), strict, noise, None if math.isnan(agreement) else agreement)
