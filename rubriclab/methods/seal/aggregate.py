"""From verdicts to a text's score, by rule and without a model (SEAL, section 3.5, equations 5 to 7).

Verdicts are arrays of shape (units, questions): 1 for the better answer, 0 for the other, a share of the scale in
between where a unit was rated, NaN where there is no usable verdict. What is missing is no "no": means are over what is
there, and where half or more of it is missing there is none, since it would be the mean of something else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rubriclab.data.scale import Scale
from rubriclab.methods.method import MISSING
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import DIGITS


def normalised(weights: Sequence[float]) -> FloatArray:
    """Return weights in shares that sum to 1, shape (questions,).

    Equation 5 wants every weight above zero; the prompts of the paper's appendix D allow zero, and so does this.

    Raises:
        ValueError: if one is not a number of zero or more, or none is above zero.
    """
    raw = np.asarray(weights, dtype=float)
    if not ((np.isfinite(raw) & (raw >= 0)).all() and raw.any()):
        raise ValueError(f"weights are numbers of zero or more, at least one of them above zero; got {list(weights)}")
    # By the largest first: the sum of large numbers may be none.
    relative = raw / raw.max()
    shares: FloatArray = relative / relative.sum()
    return shares


def unit_scores(values: FloatArray, weights: Sequence[float]) -> FloatArray:
    """Return each unit's weighted share of good verdicts (equation 6) in [0, 1], shape (units,).

    NaN for a unit whose missing verdicts have half of the weight or more.
    """
    shares, given = normalised(weights), ~np.isnan(values)
    # Rounded, so that half is half whatever the order of the sum.
    weight = np.round(given @ shares, 9)
    good = np.where(given, values, 0.0) @ shares
    enough = weight > 1 - MISSING
    scores: FloatArray = np.divide(good, given @ shares, out=np.full(len(values), np.nan), where=enough)
    return scores


def dimension_score(values: FloatArray, weights: Sequence[float]) -> float | None:
    """Return the mean over a text's units (equation 7) in [0, 1]; `None` where half of them or more are missing."""
    return _mean(unit_scores(values, weights))


def question_share(verdicts: FloatArray) -> float | None:
    """Return the mean of one question's verdicts over the units; `None` where half of them or more are missing."""
    found = _mean(verdicts)
    return None if found is None else round(found, DIGITS)


def on_scale(share: float, scale: Scale) -> float:
    """Return a share in [0, 1] as a score on `scale`; rounded, so that equal shares stay equal."""
    return round(scale.low + share * scale.width, DIGITS)


def of_scale(score: float, scale: Scale) -> float:
    """Return a score on `scale` as a share in [0, 1]: what a rating counts for in place of yes and no."""
    return round((score - scale.low) / scale.width, DIGITS)


def _mean(values: FloatArray) -> float | None:
    given = values[~np.isnan(values)]
    if not len(values) or len(values) - len(given) >= MISSING * len(values):
        return None
    return float(np.clip(given.mean(), 0.0, 1.0))
