"""Which texts to label next, the expected benefit of each, and how many more labels are worth it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from rubriclab.active_learning.learning_curve import CONFIDENCE, LearningCurve, learning_curve
from rubriclab.active_learning.optimal_design import DesignPoints, Selection, select_texts
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
class InformativeCriterion:
    """The criterion with the weight that a text's label is most informative about.

    Attributes:
        rating: the text's.
        mean: of the labelled texts' ratings.
    """

    criterion: Criterion
    rating: float
    mean: float


@dataclass(frozen=True, slots=True)
class SelectedText:
    """A text to label, given labels of those before it.

    Attributes:
        rank: from 1.
        gain: by how many points its label is expected to narrow `width`.
        width: of the interval of a score given uncertain weights, in points of the scale, mean over the pool, with
            this label and those before it.
        agreement: expected Pearson correlation on held-out texts with these labels; `None` if unknown.
        informative: `None` if no criterion's rating is more informative than the others.
    """

    rank: int
    example: Example
    gain: float
    width: float
    agreement: float | None
    informative: InformativeCriterion | None


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
        width: as in `SelectedText`, before any of the labels.
    """

    texts: tuple[SelectedText, ...]
    pool: int
    width: float
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
    """Return which texts of the pool to label, the most informative first, and how many labels are worth it.

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
    selections = select_texts(
        DesignPoints(ratings, [text.example.group for text in ordered]),
        DesignPoints(labelled, [text.group for text in record.texts]),
        sizes / sizes.sum(),
        count,
    )
    curve = learning_curve(eligible_candidates(record, rubric, provenance), refit_settings(provenance))
    spread = float(np.std([text.label for text in record.texts]))
    texts = tuple(
        SelectedText(
            rank=rank,
            example=ordered[selection.row].example,
            gain=round(_width(selection.before, spread) - _width(selection.after, spread), DIGITS),
            width=_width(selection.after, spread),
            agreement=rounded(curve.at(curve.labels + rank).value) if curve else None,
            informative=_informative(rubric, selection, ratings[selection.row], labelled),
        )
        for rank, selection in enumerate(selections, start=1)
    )
    width = _width(selections[0].before, spread) if selections else 0.0
    return LabelPlan(texts, len(ordered), width, stopping_advice(curve, threshold) if curve else None)


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


def _width(variance: float, spread: float) -> float:
    """Return the width of the interval that a variance leaves, in points, given the labels' standard deviation."""
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    return round(2 * z * spread * math.sqrt(max(variance, 0.0)), DIGITS)


def _informative(
    rubric: Rubric, selection: Selection, ratings: FloatArray, labelled: FloatArray
) -> InformativeCriterion | None:
    """Return the criterion with the weight that the label is most informative about, of those that rate the text."""
    rated = ~np.isnan(ratings) & ~np.isnan(labelled).all(axis=0)
    information = np.where(rated, selection.information, 0.0).round(DIGITS)
    best = int(np.argmax(information))
    if not information[best] > 0 or rubric.aggregation is None:
        return None
    name = rubric.aggregation.terms[best].criterion
    criterion = next(criterion for criterion in rubric.criteria if criterion.id == name)
    mean = float(np.nanmean(labelled[:, best]))
    return InformativeCriterion(criterion, float(ratings[best]), round(mean, DIGITS))
