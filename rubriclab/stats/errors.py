"""How far scores are from labels, in points of the scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rubriclab.models.base import FrozenModel
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import DIGITS, Interval
from rubriclab.stats.jackknife import estimate
from rubriclab.stats.levels import ScoredTexts, scored_texts


class ScoreErrors(FrozenModel):
    """How far scores are from the labels, in points of the scale.

    Attributes:
        absolute: the mean absolute error, with its interval over groups.
        bias: the mean of score minus label.
        near: the share of texts whose score is at most `point` from the label.
        point: 1 on scales of about 1 to 5 or 1 to 10, else a fifth of the scale's width.
    """

    absolute: Interval
    bias: float
    near: float
    point: float


def score_errors(scores: FloatArray, labels: FloatArray, groups: Sequence[str], width: float) -> ScoreErrors | None:
    """Return the errors of the scores that there are; `None` if all are NaN.

    Args:
        width: of the scale.
    """
    if np.isnan(scores).all():
        return None
    texts = scored_texts([scores], labels, groups, None)
    errors = texts.predicted[0] - texts.human
    point = 1.0 if 3 <= width <= 9 else width / 5
    return ScoreErrors(
        absolute=_mean(np.abs(errors), texts),
        bias=round(float(errors.mean()), DIGITS),
        near=round(float((np.abs(errors) <= point).mean()), DIGITS),
        point=point,
    )


def less_error(scores: FloatArray, others: FloatArray, labels: FloatArray, groups: Sequence[str]) -> Interval | None:
    """Return the others' mean absolute error minus that of the scores; `None` if no text has both."""
    if np.isnan(scores + others).all():
        return None
    texts = scored_texts([scores, others], labels, groups, None)
    own, other = np.abs(texts.predicted - texts.human)
    return _mean(other - own, texts)


def _mean(values: FloatArray, texts: ScoredTexts) -> Interval:
    """Return the mean over texts with its interval over their groups."""
    sums, sizes = np.bincount(texts.cluster, values), np.bincount(texts.cluster)
    return estimate(lambda counts: counts @ sums / (counts @ sizes), texts.clusters, elements=len(sums)).rounded()
