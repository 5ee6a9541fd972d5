"""Conformal prediction: intervals of scores from the errors of held-out scores.

Each labelled text is scored without the labels of its group, as in the jackknife and CV+ of Barber, Candès, Ramdas &
Tibshirani (2021, "Predictive inference with the jackknife+", Annals of Statistics 49, sections 1 and 3). Each absolute
error is divided by the error expected for the text (Lei, G'Sell, Rinaldo, Tibshirani & Wasserman 2018,
"Distribution-free predictive inference for regression", JASA 113, section 5.2), so that intervals are wider for texts
on which the criteria disagree.

The interval is centred on the score by the rubric fitted to all labels: one model instead of the jackknife+'s many, as
a rubric has a single set of weights. Models fitted to fewer texts have slightly larger errors, so the interval is
conservative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rubriclab.stats.correlation import FloatArray


def enough(errors: int, confidence: float) -> bool:
    """Return whether this number of errors can bound another one with this confidence; nine can for 0.9."""
    return _rank(errors, confidence) <= errors


def error_bound(errors: Sequence[float], confidence: float) -> float:
    """Return the bound of another error with probability `confidence`, if it is exchangeable with `errors`.

    It is the ceil((n + 1) * confidence)-th smallest of n; infinite if n is too small, as below nine for 0.9.

    Args:
        errors: absolute errors, ascending.
    """
    return errors[_rank(len(errors), confidence) - 1] if enough(len(errors), confidence) else math.inf


def expected_error(hardness: FloatArray, growth: float) -> FloatArray:
    """Return the expected absolute error of each text, relative to a text of hardness 0."""
    return 1 + growth * hardness


def _rank(n: int, confidence: float) -> int:
    # Rounded, as floating-point (9 + 1) * 0.9 may exceed 9.
    return math.ceil(round((n + 1) * confidence, 9))
