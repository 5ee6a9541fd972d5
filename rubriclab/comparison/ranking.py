"""Several systems ranked by mean score, with ties where a paired difference may be chance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from rubriclab.base_models import FrozenModel
from rubriclab.comparison.compare import summary
from rubriclab.comparison.pairing import Outputs
from rubriclab.rubric import Rubric
from rubriclab.stats.folds import units
from rubriclab.stats.interval import Interval
from rubriclab.stats.paired import adjust_p_values, paired_mean

# False discovery rate of differences between systems.
RATE = 0.05


class RankedSystem(FrozenModel):
    """A system's place.

    Attributes:
        rank: 1 for the highest mean.
        ties: systems whose paired difference to this one may be chance, at a false discovery rate of 5 % over all
            pairs of systems.
    """

    system: str
    rank: int
    texts: int
    scored: int
    groups: int
    mean: Interval
    ties: tuple[str, ...]


class SystemDifference(FrozenModel):
    """The mean score of one system less that of one ranked below it, on the groups that both have outputs in."""

    first: str
    second: str
    pairs: int
    groups: int
    difference: Interval
    p: float | None
    adjusted_p: float | None


class SystemRanking(FrozenModel):
    """Several systems, scored with one version, by mean score."""

    rubric: str
    judge: str
    scale: tuple[float, float]
    systems: tuple[RankedSystem, ...]
    differences: tuple[SystemDifference, ...]


def rank_systems(rubric: Rubric, name: str, systems: Sequence[Outputs]) -> SystemRanking:
    """Return the systems by mean score; differences are paired within groups (Benjamini & Hochberg over all pairs).

    Args:
        rubric: that all were scored with; `name` is its reference.
    """
    sides = [(summary(system, rubric.scores_on), system) for system in systems]
    # Systems without a score come last.
    sides.sort(key=lambda side: math.inf if side[0].mean.value is None else -side[0].mean.value)
    differences = [_difference(first, second) for (_, first), (_, second) in combinations(sides, 2)]
    p_values = adjust_p_values([difference.p for difference in differences])
    tested = [each.model_copy(update={"adjusted_p": p}) for each, p in zip(differences, p_values, strict=True)]
    ranked = [
        RankedSystem(
            system=side.name,
            rank=rank,
            texts=side.texts,
            scored=side.scored,
            groups=side.groups,
            mean=side.mean,
            ties=tuple(
                each.second if each.first == side.name else each.first
                for each in tested
                if side.name in (each.first, each.second) and (each.adjusted_p is None or each.adjusted_p >= RATE)
            ),
        )
        for rank, (side, _) in enumerate(sides, start=1)
    ]
    return SystemRanking(
        rubric=name,
        judge=", ".join(sorted({score.judge for system in systems for score in system.scores})),
        scale=(rubric.scores_on.low, rubric.scores_on.high),
        systems=tuple(ranked),
        differences=tuple(tested),
    )


def _difference(first: Outputs, second: Outputs) -> SystemDifference:
    """Return the difference of two systems, paired by group: the mean of a group's outputs of each."""
    means = [_means(system) for system in (first, second)]
    shared = [group for group in means[0] if group in means[1]]
    differences = np.array([means[0][group] - means[1][group] for group in shared])
    change = paired_mean(differences, units(shared))
    return SystemDifference(
        first=first.name,
        second=second.name,
        pairs=len(shared),
        groups=len(shared),
        difference=change.interval.rounded(),
        p=change.p,
        adjusted_p=None,
    )


def _means(system: Outputs) -> dict[str, float]:
    by_group: dict[str, list[float]] = defaultdict(list)
    for example, value in system.scored:
        by_group[example.group].append(value)
    return {group: sum(values) / len(values) for group, values in by_group.items()}
