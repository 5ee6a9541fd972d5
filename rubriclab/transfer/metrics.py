"""How near scores come to labels: in order, by correlation, and in points, by squared errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rubriclab.base_models import FrozenModel
from rubriclab.learning.gate import GateLevel
from rubriclab.learning.rating_matrix import BoolArray
from rubriclab.learning.single_method import interval_of
from rubriclab.rubric import rounded
from rubriclab.stats.agreement import agreement
from rubriclab.stats.bootstrap import IntervalEstimate, estimate
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.folds import units
from rubriclab.validation import Interval

CONFIDENCE = 0.95
RESAMPLES = 1000


class AgreementMetrics(FrozenModel):
    """What scores of labelled texts are worth.

    Attributes:
        level: at which correlations are taken.
        n, groups: scored texts and their groups.
        unscored: texts without a score, which the figures leave out.
        spearman, pearson: agreement in order, and in proportion.
        error: mean squared distance from the labels, as a share of the labels' variance: 0 for a perfect scorer, 1 for
            one that gives every text the mean label. `None` where labels do not vary, or scores are on another scale.
        points: the root of the mean squared distance, in points of the labels' scale.
    """

    level: GateLevel
    n: int
    groups: int
    unscored: int
    spearman: Interval
    pearson: Interval
    error: Interval
    points: float | None


def figures(
    scores: FloatArray | None,
    raw: FloatArray,
    labels: FloatArray,
    groups: Sequence[str],
    *,
    level: GateLevel,
    point: float = 1.0,
    seed: int = 0,
) -> AgreementMetrics:
    """Return what the scores are worth, with intervals of a bootstrap over groups; arrays have the shape (texts,).

    Args:
        scores: NaN where there is none; `None` for what is not on the labels' scale at all.
        raw: what correlations are taken of, as in `rubriclab.transfer.actions.Tried`.
        point: what a point of the labels is in the user's.
    """
    found = agreement(raw, labels, groups, level=level, resamples=RESAMPLES, confidence=CONFIDENCE, seed=seed)
    there: BoolArray = ~np.isnan(raw if scores is None else scores)
    squares = np.full(len(labels), np.nan) if scores is None else np.square(scores - labels)
    mean = float(squares[there].mean()) if there.any() and scores is not None else math.nan
    return AgreementMetrics(
        level=level,
        n=int(there.sum()),
        groups=len({group for group, scored in zip(groups, there, strict=True) if scored}),
        unscored=int((~there).sum()),
        spearman=interval_of(found.spearman),
        pearson=interval_of(found.pearson),
        error=interval_of(
            _share(squares[there], labels[there], [g for g, t in zip(groups, there, strict=True) if t], seed)
        ),
        points=None if math.isnan(mean) else rounded(point * math.sqrt(mean)),
    )


def _share(squares: FloatArray, labels: FloatArray, groups: Sequence[str], seed: int) -> IntervalEstimate:
    """Return the sum of squares as a share of that of the labels around their mean."""
    if not len(squares) or np.isnan(squares).any() or np.ptp(labels) == 0:
        return IntervalEstimate(None, None, None)
    unit = units(groups)
    off = labels - labels.mean()
    sums = [np.bincount(unit, values) for values in (np.ones_like(off), squares, off, off**2)]

    def statistic(counts: FloatArray) -> FloatArray:
        n, error, first, second = (counts @ part for part in sums)
        around = second - first**2 / n
        share: FloatArray = np.divide(error, around, out=np.full(len(n), np.nan), where=around > 1e-9 * second)
        return share

    return estimate(statistic, len(sums[0]), resamples=RESAMPLES, confidence=CONFIDENCE, seed=seed, batch=RESAMPLES)
