"""Results of a transfer: plain data for reports and tables, and the agreement of scores with labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rubriclab.base_models import FrozenModel
from rubriclab.data.scale import Scale
from rubriclab.display import Displayed
from rubriclab.learning.gate import GateLevel
from rubriclab.provenance import Action
from rubriclab.stats.agreement import agreement
from rubriclab.stats.bootstrap import estimate
from rubriclab.stats.correlation import BoolArray, FloatArray
from rubriclab.stats.folds import units
from rubriclab.stats.interval import Interval, rounded
from rubriclab.transfer.distribution_shift import DistributionShift
from rubriclab.transfer.recommendation import ActionAdvice

if TYPE_CHECKING:
    from rubriclab.report.model import View

CONFIDENCE = 0.95
RESAMPLES = 1000


class AgreementMetrics(FrozenModel):
    """Agreement of scores with labels.

    Attributes:
        level: of the correlations.
        n, groups: scored texts and their groups.
        unscored: texts without a score, which the metrics leave out.
        spearman, pearson: correlations.
        error: mean squared error as a share of the labels' variance: 0 for perfect scores, 1 for the mean label.
            `None` if labels are constant, or scores are on another scale.
        rmse: root mean squared error, in points of the labels' scale.
    """

    level: GateLevel
    n: int
    groups: int
    unscored: int
    spearman: Interval
    pearson: Interval
    error: Interval
    rmse: float | None


class SourceAgreement(FrozenModel):
    """The rubric's agreement with held-out labels of its source texts."""

    level: GateLevel
    n: int
    spearman: Interval
    pearson: Interval | None = None


class ActionEvaluation(FrozenModel):
    """The evaluation of one action.

    Attributes:
        criteria: number of criteria of the adapted rubric.
        cross_validated: agreement with the labels it was fitted to, cross-validated.
        held_out: agreement with the other labels.
        excess_error: mean squared error on the held-out labels minus the advised action's, as a share of the
            labels' variance: below zero if this action did better.
        skipped: why the action could not be tried.
    """

    action: Action
    criteria: int = 0
    cross_validated: AgreementMetrics | None = None
    held_out: AgreementMetrics | None = None
    excess_error: Interval | None = None
    skipped: str | None = None


class Transfer(Displayed, FrozenModel):
    """The evaluation of a rubric on target texts.

    Attributes:
        rubric: the version.
        judge, calibrated_for: the judge used here, and the judge that the version was fitted to.
        target, aspect, scale: of the texts and their labels; `source_aspect` and `source_scale`: of the version.
        texts, unscored: texts rated, and those without a score; `unscored_reason` is the latest reason.
        labels, held_out_labels: labelled texts that actions are fitted to, and those that evaluate them.
        source: agreement on the source; `None` if unknown.
        agreement: of the unchanged rubric with all labels.
        drop: Spearman correlation on the source less that here; `None` if unknown.
        baselines: agreement of text features with the same labels, by name.
        advice: `None` without labels.
        shift: distance of the texts from the source texts; `None` if nothing is known about the latter.
    """

    rubric: str
    judge: str
    calibrated_for: str
    target: str
    aspect: str
    source_aspect: str
    scale: Scale
    source_scale: Scale
    texts: int
    unscored: int
    unscored_reason: str | None = None
    labels: int = 0
    held_out_labels: int = 0
    source: SourceAgreement | None = None
    agreement: AgreementMetrics | None = None
    drop: Interval | None = None
    baselines: Mapping[str, AgreementMetrics] = Field(default_factory=dict)
    actions: tuple[ActionEvaluation, ...] = ()
    advice: ActionAdvice | None = None
    shift: DistributionShift | None = None

    def view(self) -> View:
        """Return the advice, what each action gives, and the distribution shift."""
        from rubriclab.report.transfer import transfer_view

        return transfer_view(self)


def agreement_metrics(
    scores: FloatArray | None,
    raw: FloatArray,
    labels: FloatArray,
    groups: Sequence[str],
    *,
    level: GateLevel,
    point: float = 1.0,
    seed: int = 0,
) -> AgreementMetrics:
    """Return the agreement of scores with labels, intervals by a bootstrap over groups; arrays have shape (texts,).

    Args:
        scores: NaN for unscored texts; `None` for values that are not on the labels' scale.
        raw: the values to correlate, as in `rubriclab.transfer.actions.AdaptedRubric`.
        point: a point of `labels` in points of the user's scale.
    """
    correlations = agreement(raw, labels, groups, level=level, resamples=RESAMPLES, confidence=CONFIDENCE, seed=seed)
    scored: BoolArray = ~np.isnan(raw if scores is None else scores)
    scored_groups = [group for group, has_score in zip(groups, scored.tolist(), strict=True) if has_score]
    squares = None if scores is None else np.square(scores - labels)[scored]
    error = None if squares is None else _error_share(squares, labels[scored], scored_groups, seed)
    return AgreementMetrics(
        level=level,
        n=int(scored.sum()),
        groups=len(set(scored_groups)),
        unscored=int((~scored).sum()),
        spearman=correlations.spearman.rounded(),
        pearson=correlations.pearson.rounded(),
        error=error.rounded() if error else Interval(None),
        rmse=None if squares is None or not len(squares) else rounded(point * math.sqrt(squares.mean())),
    )


def _error_share(squares: FloatArray, labels: FloatArray, groups: Sequence[str], seed: int) -> Interval | None:
    """Return the sum of squared errors as a share of the labels' sum of squares around their mean."""
    if not len(squares) or np.ptp(labels) == 0:
        return None
    unit = units(groups)
    centered = labels - labels.mean()
    sums = [np.bincount(unit, values) for values in (np.ones_like(centered), squares, centered, centered**2)]

    def statistic(counts: FloatArray) -> FloatArray:
        n, error, first, second = (counts @ part for part in sums)
        variance = second - first**2 / n
        share: FloatArray = np.divide(error, variance, out=np.full(len(n), np.nan), where=variance > 1e-9 * second)
        return share

    return estimate(statistic, len(sums[0]), resamples=RESAMPLES, confidence=CONFIDENCE, seed=seed, batch=RESAMPLES)
