"""Which criteria of two versions correspond, and how far each changed a text's score."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rubriclab.data.scale import Scale
from rubriclab.rubric import Criterion
from rubriclab.scoring.score import CriterionScore, Score
from rubriclab.stats.correlation import FloatArray
from rubriclab.store.diff import compare
from rubriclab.store.version import Version

CriterionState = Literal["kept", "changed", "removed", "added", "intercept"]


@dataclass(frozen=True, slots=True)
class CriterionPair:
    """A criterion before and after; one of them is `None` if it was added or removed, both for the intercept."""

    before: Criterion | None
    after: Criterion | None
    state: CriterionState

    @property
    def name(self) -> str:
        """The id, or both ids if they differ."""
        ids = dict.fromkeys(criterion.id for criterion in (self.before, self.after) if criterion)
        return " -> ".join(ids) or self.state


# The score of a text that is average by all criteria.
INTERCEPT = CriterionPair(None, None, "intercept")


def paired_criteria(before: Version, after: Version) -> tuple[CriterionPair, ...]:
    """Return the criteria of both versions, paired by meaning as in `rubriclab.store.diff`.

    Ids do not count, as every training assigns them anew.
    """
    diff = compare(before, after)
    added, removed = ({criterion.id for criterion in criteria} for criteria in (diff.added, diff.removed))
    changed = {change.after.id: change.before for change in diff.changed}
    reworded = {change.before.id for change in diff.changed}
    kept: dict[object, deque[Criterion]] = defaultdict(deque)
    for criterion in before.rubric.criteria:
        if criterion.id not in removed | reworded:
            kept[_wording(criterion)].append(criterion)
    pairs = []
    for criterion in after.rubric.criteria:
        if criterion.id in added:
            pairs.append(CriterionPair(None, criterion, "added"))
        elif criterion.id in changed:
            pairs.append(CriterionPair(changed[criterion.id], criterion, "changed"))
        else:
            pairs.append(CriterionPair(kept[_wording(criterion)].popleft(), criterion, "kept"))
    gone = (criterion for criterion in before.rubric.criteria if criterion.id in removed)
    return (*pairs, *(CriterionPair(criterion, None, "removed") for criterion in gone))


def contribution_changes(
    pairs: Sequence[CriterionPair], before: Score, after: Score, points_per_point: float
) -> FloatArray:
    """Return the change of each criterion's contribution to the score, shape (criteria,).

    A criterion of one version only changed the score by its whole contribution.

    Args:
        points_per_point: points on the scale before for each point on the scale after.
    """

    def contribution(criterion: Criterion | None, score: Score) -> float:
        rating = rating_of(criterion, score)
        return (rating.contribution or 0.0) if rating else 0.0

    return np.array(
        [points_per_point * contribution(pair.after, after) - contribution(pair.before, before) for pair in pairs]
    )


def rating_changes(
    pairs: Sequence[CriterionPair], before: Score, after: Score, scales: tuple[Scale, Scale]
) -> FloatArray:
    """Return the change of each criterion's rating as a share of its range, shape (criteria,).

    NaN if a rating is missing, and for text features, which have no fixed range.

    Args:
        scales: that criteria are rated on before and after.
    """

    def share(criterion: Criterion | None, score: Score, scale: Scale) -> float:
        rating = rating_of(criterion, score)
        if criterion is None or criterion.kind == "feature" or rating is None or rating.score is None:
            return math.nan
        return rating.score if criterion.kind == "question" else (rating.score - scale.low) / scale.width

    return np.array([share(pair.after, after, scales[1]) - share(pair.before, before, scales[0]) for pair in pairs])


def rating_of(criterion: Criterion | None, score: Score) -> CriterionScore | None:
    """Return a text's rating by a criterion; `None` if missing."""
    return next((rating for rating in score.criteria if criterion and rating.id == criterion.id), None)


def _wording(criterion: Criterion) -> object:
    return criterion.kind, criterion.trait, criterion.statement, criterion.levels
