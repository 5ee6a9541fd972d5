"""What a training run saw and found, text by text: kept beside the version in the store, never part of a pack.

It holds people's texts. Plans, reports and later fits read it; scoring does not need it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter

from rubriclab.aggregation import MOST_MISSING, Aggregation
from rubriclab.base_models import FrozenModel
from rubriclab.data.example import Example
from rubriclab.digest import canonical
from rubriclab.rubric import Criterion
from rubriclab.stats.correlation import FloatArray, float_table


class RecordedText(FrozenModel):
    """A labelled text, and what the rubric said of it without its group's labels.

    Attributes:
        system: what made the text, where known.
        label: the human score.
        raters: each person's score by name, where known.
        reasons: each person's reason for the score by name; the name of an unknown person is empty.
        predicted, low, high: by the rubric fitted to the other groups; `None` where there is no such score.
    """

    id: str
    group: str
    output: str
    source: str | None = None
    context: str | None = None
    reference: str | None = None
    system: str | None = None
    label: float
    raters: Mapping[str, float] = Field(default_factory=dict)
    reasons: Mapping[str, str] = Field(default_factory=dict, exclude_if=lambda reasons: not reasons)
    predicted: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def example(self) -> Example:
        """The text as a row, without its label."""
        return Example(self.id, self.output, self.group, self.source, self.context, self.reference, self.system)


@dataclass(frozen=True, slots=True)
class Cell:
    """What was found of one text by one criterion: a score with its reason, or no score and why.

    `applies` is false where the criterion cannot be asked of the text: that is an answer, and no failure. No model like
    the others, as these would take ten times the memory: 10,000 texts have a million cells.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    score: float | None
    reason: str
    applies: bool = True


class Candidate(FrozenModel):
    """A criterion that took part in the choice, and the method that it came from.

    Attributes:
        kept: whether the rubric has it.
        made_from: ids of the labelled texts whose labels had a part in making it.
        by_hand: whether a person added it to the rubric or removed it; `None` if the labels decided.
    """

    method: str
    criterion: Criterion
    kept: bool
    made_from: tuple[str, ...] = ()
    by_hand: Literal["added", "removed"] | None = None


class TrainingRecord(FrozenModel):
    """The matrix of labelled texts by candidate criteria, with texts and labels.

    Attributes:
        cells: one row for each text, one cell for each candidate.
    """

    texts: tuple[RecordedText, ...]
    candidates: tuple[Candidate, ...]
    cells: tuple[tuple[Cell, ...], ...]

    def content(self) -> Iterator[str]:
        """Yield the canonical JSON of the record row by row: as one piece it takes many times its length.

        Raises:
            ValueError: if a row could not be read back as the same.
        """
        candidates = [each.model_dump(mode="json", warnings="error") for each in self.candidates]
        yield f'{{"candidates":{canonical(candidates)}'
        for name, rows in (("cells", map(_row_content, self.cells)), ("texts", map(_text_content, self.texts))):
            yield f',"{name}":['
            for place, row in enumerate(rows):
                yield f",{row}" if place else row
            yield "]"
        yield "}"

    @property
    def matrix(self) -> FloatArray:
        """Scores, shape (texts, candidates), NaN where there is none."""
        return float_table(([cell.score for cell in row] for row in self.cells), len(self.candidates))


_ROW = TypeAdapter(tuple[Cell, ...])


def _row_content(row: tuple[Cell, ...]) -> str:
    content = canonical(_ROW.dump_python(row, mode="json", warnings="error"))
    if _ROW.validate_json(content) != row:
        raise ValueError("a row of cells would read back as another")
    return content


def _text_content(text: RecordedText) -> str:
    content = canonical(text.model_dump(mode="json", warnings="error"))
    if RecordedText.model_validate_json(content) != text:
        raise ValueError(f"the text {text.id!r} would read back as another")
    return content


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
