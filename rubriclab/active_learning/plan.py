"""Which texts to label next, the expected benefit of each, and how many more labels are worth it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rubriclab.active_learning.learning_curve import LearningCurve, learning_curve
from rubriclab.active_learning.selection import select_texts, standardised_ratings
from rubriclab.active_learning.training_data import eligible_candidates, refit_settings, rubric_ratings
from rubriclab.data.example import Example
from rubriclab.provenance import Provenance
from rubriclab.rubric import Criterion, Rubric
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import DIGITS, Interval, rounded
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
        agreement: expected Pearson correlation on held-out texts with the labels up to this one; `None` if unknown.
        unusual: `None` if no rating differs from the mean.
    """

    rank: int
    example: Example
    new_group: bool
    agreement: float | None
    unusual: UnusualRating | None


@dataclass(frozen=True, slots=True)
class StoppingAdvice:
    """How many more labels are worth it.

    Attributes:
        labels: that the rubric was learned from.
        threshold: what ten labels have to add in correlation to be worth it.
        more: labels until ten further ones add less than that.
        now, then: expected agreement with the present labels, and with so many more.
    """

    labels: int
    threshold: float
    more: Interval
    now: Interval
    then: Interval

    def to_row(self) -> dict[str, Any]:
        """Return the advice as one JSON object."""
        intervals = {"more": self.more, "now": self.now, "then": self.then}
        rows = {name: asdict(interval.rounded()) for name, interval in intervals.items()}
        return {"labels": self.labels, "threshold_per_10": self.threshold, **rows}


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """The texts to label, and the advice on how many; `None` if the labels do not show it.

    Attributes:
        pool: number of texts compared.
    """

    texts: tuple[SelectedText, ...]
    pool: int
    advice: StoppingAdvice | None


def plan(
    rubric: Rubric,
    provenance: Provenance,
    record: TrainingRecord,
    pool: Sequence[PoolText],
    count: int,
    *,
    threshold: float,
) -> LabelPlan:
    """Return which texts of the pool to label, and how many labels are worth it; see `select_texts` for the order.

    The plan does not depend on the order of the pool.

    Args:
        record: of the training of `rubric`, which has an aggregation.
        pool: texts with ratings; ids may repeat, texts may not.
        count: how many to plan, at most the size of the pool.
        threshold: what ten more labels have to add to the correlation with people to be worth it.
    """
    terms = rubric.aggregation.terms if rubric.aggregation else ()
    ordered = sorted(pool, key=_order)
    ratings = _ratings(ordered, [term.criterion for term in terms])
    labelled = rubric_ratings(record, rubric)
    sizes = np.abs([term.weight for term in terms])
    shares = sizes / sizes.sum()
    z, labelled_z = standardised_ratings(ratings, labelled)
    groups, labelled_groups = [text.example.group for text in ordered], [text.group for text in record.texts]
    chosen = select_texts(z, groups, labelled_z, labelled_groups, shares)[:count]
    curve = learning_curve(eligible_candidates(record, rubric, provenance), refit_settings(provenance))
    texts = tuple(
        SelectedText(
            rank=rank,
            example=ordered[row].example,
            new_group=groups[row] not in labelled_groups,
            agreement=rounded(curve.at(curve.labels + rank).value) if curve else None,
            unusual=_unusual(rubric, shares * np.abs(z[row]), ratings[row], labelled),
        )
        for rank, row in enumerate(chosen, start=1)
    )
    return LabelPlan(texts, len(ordered), stopping_advice(curve, threshold) if curve else None)


def stopping_advice(curve: LearningCurve, threshold: float) -> StoppingAdvice:
    """Return how many more labels are worth it by a learning curve."""
    more = curve.worthwhile(threshold)
    then = curve.at(curve.labels + round(more.value or 0))
    return StoppingAdvice(curve.labels, threshold, more, curve.at(curve.labels), then)


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
