"""What a training run saw and found, text by text: kept beside the version in the store, never part of a pack.

It holds people's texts. Plans, reports and later fits read it; scoring does not need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, TypeAdapter, model_serializer

from rubriclab.base_models import FrozenModel, dumped_without_empty
from rubriclab.data.example import Example
from rubriclab.digest import canonical
from rubriclab.rubric import Criterion
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.missing import float_table


class RecordedText(FrozenModel):
    """A labelled text, and what the rubric said of it without its group's labels.

    Attributes:
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
    label: float
    raters: Mapping[str, float] = Field(default_factory=dict)
    reasons: Mapping[str, str] = Field(default_factory=dict)
    predicted: float | None = None
    low: float | None = None
    high: float | None = None

    @model_serializer(mode="wrap")
    def _dump(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return dumped_without_empty(self, dump, "reasons")

    @property
    def example(self) -> Example:
        """The text as a row, without its label."""
        return Example(self.id, self.output, self.group, self.source, self.context, self.reference)


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
