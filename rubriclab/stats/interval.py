"""A statistic with its confidence interval, as computed, shown and stored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

DIGITS = 6
"""Decimal places of stored numbers, so that digests do not depend on the last bits of a sum."""


def rounded(value: float | None) -> float | None:
    """Return `value` rounded to the stored decimal places; `None` for NaN and `None`."""
    return None if value is None or math.isnan(value) else round(float(value), DIGITS)


def rounded_number(value: float) -> float:
    """Return a defined number rounded to the stored decimal places; 0 is never negative."""
    return round(float(value), DIGITS) + 0.0


@dataclass(frozen=True)
class Interval:
    """A statistic with its confidence interval.

    Attributes:
        value: the statistic; `None` if undefined, as JSON has no NaN.
        low, high: the ends of the interval; `None` without an interval.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    value: float | None
    low: float | None = None
    high: float | None = None

    def rounded(self) -> Interval:
        """Return the statistic and the ends of its interval, rounded to the stored decimal places."""
        return Interval(rounded(self.value), rounded(self.low), rounded(self.high))

    def within(self, least: float, most: float) -> Interval:
        """Return the statistic with the ends of its interval cut at the values that it can have."""
        low, high = (None if end is None else min(max(end, least), most) for end in (self.low, self.high))
        return Interval(self.value, low, high)


def wilson(found: int, of: int) -> Interval:
    """Return a share of independent elements with its 95 % score interval; undefined without any element.

    Wilson 1927, "Probable inference, the law of succession, and statistical inference", JASA 22.
    """
    from scipy.special import ndtri

    if not of:
        return Interval(None)
    share, z = found / of, float(ndtri(0.975))
    center = (share + z**2 / (2 * of)) / (1 + z**2 / of)
    margin = z / (1 + z**2 / of) * math.sqrt(share * (1 - share) / of + z**2 / (4 * of**2))
    return Interval(share, center - margin, center + margin).within(0, 1)
