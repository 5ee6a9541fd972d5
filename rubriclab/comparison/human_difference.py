"""The difference of the mean human scores of two sets of outputs, from the judge's scores and some labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from rubriclab.comparison.results import HumanDifference, LabelSource
from rubriclab.data import Example, labelled
from rubriclab.data.scale import Scale
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.folds import units
from rubriclab.stats.jackknife import FEWEST_GROUPS
from rubriclab.stats.prediction_powered import (
    LabelledScores,
    ScoredSet,
    difference_by_other_labels,
    difference_by_own_labels,
)

LABELS_OF: tuple[LabelSource, ...] = ("both", "before", "after")
ScoredOutput = tuple[Example, float]


def human_difference(
    scale: Scale,
    before: ScoredSet,
    after: ScoredSet,
    changed: npt.NDArray[np.bool_],
    learned: LabelledScores | None,
) -> HumanDifference | None:
    """Return the difference of the mean human scores of two sets.

    By labels of both sets; else of the set that has more of them; else of learning. `None` if there are too few.

    Args:
        changed: whether the outputs of a pair differ, shape (pairs,); of sets without pairs, all true.
        learned: the labels of learning, with held-out scores by the same judge.
    """
    if not len(before.scores) or not len(after.scores):
        return None
    sets = before, after
    own = [each.labelled for each in sets]
    found, labels, labels_of = difference_by_own_labels(*sets), sum(len(each.labels) for each in own), LABELS_OF[0]
    if found.interval.value is None:
        place = int(own[1].groups > own[0].groups)
        pool, labels_of = own[place], LABELS_OF[1 + place]
        if pool.groups < FEWEST_GROUPS:
            if learned is None:
                return None
            pool, labels_of = learned, "learning"
        found, labels = difference_by_other_labels(*sets, pool, changed=float(changed.mean())), len(pool.labels)
        if found.interval.value is None:
            return None
    interval = found.interval.within(-scale.width, scale.width).rounded()
    return HumanDifference(difference=interval, p=found.p, labels=labels, labels_of=labels_of)


def scored_sets(
    aspect: str,
    before: Sequence[ScoredOutput],
    after: Sequence[ScoredOutput],
    *,
    paired: bool,
    learned_from: Collection[str],
) -> tuple[ScoredSet, ScoredSet]:
    """Return two sets of outputs with their scores and labels, weighed by groups if they are not `paired`.

    Args:
        learned_from: groups whose labels are not used, as the rubric was fitted to them.
    """
    groups = [[example.group for example, _ in side] for side in (before, after)]
    unit = [units(groups[0])] * 2 if paired else np.split(units([*groups[0], *groups[1]]), [len(before)])
    first, second = (
        ScoredSet(
            np.array([score for _, score in side]),
            np.array([_label(example, aspect, learned_from) for example, _ in side]),
            of_side,
            np.full(len(side), 1 / max(len(side), 1)) if paired else _weights(of_side),
        )
        for side, of_side in zip((before, after), unit, strict=True)
    )
    return first, second


def _label(example: Example, aspect: str, learned_from: Collection[str]) -> float:
    found = () if example.group in learned_from else labelled([example], aspect)
    return found[0].scores[aspect] if found else np.nan


def _weights(unit: np.ndarray) -> FloatArray:
    """Return weights with which the mean over texts is that of the groups' means."""
    weights = 1 / np.bincount(unit)[unit]
    return np.asarray(weights / weights.sum())
