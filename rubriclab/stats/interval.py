"""A statistic with its confidence interval, as computed, shown and stored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

DIGITS = 6
"""Decimal places of stored figures, so that no digest depends on the last bits of a sum."""


def rounded(value: float | None) -> float | None:
    """Return `value` with the decimal places of stored figures; `None` where it is undefined, `None` or NaN."""
    return None if value is None or math.isnan(value) else round(float(value), DIGITS)


@dataclass(frozen=True)
class Interval:
    """A statistic with its confidence interval.

    Attributes:
        value: the statistic; `None` where it is undefined, as JSON has no NaN.
        low, high: the ends of the interval; `None` where there is none.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    value: float | None
    low: float | None = None
    high: float | None = None

    def rounded(self) -> Interval:
        """Return the statistic and the ends of its interval as they are stored."""
        return Interval(rounded(self.value), rounded(self.low), rounded(self.high))
