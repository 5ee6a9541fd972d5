"""Target texts that are farther from the nearest source text than source texts are from each other.

Conformal anomaly detection with a nearest-neighbour score: Laxhammar & Falkman 2010, "Conformal prediction for
distribution-independent anomaly detection in streaming vessel data", StreamKDD. None of the alternatives tried on draws
of 30 texts (mean of three neighbours, distance to the mean, Mahalanobis with a shrunken covariance) distinguished other
kinds of text better, and none is simpler to check by hand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rubriclab.base_models import FrozenModel
from rubriclab.learning.rating_matrix import centers_and_spreads
from rubriclab.stats.bootstrap import clustered_mean
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray
from rubriclab.stats.interval import Interval
from rubriclab.transfer.sample import Sample

# The false positive rate on source texts. At 5 %, the threshold would depend on the farthest of 30 source texts alone:
# with one unusual text among them, stories were not distinguished from dialogue.
EXPECTED_SHARE = 0.1
# Standardised values are clipped to this: a count that is nearly always zero on the source has a spread near zero, and
# would dominate the distance.
MAX_STANDARDISED = 3.0
# With fewer groups, distances between groups are unknown.
FEWEST_GROUPS = 5
# Texts whose distances to all source texts are in memory at once.
BATCH = 1000


class Outliers(FrozenModel):
    """The target texts that are outliers among the source texts.

    Attributes:
        share: of the target texts, with its bootstrap interval over groups.
        expected_share: at most, if the target is like the source.
        ids: of the outliers, in their order.
    """

    share: Interval
    expected_share: float
    ids: tuple[str, ...]


def find_outliers(source: Sample, target: Sample, ids: Sequence[str], seed: int = 0) -> Outliers | None:
    """Return the outliers among the target texts; `None` if the source has too few groups, or there is no column.

    An outlier is farther from its nearest source text than nine of ten source texts are from theirs in other groups.
    Large sources are represented by `MAX_TEXTS` texts, as distances to all are computed. Distances are Euclidean, in
    source standard deviations; a missing value counts as the source mean.

    Args:
        ids: of the target texts.
        seed: of the source texts drawn, and of the resamples.
    """
    source = source.capped(seed)
    if source.units.max(initial=-1) + 1 < FEWEST_GROUPS or not source.values.shape[1]:
        return None
    x_source, x_target = _standardised(source.values, target.values)
    outside: BoolArray = _nearest(x_target, x_source) > _threshold(_nearest(x_source, x_source, source.units))
    share = clustered_mean(outside.astype(np.float64), target.units, seed=seed)
    return Outliers(
        share=share.rounded(),
        expected_share=EXPECTED_SHARE,
        ids=tuple(name for name, is_outlier in zip(ids, outside.tolist(), strict=True) if is_outlier),
    )


def _standardised(source: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both tables standardised by the source; missing values are 0.

    A column that is constant on the source is standardised by its spread over both.
    """
    centers, spreads = centers_and_spreads(source)
    pooled = centers_and_spreads(np.concatenate([source, target]))[1]
    unit = np.where(spreads > 0, spreads, np.where(pooled > 0, pooled, np.inf))
    x_source, x_target = (
        np.nan_to_num((values - centers) / unit).clip(-MAX_STANDARDISED, MAX_STANDARDISED)
        for values in (source, target)
    )
    return x_source, x_target


def _nearest(texts: FloatArray, source: FloatArray, units: IntArray | None = None) -> FloatArray:
    """Return each text's distance to the nearest source text, of another unit if `units` of source texts are given."""
    from scipy.spatial.distance import cdist

    nearest = np.empty(len(texts))
    for start in range(0, len(texts), BATCH):
        rows = slice(start, start + BATCH)
        distances = cdist(texts[rows], source)
        if units is not None:
            distances[np.equal.outer(units[rows], units)] = np.inf
        nearest[rows] = distances.min(axis=1)
    return nearest


def _threshold(distances: FloatArray) -> float:
    """Return the distance that a further source text exceeds with probability `EXPECTED_SHARE`; at most the largest."""
    rank = math.ceil((1 - EXPECTED_SHARE) * (len(distances) + 1)) - 1
    return float(np.sort(distances)[min(rank, len(distances) - 1)])
