"""The hypotheses under study: their arms, their way through the bandit, and why some left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rubriclab.data.scale import Scale
from rubriclab.methods.hypoeval.settings import HypoEvalSettings
from rubriclab.rubric import Criterion, DroppedCriterion, RewardPoint
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


# A hypothesis has a reward for each text that it was visited with: as evidence, so many of them show the way.
MOST_REWARDS = 100


class Bank:
    """Hypotheses by id. Ids are given in the order of arrival and never reused."""

    def __init__(self, settings: HypoEvalSettings) -> None:
        self._settings = settings
        self._known: dict[str, Criterion] = {}
        self._arms: dict[str, Arm] = {}
        self._rewards: dict[str, list[RewardPoint]] = {}
        self._reasons: dict[str, str] = {}

    def add(self, proposed: Iterable[Criterion]) -> tuple[Criterion, ...]:
        """Take in proposed hypotheses and return them with their ids."""
        added = []
        for criterion in proposed:
            name = f"h{len(self._known) + 1:02d}"
            self._known[name] = criterion.model_copy(update={"id": name})
            self._arms[name] = Arm(name)
            self._rewards[name] = []
            added.append(self._known[name])
        return tuple(added)

    @property
    def alive(self) -> tuple[Criterion, ...]:
        """The hypotheses still in, in the order of arrival."""
        return tuple(self._known[name] for name in self._arms)

    def top(self, count: int, step: int) -> tuple[Criterion, ...]:
        """Return the `count` hypotheses of the highest reward after `step` texts, best first."""
        best = ranked(self._arms.values(), step, self._settings.alpha, self._settings.bonus)[:count]
        return tuple(self._known[arm.id] for arm in best)

    def most_accurate(self) -> tuple[Criterion, ...]:
        """Return all hypotheses still in by falling mean utility, without bonus; equal ones by id."""
        arms = sorted(self._arms.values(), key=lambda arm: (-arm.accuracy, arm.id))
        return tuple(self._known[arm.id] for arm in arms)

    def visit(self, name: str, utility: float | None, step: int) -> None:
        """Record the utility of one more rating, and the reward that the hypothesis then has."""
        self._arms[name] = self._arms[name].seen(utility, step)
        if utility is not None:
            self._rewards[name].append(reward(self._arms[name], step, self._settings.alpha, self._settings.bonus))

    def drop(self, name: str, reason: str) -> None:
        """Take a hypothesis out for `reason`; it keeps its evidence."""
        del self._arms[name]
        self._reasons[name] = reason

    def keep_only(self, pool: Iterable[Criterion]) -> None:
        """Drop every hypothesis outside of `pool`."""
        names = {criterion.id for criterion in pool}
        for criterion in self.alive:
            if criterion.id not in names:
                self.drop(criterion.id, "neither among the best nor new when new hypotheses were proposed")

    def trim(self, size: int, step: int) -> None:
        """Keep the `size` hypotheses of the highest reward."""
        kept = {criterion.id for criterion in self.top(size, step)}
        for criterion in self.alive:
            if criterion.id not in kept:
                self.drop(criterion.id, f"reward below the best {size} after {step} labelled texts")

    def annotate(self, name: str, pearson: float | None, judged: int, missing: int) -> None:
        """Complete a hypothesis' evidence."""
        criterion = self._known[name]
        update = {
            "rewards": _thinned(self._rewards[name]),
            "pearson": pearson,
            "judged": judged,
            "missing": missing,
        }
        self._known[name] = criterion.model_copy(update={"evidence": criterion.evidence.model_copy(update=update)})

    def get(self, name: str) -> Criterion:
        """Return a hypothesis with the evidence known so far, whether still in or not."""
        return self._known[name]

    def every_id(self) -> Sequence[str]:
        """Return the ids of all hypotheses ever taken in."""
        return tuple(self._known)

    def dropped(self) -> tuple[DroppedCriterion, ...]:
        """Return the hypotheses that left, in the order of arrival, with the reasons."""
        return tuple(
            DroppedCriterion(criterion=self._known[name], reason=self._reasons[name])
            for name in self._known
            if name in self._reasons
        )


def _thinned(rewards: Sequence[RewardPoint]) -> tuple[RewardPoint, ...]:
    """Return the rewards, or `MOST_REWARDS` of them at even distances, the first and the last among them."""
    if len(rewards) <= MOST_REWARDS:
        return tuple(rewards)
    step = (len(rewards) - 1) / (MOST_REWARDS - 1)
    return tuple(rewards[round(place * step)] for place in range(MOST_REWARDS))
