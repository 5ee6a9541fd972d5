"""Which texts to label next, with the rating that makes each most unusual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.data.example import Example
from rubriclab.learning.rating_matrix import centers_and_spreads, standardised
from rubriclab.rubric import Criterion, Rubric
from rubriclab.stats.correlation import FloatArray, float_table
from rubriclab.stats.interval import DIGITS
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
    return float_table(([text.ratings.get(name) for name in criteria] for text in texts), len(criteria))


def _unusual(rubric: Rubric, distances: FloatArray, ratings: FloatArray, labelled: FloatArray) -> UnusualRating | None:
    best = int(np.argmax(distances))
    if not distances[best] > 0 or rubric.aggregation is None:
        return None
    name = rubric.aggregation.terms[best].criterion
    criterion = next(criterion for criterion in rubric.criteria if criterion.id == name)
    return UnusualRating(criterion, float(ratings[best]), round(float(np.nanmean(labelled[:, best])), DIGITS))


def standardised_ratings(pool: FloatArray, labelled: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ratings of both, shape (texts, criteria), standardised over both together; missing ones are 0."""
    scale = centers_and_spreads(np.vstack([pool, labelled]))
    return standardised(pool, *scale), standardised(labelled, *scale)


def select_texts(
    pool: FloatArray, groups: Sequence[str], labelled: FloatArray, labelled_groups: Sequence[str], shares: FloatArray
) -> list[int]:
    """Return the rows of the pool in the order of labelling.

    Labels of whole groups raise agreement within groups more than scattered ones. An optimal design of the labels
    (V-optimality) was measured to add nothing: see the record of decisions.

    Groups without any label come first. The next group is the one whose mean ratings are farthest from those of all
    groups labelled or selected before it (farthest-first traversal: Gonzalez 1985, "Clustering to minimize the maximum
    intercluster distance", Theoretical Computer Science 38). All its texts follow, those with the largest leverage, the
    distance from the mean of all texts, first. Distances are Euclidean, weighted by the criteria's shares.

    Args:
        pool, labelled: standardised ratings, shape (texts, criteria), as from `standardised_ratings`.
        groups, labelled_groups: of the texts.
        shares: of each criterion in the rubric's score, shape (criteria,), not negative, with the sum 1.
    """
    points, known = pool * np.sqrt(shares), labelled * np.sqrt(shares)
    rows_of = _rows_of(groups)
    names = list(rows_of)
    means = np.array([points[rows].mean(axis=0) for rows in rows_of.values()])
    seen = np.array([known[rows].mean(axis=0) for rows in _rows_of(labelled_groups).values()])
    distance = np.linalg.norm(means[:, np.newaxis] - seen, axis=2).min(axis=1)
    labelled_already = np.isin(names, list(labelled_groups))
    left = np.ones(len(names), dtype=bool)
    selected: list[int] = []
    while left.any():
        eligible = left & ~labelled_already if (left & ~labelled_already).any() else left
        # Equal up to rounding: ties must not be decided by the last bits of a sum.
        best = int(np.argmax(np.where(eligible, distance.round(9), -1.0)))
        left[best] = False
        leverage = np.square(points[rows_of[names[best]]]).sum(axis=1).round(9)
        selected.extend(np.array(rows_of[names[best]])[np.argsort(-leverage, kind="stable")].tolist())
        distance = np.minimum(distance, np.linalg.norm(means - means[best], axis=1))
    return selected


def _rows_of(groups: Sequence[str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    return rows
