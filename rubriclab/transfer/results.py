"""What is known of a rubric on other texts: plain data, for reports and tables."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from rubriclab.base_models import FrozenModel
from rubriclab.data.scale import Scale
from rubriclab.learning.gate import GateLevel
from rubriclab.rubric import Action
from rubriclab.transfer.advice import ActionAdvice
from rubriclab.transfer.distribution_shift import DistributionShift
from rubriclab.transfer.metrics import AgreementMetrics
from rubriclab.validation import Interval


class SourceAgreement(FrozenModel):
    """What the rubric reached where it was learned, on labels that had no part in it."""

    level: GateLevel
    n: int
    spearman: Interval
    pearson: Interval | None = None


class ActionEvaluation(FrozenModel):
    """What an action gives.

    Attributes:
        criteria: how many the rubric then has.
        held_out: on the labels that it may use, each text by what the others' labels make.
        checked: on the other labelled texts.
        behind: how much larger its squared errors on these are than those of the action advised, as a share of the
            labels' variance: below zero where it did better.
        missing: why it could not be tried.
    """

    action: Action
    criteria: int = 0
    held_out: AgreementMetrics | None = None
    checked: AgreementMetrics | None = None
    behind: Interval | None = None
    missing: str | None = None


class Transfer(FrozenModel):
    """What is known of a rubric on other texts.

    Attributes:
        rubric: the version.
        judge, calibrated_for: who was asked here, and whom the version was fitted to.
        target, aspect, scale: of the texts and their labels; `home_aspect` and `home_scale` the version's own.
        texts, unscored: all that were rated, and those without a score; `unscored_why` the latest reason.
        labels, checked: labelled texts that actions may use, and the others.
        there: the rubric as it is, on all labelled texts.
        drop: how much less it agrees with people than at home, in Spearman correlation; `None` where that is unknown.
        floors: what surface measures reach on the same texts, by name.
        advice: `None` without labels.
        shift: how far the texts lie from those at home; `None` where nothing is known of these.
    """

    rubric: str
    judge: str
    calibrated_for: str
    target: str
    aspect: str
    home_aspect: str
    scale: Scale
    home_scale: Scale
    texts: int
    unscored: int
    unscored_why: str | None = None
    labels: int = 0
    checked: int = 0
    home: SourceAgreement | None = None
    there: AgreementMetrics | None = None
    drop: Interval | None = None
    floors: Mapping[str, AgreementMetrics] = Field(default_factory=dict)
    actions: tuple[ActionEvaluation, ...] = ()
    advice: ActionAdvice | None = None
    shift: DistributionShift | None = None
