"""Conformal prediction: intervals of scores from the errors of held-out scores.

Each labelled text is scored without the labels of its group, as in the jackknife and CV+ of Barber, Candès, Ramdas &
Tibshirani (2021, "Predictive inference with the jackknife+", Annals of Statistics 49, sections 1 and 3). The interval
is from the lower to the upper quantile of the signed errors, each with half of the errors that may lie outside, so that
labels below the score are covered as often as labels above it. Quantiles are interpolated between the order statistics
of rank (n + 1) p (Beran & Hall 1993, "Interpolated nonparametric prediction intervals and confidence intervals", JRSS B
55), as with thirty errors the next whole ranks would cover 94 % instead of 90 %.

The interval is around the score by the rubric fitted to all labels: one model instead of the jackknife+'s many, as a
rubric has a single set of weights. Models fitted to fewer texts have slightly larger errors, so the interval is
conservative. All scores have the same interval, but for the ends of the scale: widths by the disagreement of the
criteria were measured, and hardly told larger errors from smaller ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def enough(errors: int, confidence: float) -> bool:
    """Return whether this number of errors can bound another one on both sides; nineteen can for 0.9."""
    return _rank(errors, (1 - confidence) / 2) >= 1


def error_bounds(errors: Sequence[float], confidence: float) -> tuple[float, float]:
    """Return the bounds of another error with probability `confidence`, if it is exchangeable with `errors`.

    The first is not positive and the second not negative; both are infinite if the errors are not `enough`.

    Args:
        errors: signed, ascending.
    """
    if not enough(len(errors), confidence):
        return -math.inf, math.inf
    tail = (1 - confidence) / 2
    return min(_quantile(errors, tail), 0.0), max(_quantile(errors, 1 - tail), 0.0)


def _quantile(errors: Sequence[float], share: float) -> float:
    rank = _rank(len(errors), share)
    below = min(math.floor(rank), len(errors) - 1)
    return errors[below - 1] + (rank - below) * (errors[below] - errors[below - 1])


def _rank(n: int, share: float) -> float:
    # Rounded, as floating-point 20 * 0.05 may not be 1.
    return round((n + 1) * share, 9)
