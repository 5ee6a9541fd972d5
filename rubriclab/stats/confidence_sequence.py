"""An interval of a mean that holds it at all looks at once, however often one looks.

The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2021, "Time-uniform central limit
theory and asymptotic confidence sequences", Theorem 2.2. Its quantile is that of Student's distribution with the same
probability, since the variance is estimated from few observations at first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import Interval


def confidence_sequence(looks: Sequence[FloatArray], *, error_rate: float, tightest: int) -> Interval:
    """Return the mean of the independent observations of all looks, with the interval that all looks so far leave.

    Args:
        looks: the new observations of each look, at least two in the first.
        error_rate: the probability that the interval of any look misses the mean.
        tightest: the number of observations at which the interval is narrowest.
    """
    from scipy.special import ndtr, stdtrit

    if not looks:
        return Interval(None)
    sums = np.array([(len(look), look.sum(), look @ look) for look in looks]).cumsum(axis=0)
    number, total, squares = sums.T
    mean = total / number
    error = np.sqrt(np.maximum(squares / number - mean**2, 0) / (number - 1))
    log = -math.log(error_rate)
    scaled = number * (2 * log + math.log(2 * log + 1)) / tightest
    quantile = np.sqrt(2 * (scaled + 1) / scaled * (np.log(scaled + 1) / 2 + log))
    margin = -stdtrit(number - 1, ndtr(-quantile)) * error
    return Interval(float(mean[-1]), float((mean - margin).max()), float((mean + margin).min()))
