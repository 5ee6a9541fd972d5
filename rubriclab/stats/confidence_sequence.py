"""An interval of a mean that holds it at all times at once, however often one looks.

The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2021, "Time-uniform central limit
theory and asymptotic confidence sequences", Theorem 2.2. Its quantile is that of Student's distribution with the same
probability, since the variance is estimated from few observations at first.
"""

from __future__ import annotations

import math

from rubriclab.base_models import FrozenModel
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import Interval


class MeanSequence(FrozenModel):
    """The running sums of independent observations, and the interval that all looks so far leave.

    Attributes:
        number, total, squares: of the observations, their sum, and the sum of their squares.
        low, high: the highest lower end and the lowest upper end so far; `None` before the first look.
    """

    number: int = 0
    total: float = 0.0
    squares: float = 0.0
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> Interval:
        """The mean of the observations with its interval."""
        return Interval(self.total / self.number if self.number else None, self.low, self.high)

    @property
    def excludes_zero(self) -> bool:
        """Whether the mean is not 0, or was not at an earlier look."""
        return (self.low or 0.0) > 0 or (self.high or 0.0) < 0

    def after(self, observations: FloatArray, *, error_rate: float, tightest: int) -> MeanSequence:
        """Return the sequence after one more look.

        Args:
            observations: at least two.
            error_rate: the probability that any of the intervals misses the mean.
            tightest: the number of observations at which the interval is narrowest.
        """
        from scipy.special import ndtr, stdtrit

        number = self.number + len(observations)
        total, squares = self.total + float(observations.sum()), self.squares + float(observations @ observations)
        mean = total / number
        deviation = math.sqrt(max(squares / number - mean**2, 0.0) * number / (number - 1))
        log = math.log(1 / error_rate)
        scaled = number * (2 * log + math.log(2 * log + 1)) / tightest
        quantile = math.sqrt(2 * (scaled + 1) / scaled * math.log(math.sqrt(scaled + 1) / error_rate))
        margin = -float(stdtrit(number - 1, ndtr(-quantile))) * deviation / math.sqrt(number)
        low, high = mean - margin, mean + margin
        return MeanSequence(
            number=number,
            total=total,
            squares=squares,
            low=low if self.low is None else max(low, self.low),
            high=high if self.high is None else min(high, self.high),
        )
