"""Which texts to label next, with what each is expected to bring, and how many more labels are worth it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from rubriclab.active_learning.learning_curve import CONFIDENCE, LearningCurve, learning_curve
from rubriclab.active_learning.optimal_design import DesignPoints, Selection, picks
from rubriclab.active_learning.training_data import eligible, own_values, refitting
from rubriclab.data.example import Example
from rubriclab.provenance import Provenance
from rubriclab.rubric import DIGITS, Criterion, Rubric, rounded
from rubriclab.stats.correlation import FloatArray
from rubriclab.training_record import TrainingRecord
from rubriclab.validation import Interval


@dataclass(frozen=True, slots=True)
class PoolText:
    """A text without a label, and its scores by the rubric's criteria; a missing one is `None` or not there."""

    example: Example
    scores: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class InformativeCriterion:
    """What a text's label tells most about.

    Attributes:
        criterion: whose worth it is.
        score: the text's by it.
        usual: the mean of the labelled texts.
    """

    criterion: Criterion
    score: float
    usual: float


@dataclass(frozen=True, slots=True)
class SelectedText:
    """A text to label, as if those before it had their labels.

    Attributes:
        rank: from 1.
        gain: by how many points its label is expected to narrow `width`.
        width: of the interval that uncertain weights leave to the score of a text, in points of the scale, on average
            over the pool, with this label and those before it.
        agreement: to be expected with them on texts held out, in Pearson correlation; `None` where that is not known.
        clue: `None` where no criterion has a score that says more than the others.
    """

    rank: int
    example: Example
    gain: float
    width: float
    agreement: float | None
    clue: InformativeCriterion | None


@dataclass(frozen=True, slots=True)
class StoppingAdvice:
    """How many more labels are worth it.

    Attributes:
        labels: that the rubric has learned from.
        threshold: what ten labels have to add for them to be worth it, in correlation.
        more: labels until ten further ones add less than that.
        now, then: agreement to be expected with the labels there are, and with so many more.
    """

    labels: int
    threshold: float
    more: Interval
    now: Interval
    then: Interval

    def to_row(self) -> dict[str, Any]:
        """Return the advice as one JSON object."""
        found = {name: _figures(getattr(self, name)) for name in ("more", "now", "then")}
        return {"labels": self.labels, "threshold_per_10": self.threshold, **found}


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """The texts to label, and the advice on how many; none where the labels cannot tell.

    Attributes:
        pool: texts that were compared.
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
    """Return which of the pool's texts to label, the one that tells most first, and how many labels are worth it.

    The same pool gives the same plan in whatever order it comes.

    Args:
        record: of the training of `rubric`, which has a combination.
        pool: texts with scores; ids may stand more than once, but no text should.
        count: how many to plan; as many as there are if these are fewer.
        threshold: what ten more labels have to add to the correlation with people to be worth it.
    """
    terms = rubric.aggregation.terms if rubric.aggregation else ()
    ordered = sorted(pool, key=_place)
    values = _values(ordered, [term.criterion for term in terms])
    known = own_values(record, rubric)
    sizes = np.abs([term.weight for term in terms])
    found = picks(
        DesignPoints(values, [each.example.group for each in ordered]),
        DesignPoints(known, [text.group for text in record.texts]),
        sizes / sizes.sum(),
        count,
    )
    curve = learning_curve(eligible(record, rubric, provenance), refitting(provenance))
    story = _Story(rubric, ordered, values, known, record, curve)
    width = story.width(found[0].before) if found else 0.0
    return LabelPlan(story.told(found), len(ordered), width, advice(curve, threshold) if curve else None)


def advice(curve: LearningCurve, threshold: float) -> StoppingAdvice:
    """Return how many more labels are worth it by a learning curve."""
    more = curve.worth(threshold)
    then = curve.at(curve.labels + round(more.value or 0))
    return StoppingAdvice(curve.labels, threshold, more, curve.at(curve.labels), then)


def _place(rated: PoolText) -> tuple[str, ...]:
    example = rated.example
    return (example.id, example.group, example.output, example.source or "", example.context or "")


def _values(rated: Sequence[PoolText], criteria: Sequence[str]) -> FloatArray:
    scores = [[each.scores.get(name) for name in criteria] for each in rated]
    rows = [[math.nan if score is None else score for score in row] for row in scores]
    return np.array(rows, dtype=float).reshape(len(rated), len(criteria))


@dataclass(frozen=True, eq=False)
class _Story:
    """What the picks are told with."""

    rubric: Rubric
    pool: Sequence[PoolText]
    values: FloatArray
    known: FloatArray
    record: TrainingRecord
    curve: LearningCurve | None

    def width(self, variance: float) -> float:
        """Return the width of the interval that such a variance leaves, in points; variances are in units of the
        labels'."""
        reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        spread = float(np.std([text.label for text in self.record.texts]))
        return round(2 * reach * spread * math.sqrt(max(variance, 0.0)), DIGITS)

    def told(self, found: Sequence[Selection]) -> tuple[SelectedText, ...]:
        """Return the picks as a person reads them."""
        return tuple(
            SelectedText(
                rank=rank,
                example=self.pool[pick.place].example,
                gain=round(self.width(pick.before) - self.width(pick.after), DIGITS),
                width=self.width(pick.after),
                agreement=rounded(self.curve.at(self.curve.labels + rank).value) if self.curve else None,
                clue=self._clue(pick),
            )
            for rank, pick in enumerate(found, start=1)
        )

    def _clue(self, pick: Selection) -> InformativeCriterion | None:
        """Return the criterion whose worth the label tells most about, among those that the text has a score by."""
        there = ~np.isnan(self.values[pick.place]) & ~np.isnan(self.known).all(axis=0)
        told = np.where(there, pick.told, 0.0).round(DIGITS)
        best = int(np.argmax(told))
        if not told[best] > 0 or self.rubric.aggregation is None:
            return None
        name = self.rubric.aggregation.terms[best].criterion
        criterion = next(each for each in self.rubric.criteria if each.id == name)
        usual = float(np.nanmean(self.known[:, best]))
        return InformativeCriterion(criterion, float(self.values[pick.place, best]), round(usual, DIGITS))


def _figures(found: Interval) -> dict[str, float | None]:
    return {name: rounded(value) for name, value in found.model_dump().items()}
