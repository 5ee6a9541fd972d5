"""Which texts lie outside of what other texts are like: farther from the nearest than these lie from each other.

Conformal anomaly detection with a nearest-neighbour score: Laxhammar & Falkman 2010, "Conformal prediction for
distribution-independent anomaly detection in streaming vessel data", StreamKDD. Of the definitions tried on draws of 30
texts (mean of three neighbours, distance to the mean, Mahalanobis with a shrunken covariance), none told other kinds of
text better, and none is simpler to check by hand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rubriclab.base_models import FrozenModel
from rubriclab.learning.rating_matrix import BoolArray
from rubriclab.learning.standardise import centers_and_spreads
from rubriclab.rubric import rounded
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.mean import clustered_mean
from rubriclab.transfer.sample import Sample, some_texts
from rubriclab.validation import Interval

# A home text lies outside by this chance. At 5 % the farthest of 30 home texts would decide alone, and one odd text
# among them hid stories from dialogue.
USUALLY_OUTSIDE = 0.1
# Values count at most so many spreads: a count that is nearly always zero at home has a spread near zero, and would
# decide alone.
FARTHEST = 3.0
# From fewer groups nothing is known of how far groups lie apart.
FEWEST_GROUPS = 5
# Texts whose distances to all home texts are in memory at once.
BATCH = 1000


class Outliers(FrozenModel):
    """The target texts that lie outside of what home texts are like.

    Attributes:
        share: of the target texts, with its bootstrap interval over groups.
        usual: the share expected at most where the target is like home.
        ids: of the texts, in their order.
    """

    share: Interval
    usual: float
    ids: tuple[str, ...]


def outlying(home: Sample, target: Sample, ids: Sequence[str], seed: int = 0) -> Outliers | None:
    """Return the target texts farther from the nearest home text than nine of ten home texts from the nearest of
    another group; `None` where home has too few groups, or there is no column.

    Of more than `MOST_TEXTS` home texts as many drawn by the seed stand for all, as every text is held against each of
    them. Distances are Euclidean, in home spreads; a missing value counts as the home mean.

    Args:
        ids: of the target texts.
        seed: of the home texts drawn, and of the resamples.
    """
    home = some_texts(home, seed)
    if home.units.max(initial=-1) + 1 < FEWEST_GROUPS or not home.values.shape[1]:
        return None
    ours, theirs = _in_spreads(home.values, target.values)
    outside: BoolArray = _nearest(theirs, ours) > _threshold(_nearest(ours, ours, home.units))
    share = clustered_mean(outside.astype(np.float64), target.units, seed=seed)
    return Outliers(
        share=Interval(value=rounded(share.value), low=rounded(share.low), high=rounded(share.high)),
        usual=USUALLY_OUTSIDE,
        ids=tuple(name for name, out in zip(ids, outside.tolist(), strict=True) if out),
    )


def _in_spreads(home: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both tables in home spreads from the home mean; 0 where a value is missing.

    A column that is constant at home is measured by how it varies over both.
    """
    centers, spreads = centers_and_spreads(home)
    over_both = centers_and_spreads(np.concatenate([home, target]))[1]
    unit = np.where(spreads > 0, spreads, np.where(over_both > 0, over_both, np.inf))
    ours, theirs = (np.nan_to_num((values - centers) / unit).clip(-FARTHEST, FARTHEST) for values in (home, target))
    return ours, theirs


def _nearest(texts: FloatArray, home: FloatArray, own: IntArray | None = None) -> FloatArray:
    """Return each text's distance to the nearest home text; `own` are the units of texts that are home themselves."""
    from scipy.spatial.distance import cdist

    nearest = np.empty(len(texts))
    for start in range(0, len(texts), BATCH):
        rows = slice(start, start + BATCH)
        distances = cdist(texts[rows], home)
        if own is not None:
            distances[np.equal.outer(own[rows], own)] = np.inf
        nearest[rows] = distances.min(axis=1)
    return nearest


def _threshold(distances: FloatArray) -> float:
    """Return what one more such distance exceeds by the chance `USUALLY_OUTSIDE`; of few, the largest."""
    place = math.ceil((1 - USUALLY_OUTSIDE) * (len(distances) + 1)) - 1
    return float(np.sort(distances)[min(place, len(distances) - 1)])
