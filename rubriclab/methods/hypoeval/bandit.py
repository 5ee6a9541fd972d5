"""The bandit over hypotheses: utilities, rewards and rankings as plain arithmetic.

HypoEval, section 2: a hypothesis is an arm, a labelled text is a pull, and the reward is the mean utility of its
ratings so far plus an exploration bonus, as in upper confidence bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rubriclab.data.scale import Scale
from rubriclab.rubric import RewardPoint
from rubriclab.stats.interval import rounded

# The paper states theta in points of its 1 to 5 scale.
PAPER_WIDTH = 4.0


@dataclass(frozen=True, slots=True)
class Arm:
    """A hypothesis in the bandit.

    Attributes:
        id: the hypothesis' id; ties in a ranking are broken by it.
        visits: labelled texts that it was rated on.
        total: sum of the utilities of these ratings.
        visited: the step of the latest visit.
    """

    id: str
    visits: int = 0
    total: float = 0.0
    visited: int = 0

    @property
    def accuracy(self) -> float:
        """The mean utility over the visits, 0 without any."""
        return self.total / self.visits if self.visits else 0.0

    def seen(self, utility: float | None, step: int) -> Arm:
        """Return the arm after a visit at `step`; a failed rating (`None`) teaches nothing."""
        return self if utility is None else Arm(self.id, self.visits + 1, self.total + utility, step)


def utility(rating: float, label: float, scale: Scale) -> float:
    """Return `1 - ((rating - label) / width)^2`, in [0, 1]: the paper's L with a = 1 and b = 1/16 on 1 to 5."""
    return 1.0 - ((rating - label) / scale.width) ** 2


def is_wrong(rating: float, label: float, theta: float, scale: Scale) -> bool:
    """Return whether a rating misses the label by more than `theta` points of a 1 to 5 scale."""
    return abs(rating - label) > tolerance(theta, scale)


def tolerance(theta: float, scale: Scale) -> float:
    """Return `theta` points of a 1 to 5 scale in points of `scale`."""
    return theta * scale.width / PAPER_WIDTH


def wrong_needed(top: int, step: int, total: int, share: float) -> float:
    """Return w_hyp: how many of the `top` hypotheses must be wrong for a text to count as hard.

    The paper leaves it open; the published code lets it rise with the 0-based number of the text out of `total`.
    """
    return top * share * (step - 1) / total


def reward(arm: Arm, step: int, alpha: float, bonus: Literal["fresh", "when_visited"]) -> RewardPoint:
    """Return the arm's reward when `step` labelled texts have been seen.

    A fresh bonus makes arms comparable, whenever they were last visited; `when_visited` is the published rule, whose
    bonuses go stale. An arm without any visit has no utility and the largest bonus.
    """
    visits = arm.visits
    at = step if bonus == "fresh" else arm.visited
    extra = alpha * math.sqrt(math.log(max(at, 1)) / max(visits, 1))
    return RewardPoint(step=step, visits=visits, utility=rounded(arm.accuracy) or 0.0, bonus=rounded(extra) or 0.0)


def ranked(arms: Iterable[Arm], step: int, alpha: float, bonus: Literal["fresh", "when_visited"]) -> list[Arm]:
    """Return the arms by falling reward; equal ones by id, so that the order never depends on anything else."""

    def key(arm: Arm) -> tuple[float, str]:
        point = reward(arm, step, alpha, bonus)
        return -(point.utility + point.bonus), arm.id

    return sorted(arms, key=key)
