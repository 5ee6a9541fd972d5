"""What to do with a rubric on other texts: what makes its scores come nearest to people.

Every action is judged by squared errors of scores whose labels had no part in it, and the one with the smallest errors
is advised, the cheapest of equals. Whether the gain is more than chance is told beside it. The labels are there, so an
action costs little more than the old one; to stay with it until a difference is certain was measured to be worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rubriclab.base_models import FrozenModel
from rubriclab.learning.calibration import standard_error
from rubriclab.learning.rating_matrix import BoolArray
from rubriclab.provenance import Action
from rubriclab.rubric import rounded
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import units
from rubriclab.transfer.actions import ACTIONS
from rubriclab.validation import FEWEST_GROUPS, Interval

# Errors are the same if they differ by less, as a share of the labels' variance.
SAME = 1e-6
# Share of the time that an interval of a difference is to hold it.
CONFIDENCE = 0.95


class ActionComparison(FrozenModel):
    """An action beside the rubric as it is.

    Attributes:
        gain: how much smaller its errors are, as a share of the labels' variance, with a 95 % interval.
        behind: how much smaller those of the action advised are.
    """

    action: Action
    gain: Interval
    behind: Interval


class ActionAdvice(FrozenModel):
    """One action, and what it rests on.

    Attributes:
        compared: all that were tried, the cheapest first.
        few: whether there were too few groups to tell anything.
    """

    action: Action
    compared: tuple[ActionComparison, ...]
    few: bool = False

    @property
    def gain(self) -> Interval:
        """How much smaller the errors are than those of the rubric as it is."""
        return next(each.gain for each in self.compared if each.action == self.action)

    @property
    def sure(self) -> bool:
        """Whether that is more than chance."""
        return self.gain.low is not None and self.gain.low > 0

    @property
    def as_good(self) -> tuple[Action, ...]:
        """The other actions that the labels cannot tell from this one, the cheapest first."""
        rest = (each for each in self.compared if each.action != self.action)
        return tuple(each.action for each in rest if each.behind.low is None or each.behind.low <= 0)


def advise(
    squares: Mapping[Action, FloatArray], labels: FloatArray, groups: Sequence[str], usual: Action = "reuse"
) -> ActionAdvice:
    """Return the action whose errors are smallest, the cheapest of equals.

    Only texts that all actions have scored are counted. With fewer than `FEWEST_GROUPS` groups no difference can be
    told, and what is `usual` is advised.

    Args:
        squares: by action, squared errors of texts whose own labels had no part, shape (texts,), NaN where there is no
            score; `reuse` is among them.
        labels, groups: of these texts.
        usual: what to do where nothing can be told; among `squares`.
    """
    names = [action for action in ACTIONS if action in squares]
    there: BoolArray = np.array(~np.isnan(np.stack([squares[name] for name in names])).any(axis=0))
    own = {name: squares[name][there] for name in names}
    left = [group for group, scored in zip(groups, there, strict=True) if scored]
    unit, variance = units(left), float(labels[there].var()) if there.any() else 0.0
    few = len(set(left)) < FEWEST_GROUPS or variance == 0
    best = usual if few else _cheapest({name: float(each.mean()) / variance for name, each in own.items()})
    compared = tuple(
        ActionComparison(
            action=name,
            gain=_gain(own["reuse"] - own[name], unit, variance),
            behind=_gain(own[name] - own[best], unit, variance),
        )
        for name in names
    )
    return ActionAdvice(action=best, compared=compared, few=few)


def _cheapest(errors: Mapping[Action, float]) -> Action:
    least = min(errors.values())
    return next(name for name, error in errors.items() if error <= least + SAME)


def paired(differences: FloatArray, labels: FloatArray, groups: Sequence[str]) -> Interval:
    """Return the mean of paired differences of squared errors as a share of the labels' variance, with its interval.

    Only texts that have one are counted.
    """
    there = ~np.isnan(differences)
    own = [group for group, scored in zip(groups, there.tolist(), strict=True) if scored]
    return _gain(differences[there], units(own), float(labels[there].var()) if there.any() else 0.0)


def _error(differences: FloatArray, unit: IntArray) -> float:
    return standard_error(differences, unit) if np.any(differences) else 0.0


def _gain(saved: FloatArray, unit: IntArray, variance: float) -> Interval:
    """Return a mean of differences as a share of a variance, with Student's interval over groups."""
    from scipy.special import stdtrit

    if not len(saved) or variance == 0:
        return Interval(value=None)
    value, error = float(saved.mean()) / variance, _error(saved, unit) / variance
    if math.isinf(error):
        return Interval(value=rounded(value))
    # Few groups make the error itself uncertain.
    reach = float(stdtrit(len(np.unique(unit)) - 1, (1 + CONFIDENCE) / 2)) * error if error else 0.0
    return Interval(value=rounded(value), low=rounded(value - reach), high=rounded(value + reach))
