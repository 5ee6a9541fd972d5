"""How far off a score may be, by how far off held-out scores were: conformal prediction.

Each text with a label is scored without the labels of its own group, as in the jackknife and CV+ of Barber, Candès,
Ramdas & Tibshirani (2021, "Predictive inference with the jackknife+", Annals of Statistics 49, sections 1 and 3). The
size of each error is divided by what the text itself led one to expect (Lei, G'Sell, Rinaldo, Tibshirani & Wasserman
2018, "Distribution-free predictive inference for regression", JASA 113, section 5.2), so that a text on which the
criteria disagree can get a wider interval than one on which they are of one mind.

The interval is laid around the score by the rubric fitted to all labels, one model instead of the jackknife+'s many. A
rubric that is to be read can carry only one; a model fitted to fewer texts errs a little more, which is on the safe
side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rubriclab.stats.correlation import FloatArray


def enough(errors: int, confidence: float) -> bool:
    """Return whether so many errors can bound another one with that confidence: nine for 0.9."""
    return _rank(errors, confidence) <= errors


def error_bound(errors: Sequence[float], confidence: float) -> float:
    """Return what another error stays below with probability `confidence`, if it is exchangeable with `errors`.

    That is the ceil((n + 1) * confidence)-th smallest of n; infinite where there is no such, as among fewer than nine
    for 0.9.

    Args:
        errors: sizes of errors, ascending.
    """
    return errors[_rank(len(errors), confidence) - 1] if enough(len(errors), confidence) else math.inf


def expected_error(hardness: FloatArray, growth: float) -> FloatArray:
    """Return the size of error to expect of each text, in units of that of a text that nothing makes hard."""
    return 1 + growth * hardness


def _rank(n: int, confidence: float) -> int:
    # (9 + 1) * 0.9 is 9, also where the computer makes it a little more.
    return math.ceil(round((n + 1) * confidence, 9))
