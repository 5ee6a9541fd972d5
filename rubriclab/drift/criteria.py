"""Which criteria of two versions are the same, and how far each moved a text's score."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rubriclab.data.scale import Scale
from rubriclab.rubric import Criterion
from rubriclab.scoring.score import CriterionScore, Score
from rubriclab.stats.correlation import FloatArray
from rubriclab.store.diff import compare
from rubriclab.store.version import Version

CriterionState = Literal["kept", "changed", "removed", "added", "average text"]


@dataclass(frozen=True, slots=True)
class CriterionPair:
    """A criterion that both sides have, or one of them.

    The state `average text` stands for what no criterion explains: the score of a text of which all say the average.
    """

    before: Criterion | None
    after: Criterion | None
    state: CriterionState

    @property
    def name(self) -> str:
        """What it is called: its id, or both where it goes by two."""
        ids = dict.fromkeys(each.id for each in (self.before, self.after) if each)
        return " -> ".join(ids) or self.state


AVERAGE = CriterionPair(None, None, "average text")


def matched(before: Version, after: Version) -> tuple[CriterionPair, ...]:
    """Return the criteria of both versions, those that mean the same put together whatever their ids.

    They are matched as in `rubriclab.store.diff`; ids say nothing, as every learning run hands them out anew.
    """
    found = compare(before, after)
    added, removed = ({each.id for each in some} for some in (found.added, found.removed))
    changed = {each.after.id: each.before for each in found.changed}
    reworded = {each.before.id for each in found.changed}
    same: dict[object, deque[Criterion]] = defaultdict(deque)
    for each in before.rubric.criteria:
        if each.id not in removed | reworded:
            same[_words(each)].append(each)
    rows = [
        CriterionPair(None, each, "added")
        if each.id in added
        else CriterionPair(changed[each.id], each, "changed")
        if each.id in changed
        else CriterionPair(same[_words(each)].popleft(), each, "kept")
        for each in after.rubric.criteria
    ]
    return (*rows, *(CriterionPair(each, None, "removed") for each in before.rubric.criteria if each.id in removed))


def contribution_changes(rows: Sequence[CriterionPair], before: Score, after: Score, per_point: float) -> FloatArray:
    """Return how far each criterion moved the score by what it contributes, shape (criteria,).

    A criterion of one side only moved it by all that it contributes there.

    Args:
        per_point: points of the scale that changes are in, for each point of the scale after; before it is that scale.
    """
    ours, theirs = ({each.id: each.contribution or 0.0 for each in side.criteria} for side in (before, after))
    return np.array([per_point * _of(row.after, theirs) - _of(row.before, ours) for row in rows])


def score_changes(
    rows: Sequence[CriterionPair], before: Score, after: Score, scales: tuple[Scale, Scale]
) -> FloatArray:
    """Return how far each criterion's own score moved, shape (criteria,), NaN where a side has none.

    Shares of what it can move at all, so that answers of yes and no and scores on a scale can stand side by side. What
    a measure can be has no ends: NaN.

    Args:
        scales: that the criteria of both sides are asked on.
    """
    ours, theirs = (
        {each.id: each.score for each in side.criteria if each.score is not None} for side in (before, after)
    )
    return np.array([_place(row.after, theirs, scales[1]) - _place(row.before, ours, scales[0]) for row in rows])


def rating_of(criterion: Criterion | None, score: Score) -> CriterionScore | None:
    """Return what a text's score says of a criterion; `None` where it says nothing."""
    return next((each for each in score.criteria if criterion and each.id == criterion.id), None)


def _of(criterion: Criterion | None, contributions: Mapping[str, float]) -> float:
    return 0.0 if criterion is None else contributions.get(criterion.id, 0.0)


def _place(criterion: Criterion | None, scores: Mapping[str, float], scale: Scale) -> float:
    """Return where a criterion's score lies between the lowest, 0, and the highest, 1."""
    if criterion is None or criterion.kind == "measure":
        return math.nan
    score = scores.get(criterion.id, math.nan)
    return score if criterion.kind == "question" else (score - scale.low) / scale.width


def _words(criterion: Criterion) -> object:
    return criterion.kind, criterion.trait, criterion.statement, criterion.levels
