"""The hypotheses under study: their arms, their way through the bandit, and why some left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rubriclab.methods.hypoeval.bandit import Arm, ranked, reward
from rubriclab.methods.hypoeval.settings import HypoEvalSettings
from rubriclab.rubric import Criterion, DroppedCriterion, RewardPoint

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
