"""Which action to take on target texts: the one whose scores come closest to human labels.

Actions are compared by squared errors of scores that do not depend on the text's own label. The one with the smallest
mean error is advised (the cheapest among equals), and whether the gain is significant. As the labels exist
already, an action costs little; keeping the rubric unchanged until a difference is significant was
measured to be worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rubriclab.base_models import FrozenModel
from rubriclab.provenance import Action
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray
from rubriclab.stats.folds import units
from rubriclab.stats.interval import Interval, rounded
from rubriclab.stats.levels import FEWEST_GROUPS
from rubriclab.stats.paired import standard_error
from rubriclab.transfer.actions import ACTIONS

# Errors are equal if they differ by less, as a share of the labels' variance.
TOLERANCE = 1e-6
# Of the intervals of differences.
CONFIDENCE = 0.95


class ActionComparison(FrozenModel):
    """An action compared by mean squared errors, as shares of the labels' variance with 95 % intervals.

    Attributes:
        gain: error of the unchanged rubric less that of this action.
        excess_error: error of this action less that of the advised one.
    """

    action: Action
    gain: Interval
    excess_error: Interval


class ActionAdvice(FrozenModel):
    """The advised action.

    Attributes:
        compared: all actions tried, the cheapest first.
        too_few_groups: whether there were too few groups to compare actions.
    """

    action: Action
    compared: tuple[ActionComparison, ...]
    too_few_groups: bool = False

    @property
    def gain(self) -> Interval:
        """Error of the unchanged rubric less that of the advised action."""
        return next(comparison.gain for comparison in self.compared if comparison.action == self.action)

    @property
    def significant(self) -> bool:
        """Whether the interval of the gain is above zero."""
        return self.gain.low is not None and self.gain.low > 0

    @property
    def indistinguishable(self) -> tuple[Action, ...]:
        """Other actions whose error is not significantly larger, the cheapest first."""
        others = (other for other in self.compared if other.action != self.action)
        return tuple(other.action for other in others if other.excess_error.low is None or other.excess_error.low <= 0)


def advise(
    squares: Mapping[Action, FloatArray], labels: FloatArray, groups: Sequence[str], default: Action = "reuse"
) -> ActionAdvice:
    """Return the action with the smallest mean squared error, the cheapest among equals.

    Only texts that all actions have scored count. With fewer than `FEWEST_GROUPS` groups, or constant labels, actions
    cannot be compared and `default` is advised.

    Args:
        squares: by action, squared errors of scores without the text's own label, shape (texts,), NaN for unscored
            texts; `reuse` is among them.
        labels, groups: of these texts.
    """
    actions = [action for action in ACTIONS if action in squares]
    scored: BoolArray = np.array(~np.isnan(np.stack([squares[action] for action in actions])).any(axis=0))
    errors = {action: squares[action][scored] for action in actions}
    unit = units([group for group, has_score in zip(groups, scored, strict=True) if has_score])
    variance = float(labels[scored].var()) if scored.any() else 0.0
    too_few = len({group for group, has_score in zip(groups, scored, strict=True) if has_score}) < FEWEST_GROUPS
    too_few = too_few or variance == 0
    best = default if too_few else _cheapest({name: float(each.mean()) / variance for name, each in errors.items()})
    compared = tuple(
        ActionComparison(
            action=action,
            gain=_variance_share(errors["reuse"] - errors[action], unit, variance),
            excess_error=_variance_share(errors[action] - errors[best], unit, variance),
        )
        for action in actions
    )
    return ActionAdvice(action=best, compared=compared, too_few_groups=too_few)


def _cheapest(errors: Mapping[Action, float]) -> Action:
    smallest = min(errors.values())
    return next(action for action, error in errors.items() if error <= smallest + TOLERANCE)


def paired_difference(differences: FloatArray, labels: FloatArray, groups: Sequence[str]) -> Interval:
    """Return the mean paired difference of squared errors as a share of the labels' variance, ignoring NaN."""
    scored = ~np.isnan(differences)
    unit = units([group for group, has_score in zip(groups, scored.tolist(), strict=True) if has_score])
    return _variance_share(differences[scored], unit, float(labels[scored].var()) if scored.any() else 0.0)


def _variance_share(differences: FloatArray, unit: IntArray, variance: float) -> Interval:
    """Return a mean of differences as a share of a variance, with Student's interval over groups."""
    from scipy.special import stdtrit

    if not len(differences) or variance == 0:
        return Interval(None)
    value = float(differences.mean()) / variance
    error = standard_error(differences, unit) / variance if np.any(differences) else 0.0
    if math.isinf(error):
        return Interval(rounded(value))
    # With few groups the standard error itself is uncertain, hence Student's distribution.
    margin = float(stdtrit(len(np.unique(unit)) - 1, (1 + CONFIDENCE) / 2)) * error if error else 0.0
    return Interval(rounded(value), rounded(value - margin), rounded(value + margin))
