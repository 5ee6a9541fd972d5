"""Which texts to label next, with the rating that makes each most unusual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.active_learning.selection import select_texts, standardised_ratings
from rubriclab.data.example import Example
from rubriclab.rubric import Criterion, Rubric
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import DIGITS
from rubriclab.stats.missing import float_table
from rubriclab.training_record import TrainingRecord


@dataclass(frozen=True, slots=True)
class PoolText:
    """A text without a label, and its ratings by the rubric's criteria; missing ratings are `None` or left out."""

    example: Example
    ratings: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class UnusualRating:
    """The rating that makes a text most unusual, by the criterion's weight and distance from the mean.

    Attributes:
        rating: the text's.
        mean: of the labelled texts' ratings.
    """

    criterion: Criterion
    rating: float
    mean: float


@dataclass(frozen=True, slots=True)
class SelectedText:
    """A text to label.

    Attributes:
        rank: from 1.
        new_group: whether no text of its group is labelled yet.
        unusual: `None` if no rating differs from the mean.
    """

    rank: int
    example: Example
    new_group: bool
    unusual: UnusualRating | None


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """The texts to label.

    Attributes:
        pool: number of texts compared.
    """

    texts: tuple[SelectedText, ...]
    pool: int


def plan(rubric: Rubric, record: TrainingRecord, pool: Sequence[PoolText], count: int) -> LabelPlan:
    """Return which texts of the pool to label; see `select_texts` for the order.

    The plan does not depend on the order of the pool.

    Args:
        record: of the training of `rubric`, which has an aggregation.
        pool: texts with ratings; ids may repeat, texts may not.
        count: how many to plan, at most the size of the pool.
    """
    terms = rubric.aggregation.terms if rubric.aggregation else ()
    ordered = sorted(pool, key=_order)
    ratings = _ratings(ordered, [term.criterion for term in terms])
    column_of = {candidate.criterion.id: column for column, candidate in enumerate(record.candidates)}
    labelled = record.matrix[:, [column_of[term.criterion] for term in terms]]
    sizes = np.abs([term.weight for term in terms])
    shares = sizes / sizes.sum()
    z, labelled_z = standardised_ratings(ratings, labelled)
    groups, labelled_groups = [text.example.group for text in ordered], [text.group for text in record.texts]
    chosen = select_texts(z, groups, labelled_z, labelled_groups, shares)[:count]
    texts = tuple(
        SelectedText(
            rank=rank,
            example=ordered[row].example,
            new_group=groups[row] not in labelled_groups,
            unusual=_unusual(rubric, shares * np.abs(z[row]), ratings[row], labelled),
        )
        for rank, row in enumerate(chosen, start=1)
    )
    return LabelPlan(texts, len(ordered))


def _order(text: PoolText) -> tuple[str, ...]:
    example = text.example
    return (example.id, example.group, example.output, example.source or "", example.context or "")


def _ratings(texts: Sequence[PoolText], criteria: Sequence[str]) -> FloatArray:
    """Return the ratings, shape (texts, criteria), NaN where missing."""
    return float_table(([text.ratings.get(name) for name in criteria] for text in texts), len(criteria))


def _unusual(rubric: Rubric, distances: FloatArray, ratings: FloatArray, labelled: FloatArray) -> UnusualRating | None:
    """Return the rating with the largest weighted distance from the mean."""
    best = int(np.argmax(distances))
    if not distances[best] > 0 or rubric.aggregation is None:
        return None
    name = rubric.aggregation.terms[best].criterion
    criterion = next(criterion for criterion in rubric.criteria if criterion.id == name)
    return UnusualRating(criterion, float(ratings[best]), round(float(np.nanmean(labelled[:, best])), DIGITS))
