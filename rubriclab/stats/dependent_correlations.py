"""Whether variables follow another one further than a benchmark does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from rubriclab.stats.bootstrap import BATCH_ELEMENTS, resample_counts
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import unit_sums

BoolArray = npt.NDArray[np.bool_]

# Fisher's transform of a perfect correlation is infinite.
MOST = 1 - 1e-9

# A resample in which a variable has less of its variance than this is one in which it does not vary.
CONSTANT = 1e-9


@dataclass(frozen=True, eq=False)
class DependentCorrelation:
    """How far each of m variables follows another one, and how far a benchmark does.

    Attributes:
        r: correlations, shape (m,), NaN where undefined.
        benchmark: the benchmark's, on the rows that the variable has, shape (m,).
        p: of sizes of correlation at least as far apart if both were equal, shape (m,), two-sided; 1 where undefined.
    """

    r: FloatArray
    benchmark: FloatArray
    p: FloatArray

    @property
    def defined(self) -> BoolArray:
        """Which variables have a correlation, shape (m,)."""
        return ~np.isnan(self.r)

    @property
    def further(self) -> BoolArray:
        """Which variables have a correlation of larger size than the benchmark's, shape (m,)."""
        return np.abs(self.r) > np.abs(self.benchmark)


def dependent_correlation(
    variables: FloatArray,
    benchmark: FloatArray,
    target: FloatArray,
    cluster: IntArray,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> DependentCorrelation:
    """Return how far each of `variables` follows `target`, and whether `benchmark` follows it as far.

    These are two correlations that share a variable, from rows that come in clusters; each is taken in the direction
    that it has. The difference of their Fisher transforms, as in Steiger 1980 ("Tests for comparing elements of a
    correlation matrix", Psychological Bulletin 87), is divided by its standard error and compared with Student's t with
    one degree of freedom less than clusters. His error takes rows to be independent; this one is from a bootstrap over
    clusters.

    Args:
        variables: shape (n, m), NaN where missing: a row is left out for the variables that lack it.
        benchmark: shape (n,).
        target: shape (n,), NaN for rows to be left out.
        cluster: each row's, numbered from 0, each of them in use, shape (n,).
        resamples, seed: of the bootstrap; equal seeds give equal figures.
    """
    from scipy.special import stdtr

    clusters = int(cluster.max(initial=-1)) + 1
    valid: BoolArray = ~np.isnan(variables) & ~np.isnan(target)[:, np.newaxis]
    aim = _standardised(target[:, np.newaxis], valid)
    sums = [
        _cluster_sums(_standardised(columns, valid), aim, valid, cluster)
        for columns in (variables, benchmark[:, np.newaxis])
    ]
    # Drawn in batches: all resamples of 10,000 clusters at once would take 160 MB.
    rng, batch = np.random.default_rng(seed), max(1, BATCH_ELEMENTS // max(1, clusters))
    sizes = [min(batch, resamples - start) for start in range(0, resamples, batch)]
    drawn = (resample_counts(rng, size, clusters) for size in sizes)
    found = [[_correlations(each, of) for of in sums] for each in chain([np.ones((1, clusters))], drawn)]
    own, standard = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
    apart = np.sign(own[0]) * _fisher(own) - np.sign(standard[0]) * _fisher(standard)
    error = _spread(apart[1:]) * np.sqrt(clusters / max(1, clusters - 1))
    p = 2 * stdtr(max(1, clusters - 1), -_ratio(np.abs(apart[0]), error))
    defined = ~np.isnan(apart[0]) & ~np.isnan(error) & (clusters > 1)
    return DependentCorrelation(own[0], standard[0], np.where(defined, p, 1.0))


def _standardised(columns: FloatArray, valid: BoolArray) -> FloatArray:
    """Return each column with mean 0 and variance 1 over its valid rows, 0 elsewhere and where it does not vary."""
    counts = np.maximum(valid.sum(axis=0), 1)
    present = np.where(valid, columns, 0.0)
    moved = np.where(valid, columns - present.sum(axis=0) / counts, 0.0)
    spreads = np.sqrt((moved**2).sum(axis=0) / counts)
    varies = spreads > CONSTANT * np.abs(present).max(axis=0, initial=0.0)
    return np.where(varies, moved / np.where(varies, spreads, 1.0), 0.0)


def _cluster_sums(x: FloatArray, y: FloatArray, valid: BoolArray, cluster: IntArray) -> list[FloatArray]:
    """Return the sums of 1, x, y, xx, yy and xy over the valid rows of each cluster, shape (clusters, m) each."""
    return [unit_sums(part, cluster) for part in (valid.astype(np.float64), x, y, x * x, y * y, x * y)]


def _correlations(counts: FloatArray, sums: Sequence[FloatArray]) -> FloatArray:
    """Return the correlations of paired standardised columns, (resamples, m), from `_cluster_sums`.

    Args:
        counts: how often each cluster counts, shape (resamples, clusters).
    """
    valid, x, y, xx, yy, xy = (counts @ part for part in sums)
    n = np.maximum(valid, 1.0)
    x_mean, y_mean = x / n, y / n
    x_variance, y_variance = xx / n - x_mean**2, yy / n - y_mean**2
    varies = np.minimum(x_variance, y_variance) > CONSTANT
    size = np.sqrt(np.where(varies, x_variance * y_variance, 1.0))
    return np.where(varies, (xy / n - x_mean * y_mean) / size, np.nan)


def _fisher(r: FloatArray) -> FloatArray:
    transformed: FloatArray = np.arctanh(np.clip(r, -MOST, MOST))
    return transformed


def _spread(resampled: FloatArray) -> FloatArray:
    """Return the standard deviation of each column's defined values; NaN where these are not the majority."""
    defined = ~np.isnan(resampled)
    counts = np.maximum(defined.sum(axis=0), 1)
    means = np.where(defined, resampled, 0.0).sum(axis=0) / counts
    spread = np.sqrt((np.where(defined, resampled - means, 0.0) ** 2).sum(axis=0) / counts)
    return np.where(2 * defined.sum(axis=0) > len(resampled), spread, np.nan)


def _ratio(apart: FloatArray, error: FloatArray) -> FloatArray:
    """Return apart / error; without any error, infinity for what is apart and 0 for what is not."""
    certain = np.where(apart > 0, np.inf, 0.0)
    return np.where(error > 0, apart / np.where(error > 0, error, 1.0), certain)
