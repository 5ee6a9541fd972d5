"""The labelled texts that a rubric rates most like a text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rubriclab.aggregation import MOST_MISSING, Aggregation
from rubriclab.stats.correlation import FloatArray
from rubriclab.training_record import RecordedText, TrainingRecord


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A labelled text, and its distance from the text in question: 0 if all criteria rate both the same.

    `distance` is in standard deviations of the criteria's ratings.
    """

    text: RecordedText
    distance: float


def nearest_texts(
    record: TrainingRecord, aggregation: Aggregation, ratings: Mapping[str, float | None], most: int
) -> tuple[Neighbour, ...]:
    """Return the labelled texts with the most similar ratings, the nearest first.

    The distance is the root of the mean squared difference of the standardised ratings, weighted by the sizes of the
    criteria's weights: what separates two texts is what separates their scores. Similarity of words would find texts
    about the same subject instead. Labelled texts that share less than half of the weight with the text are left out.

    Args:
        ratings: the text's ratings by criterion, `None` or no entry where there is none.
    """
    columns = {candidate.criterion.id: place for place, candidate in enumerate(record.candidates) if candidate.kept}
    terms = [
        term for term in aggregation.terms if term.criterion in columns and ratings.get(term.criterion) is not None
    ]
    if not terms or not most:
        return ()
    spread = np.array([term.spread for term in terms])
    mine = np.array([ratings[term.criterion] for term in terms], dtype=float)
    theirs = record.matrix[:, [columns[term.criterion] for term in terms]]
    distances = _distances((theirs - mine) / spread, np.array([abs(term.weight) for term in terms]))
    order = sorted(range(len(distances)), key=lambda place: (distances[place], record.texts[place].id))
    return tuple(
        Neighbour(record.texts[place], float(distances[place]))
        for place in order[:most]
        if math.isfinite(distances[place])
    )


def _distances(differences: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the distance of each text, shape (texts,); infinite if too little of the weight is shared."""
    shared = np.where(np.isnan(differences), 0.0, sizes)
    weight = shared.sum(axis=1)
    squares = (shared * np.square(np.nan_to_num(differences))).sum(axis=1)
    enough = weight > MOST_MISSING * sizes.sum()
    return np.where(enough, np.sqrt(squares / np.where(enough, weight, 1.0)), np.inf)
