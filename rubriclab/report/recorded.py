"""Labelled texts with their held-out scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rubriclab.report.wording import count
from rubriclab.training_record import Candidate, Cell, RecordedText, TrainingRecord

MOST_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A text on which people and the rubric differ.

    Attributes:
        points: by how much the rubric's score lies above the label.
        answers: the ratings by each criterion of the rubric.
    """

    text: RecordedText
    points: float
    answers: tuple[tuple[Candidate, Cell], ...]


def disagreements(record: TrainingRecord, most: int = MOST_SHOWN) -> list[Disagreement]:
    """Return the texts whose held-out scores lie furthest from their labels, in points of the scale."""
    differing = [
        Disagreement(text, text.predicted - text.label, _kept(record.candidates, cells))
        for text, cells in zip(record.texts, record.cells, strict=True)
        if text.predicted is not None and text.predicted != text.label
    ]
    return sorted(differing, key=lambda one: (-abs(one.points), one.text.id))[:most]


def predicted(record: TrainingRecord) -> list[RecordedText]:
    """Return the texts that have a held-out score."""
    return [text for text in record.texts if text.predicted is not None]


def coverage(record: TrainingRecord, confidence: float) -> str:
    """Return how many intervals contain their label, and why this is not evidence; empty without intervals."""
    held = [
        text.low <= text.label <= text.high for text in record.texts if text.low is not None and text.high is not None
    ]
    if not held:
        return ""
    inside = f"{sum(held)} of {count(len(held), 'label')} lie inside"
    return (
        f"{inside}, by construction, as these texts determine the width; for new texts the intervals are meant to "
        f"contain {100 * confidence:.0f} %."
    )


def _kept(candidates: Sequence[Candidate], cells: Sequence[Cell]) -> tuple[tuple[Candidate, Cell], ...]:
    pairs = zip(candidates, cells, strict=True)
    return tuple((candidate, cell) for candidate, cell in pairs if candidate.kept)
