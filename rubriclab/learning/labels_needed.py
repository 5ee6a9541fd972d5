"""How many more labels would decide whether one evaluator agrees better than another.

An estimated difference is most often too far from 0, and its standard error is itself estimated from few groups. So the
chance of a decision is averaged over what the true difference may be, given the estimate and a normal prior around 0,
and over what the true standard error may be (the assurance of O'Hagan, Stevens & Campbell 2005, "Assurance in clinical
trial design", Pharmaceutical Statistics 4). The present labels are part of the larger set.
"""

from __future__ import annotations

import numpy as np

from rubriclab.models.version import MATTERS, MOST_LABELS, MoreLabels
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import Interval
from rubriclab.stats.jackknife import CONFIDENCE, FEWEST_GROUPS

# The standard deviation of true differences between a rubric and a baseline.
PRIOR = 0.2
EVEN, LIKELY = 0.5, 0.8
STEP = 10
# The true standard error has this many equally likely values.
ERRORS = 9


def more_labels(difference: Interval, labels: int, clusters: int) -> MoreLabels | None:
    """Return how many more labels would decide with chances `EVEN` and `LIKELY`; `None` without an interval.

    Args:
        difference: in correlation, with its interval, from `labels` labelled texts in `clusters` clusters.
    """
    if difference.value is None or difference.low is None or difference.high is None or clusters < FEWEST_GROUPS:
        return None
    more = np.arange(STEP, MOST_LABELS + 1, STEP, dtype=np.float64)
    chances = decision_chances(difference.value, (difference.high - difference.low) / 2, labels, clusters, more)
    even, likely = ([int(number) for number in more[chances >= least]] for least in (EVEN, LIKELY))
    return MoreLabels(even=even[0] if even else None, likely=likely[0] if likely else None)


def decision_chances(value: float, margin: float, labels: int, clusters: int, more: FloatArray) -> FloatArray:
    """Return the chance of a decision with `more` labels, shape (numbers,).

    Args:
        value, margin: the present estimate and half of its interval.
    """
    from scipy.special import chdtri, ndtr, stdtrit

    free, upper = clusters - 1, (1 + CONFIDENCE) / 2
    ratios = np.sqrt(free / chdtri(free, (np.arange(ERRORS) + 0.5) / ERRORS))
    error = (margin / stdtrit(free, upper) * ratios)[:, np.newaxis]
    posterior = 1 / (1 / PRIOR**2 + 1 / error**2)
    total = labels + more
    share = labels / total
    middle = share * value + (1 - share) * posterior * value / error**2
    spread = (1 - share) * np.sqrt(posterior + error**2 * labels / more)
    reach = stdtrit(clusters * total / labels - 1, upper) * error * np.sqrt(share)
    better, worse = 1 - ndtr((reach - middle) / spread), ndtr((MATTERS - reach - middle) / spread)
    # Where both can hold, one of them always does.
    return np.asarray(np.where(2 * reach < MATTERS, 1.0, better + worse).mean(axis=0))
