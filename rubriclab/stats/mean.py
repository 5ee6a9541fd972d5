"""The mean of a number over texts, with an interval that knows which texts belong together."""

from __future__ import annotations

import numpy as np

from rubriclab.stats.bootstrap import estimate
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.interval import Interval

RESAMPLES = 1000
CONFIDENCE = 0.95
BATCH_ELEMENTS = 2**20


def clustered_mean(values: FloatArray, cluster: IntArray, *, seed: int = 0) -> Interval:
    """Return the mean with its bootstrap interval over clusters; all `None` where there is no value.

    Args:
        values: shape (n,), without NaN.
        cluster: of each value, numbered from 0 without gaps, shape (n,).
        seed: of the resamples.
    """
    sums, sizes = np.bincount(cluster, values), np.bincount(cluster).astype(np.float64)
    return estimate(
        lambda counts: np.asarray((counts @ sums) / (counts @ sizes)),
        len(sizes),
        resamples=RESAMPLES,
        confidence=CONFIDENCE,
        seed=seed,
        batch=max(1, BATCH_ELEMENTS // max(1, len(sizes))),
    )
