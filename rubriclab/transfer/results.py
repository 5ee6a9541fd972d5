"""Results of a transfer: the agreement of each of the three ways, and the recommended one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

import numpy as np

from rubriclab.base_models import FrozenModel
from rubriclab.data.scale import Scale
from rubriclab.display import Displayed
from rubriclab.learning.gate import GateLevel
from rubriclab.provenance import Action
from rubriclab.stats.agreement import agreement
from rubriclab.stats.correlation import BoolArray, FloatArray
from rubriclab.stats.folds import units
from rubriclab.stats.interval import Interval, rounded_number
from rubriclab.stats.jackknife import FEWEST_GROUPS
from rubriclab.stats.paired import paired_mean
from rubriclab.transfer.adaptation import AdaptedRubric

if TYPE_CHECKING:
    from rubriclab.report.model import View

# The cheapest first.
ACTIONS: tuple[Action, ...] = get_args(Action)


class ActionEvaluation(FrozenModel):
    """One way to use the rubric, compared with the labels of the target.

    Attributes:
        criteria: number of criteria of the rubric for the target.
        level: of the correlations.
        n, groups: texts with a score, and their groups.
        spearman, pearson: correlations with the labels.
        error: mean absolute error, in points of the labels' scale.
        gain: error of the rubric as it is less this one's, on the texts that all ways scored.
        skipped: why it could not be measured.
    """

    action: Action
    criteria: int = 0
    level: GateLevel = "dataset"
    n: int = 0
    groups: int = 0
    spearman: Interval = Interval(None)
    pearson: Interval = Interval(None)
    error: Interval = Interval(None)
    gain: Interval = Interval(None)
    skipped: str | None = None


class Transfer(Displayed, FrozenModel):
    """The evaluation of a rubric on target texts.

    Attributes:
        rubric: the version.
        judge, calibrated_for: the judge used here, and the judge that the version was fitted to.
        target, aspect, scale: of the texts and their labels; `source_aspect` and `source_scale`: of the version.
        texts, unscored: texts rated, and those without a score; `unscored_reason` is the latest reason.
        outside: share of the texts whose ratings, weighted, lie outside the range of the training texts' ratings;
            `None` if the training texts are not in the store, or the rubric has no learned weights.
        labels, groups: labelled texts, and their groups.
        mean_error: mean absolute error of giving every text the mean label, in points of the labels' scale.
        recommended: the way whose scores are closest to the labels; `None` without labels. See `recommend`.
        too_few_groups: whether there are too few groups, or too equal labels, to compare the ways.
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
    outside: Interval | None = None
    labels: int = 0
    groups: int = 0
    mean_error: float | None = None
    actions: tuple[ActionEvaluation, ...] = ()
    recommended: Action | None = None
    too_few_groups: bool = False

    @property
    def best(self) -> ActionEvaluation | None:
        """The evaluation of the recommended way."""
        return next((each for each in self.actions if each.action == self.recommended), None)

    def view(self) -> View:
        """Return the recommendation and what each way reaches."""
        from rubriclab.report.transfer import transfer_view

        return transfer_view(self)


def evaluate(
    adapted: AdaptedRubric,
    labels: FloatArray,
    groups: Sequence[str],
    *,
    level: GateLevel,
    point: float,
) -> ActionEvaluation:
    """Return the agreement of the held-out scores with `labels`, shape (texts,), with intervals over groups.

    Args:
        point: a point of `labels` in points of the user's scale.
    """
    scores = adapted.scores
    found = agreement(adapted.raw, labels, groups, level=level)
    scored = ~np.isnan(scores)
    unit = units([group for group, has_score in zip(groups, scored.tolist(), strict=True) if has_score])
    return ActionEvaluation(
        action=adapted.action,
        criteria=len(adapted.rubric.criteria),
        level=level,
        n=int(scored.sum()),
        groups=len(set(unit.tolist())),
        spearman=found.spearman.rounded(),
        pearson=found.pearson.rounded(),
        error=paired_mean(point * np.abs(scores - labels)[scored], unit).interval.rounded(),
    )


def recommend(
    scores: Mapping[Action, FloatArray], labels: FloatArray, groups: Sequence[str], default: Action, point: float
) -> tuple[Action, dict[Action, Interval], bool]:
    """Return the way with the smallest mean absolute error, the gain of each over `reuse`, and if groups were too few.

    The rule: of the ways that were measured, the one whose scores, without the text's own label, are closest to the
    labels; the cheapest of equals. Its gain has a 95 % interval over groups, and is slightly optimistic, as the best of
    three. As the labels exist already, no significance is asked for: keeping the rubric unchanged until a difference is
    significant was measured to be worse. With fewer than `FEWEST_GROUPS` groups, or constant labels, `default`.

    Args:
        scores: by way, shape (texts,), NaN for unscored; `reuse` is among them.
        point: a point of `labels` in points of the user's scale.
    """
    actions = [action for action in ACTIONS if action in scores]
    errors = {action: point * np.abs(scores[action] - labels) for action in actions}
    scored: BoolArray = np.array(~np.isnan(np.stack(list(errors.values()))).any(axis=0))
    kept = [group for group, has_score in zip(groups, scored.tolist(), strict=True) if has_score]
    gains = {
        action: paired_mean((errors["reuse"] - errors[action])[scored], units(kept)).interval.rounded()
        for action in actions
    }
    if len(set(kept)) < FEWEST_GROUPS or np.ptp(labels[scored]) == 0:
        return default, gains, True
    means = {action: rounded_number(errors[action][scored].mean()) for action in actions}
    return min(actions, key=lambda action: means[action]), gains, False
