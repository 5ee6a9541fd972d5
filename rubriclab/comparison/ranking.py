"""Several systems ranked by mean score, with ties where a paired difference may be chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from rubriclab.comparison.compare import summary
from rubriclab.comparison.pairing import Outputs
from rubriclab.comparison.results import RankedSystem, SystemDifference, SystemRanking
from rubriclab.rubric import Rubric
from rubriclab.stats.folds import units
from rubriclab.stats.paired import adjust_p_values, paired_mean

# False discovery rate of differences between systems.
RATE = 0.05


def rank_systems(rubric: Rubric, name: str, systems: Sequence[Outputs]) -> SystemRanking:
    """Return the systems by mean score; differences are paired within groups (Benjamini & Hochberg over all pairs).

    Args:
        rubric: that all were scored with; `name` is its reference.
    """
    judges = sorted({score.judge for system in systems for score in system.scores})
    sides = {id(system): summary(system, rubric.scores_on) for system in systems}
    ordered = sorted(systems, key=lambda system: _place(sides[id(system)].mean.value))
    differences = [_difference(first, second) for first, second in combinations(ordered, 2)]
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
            ties=tuple(_ties(side.name, tested)),
        )
        for rank, side in enumerate((sides[id(system)] for system in ordered), start=1)
    ]
    scale = (rubric.scores_on.low, rubric.scores_on.high)
    return SystemRanking(
        rubric=name, judge=", ".join(judges), scale=scale, systems=tuple(ranked), differences=tuple(tested)
    )


def _place(mean: float | None) -> float:
    """Return a sort key: the highest mean first, systems without a score last."""
    return math.inf if mean is None else -mean


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
    by_group: dict[str, list[float]] = {}
    for example, _, value in system.scored:
        by_group.setdefault(example.group, []).append(value)
    return {group: sum(values) / len(values) for group, values in by_group.items()}


def _ties(system: str, differences: Sequence[SystemDifference]) -> list[str]:
    """Return the systems that these texts do not distinguish from `system`."""
    undecided = [each for each in differences if each.adjusted_p is None or each.adjusted_p >= RATE]
    involved = [each for each in undecided if system in (each.first, each.second)]
    return [each.second if each.first == system else each.first for each in involved]
