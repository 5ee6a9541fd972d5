"""The training record of a version: its ratings as a matrix, its labels, and where people and the rubric differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rubriclab.models.characters import count
from rubriclab.models.text import Scale
from rubriclab.models.version import (
    Candidate,
    Cell,
    RecordedText,
    TrainingRecord,
)
from rubriclab.report import charts, describe
from rubriclab.report.model import (
    Card,
    Cell as ViewCell,
    Pairs,
    Paragraph,
    Section,
    Table,
    View,
    line,
    quiet,
    quoted,
    table,
)
from rubriclab.report.texts import MOST_SHOWN, TITLE, distance, text_card
from rubriclab.report.wording import counted
from rubriclab.stats.intervals import Interval

if TYPE_CHECKING:
    from rubriclab.models.version import Version

# Criteria beside each other in a table of the matrix, which fits into 80 columns.
MATRIX_COLUMNS = 6


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

    @property
    def side(self) -> Literal["higher", "lower"]:
        """Whether the rubric's score is higher or lower than the label."""
        return "higher" if self.points > 0 else "lower"


def disagreements(record: TrainingRecord, most: int = MOST_SHOWN) -> list[Disagreement]:
    """Return the texts whose held-out scores lie furthest from their labels, in points of the scale."""
    differing = [
        Disagreement(
            text,
            (text.predicted or 0.0) - text.label,
            tuple((of, cell) for of, cell in zip(record.candidates, cells, strict=True) if of.kept),
        )
        for text, cells in zip(record.texts, record.cells, strict=True)
        if distance(text)
    ]
    return sorted(differing, key=lambda each: (-abs(each.points), each.text.id))[:most]


def disagreements_view(version: Version, record: TrainingRecord, texts: Sequence[Disagreement]) -> View:
    """Return the texts as a report of their own, in a terminal too."""
    if not texts:
        return View(quoted(version.ref), (Paragraph("No text has a held-out score that differs from its label."),))
    section = replace(disagreement_section(version, record, texts), page_only=False)
    return View(quoted(version.ref), (section,), "rubriclab disagreements", unfolded=True)


def disagreement_section(version: Version, record: TrainingRecord, texts: Sequence[Disagreement]) -> Section:
    """Return the texts with label, raters' scores, held-out score, and every criterion's score and reason."""
    about = (
        f"Held-out scores furthest from the labels, in points of the scale from {version.rubric.scores_on.describe()}. "
        "Hollow is the label, strokes are single raters, filled is the rubric with its interval."
    )
    axis, scale = score_axis_of(version, record.texts), version.rubric.scores_on
    cards = (disagreement_card(axis, scale, each, opened=number == 0) for number, each in enumerate(texts))
    title = "Largest disagreements with people"
    return Section(title, (Paragraph(about), *cards), name="disagreements", page_only=True)


def disagreement_card(
    axis: charts.Axis, scale: Scale, disagreement: Disagreement, *, opened: bool, full: bool = False
) -> Card:
    """Return a text with label and score on the axis, folded or opened, and every criterion's score and reason."""
    answers = [
        (
            line(quoted(candidate.criterion.id, "id"), quoted(describe.title(candidate.criterion, TITLE))),
            describe.answered(cell, candidate.criterion),
            quoted(cell.reason),
        )
        for candidate, cell in disagreement.answers
    ]
    return text_card(axis, scale, disagreement.text, answers, opened=opened, full=full)


def score_axis_of(version: Version, texts: Sequence[RecordedText]) -> charts.Axis:
    """Return the axis that holds the scale and every label and score of the texts."""
    marks = [mark for text in texts for mark in (text.label, *text.raters.values())]
    scores = [Interval(text.predicted, text.low, text.high) for text in texts]
    return charts.axis_of(scores, version.rubric.scores_on.low, version.rubric.scores_on.high, *marks)


def matrix_view(record: TrainingRecord) -> View:
    """Return the matrix, the criteria that the rubric kept first, and below it what each criterion is."""
    places = ranked(record)
    candidates = [record.candidates[place] for place in places]
    kept = sum(candidate.kept for candidate in candidates)
    title = f"{count(len(record.texts), 'labelled text')} by {counted(len(places), 'candidate criterion')}"
    legend = tuple(
        (
            each.criterion.id,
            line(
                quoted(describe.title(each.criterion, TITLE)),
                quiet(f"{each.method}{'' if each.kept else '; not kept'}"),
            ),
        )
        for each in candidates
    )
    blocks = (
        *(_matrix(record, places[start : start + MATRIX_COLUMNS]) for start in range(0, len(places), MATRIX_COLUMNS)),
        Paragraph("rubric: its score when the labels of the text's own group were held out", "quiet"),
        Paragraph("none: no usable rating; n/a: cannot be asked of the text", "quiet"),
    )
    sections = (Section(title, blocks, f"{kept} kept, which come first"), Section("Criteria", (Pairs(legend),)))
    return View((), sections, "rubriclab matrix")


def _matrix(record: TrainingRecord, places: Sequence[int]) -> Table:
    columns = ("text", "label", "rubric", *(record.candidates[place].criterion.id for place in places))
    rows: list[tuple[ViewCell, ...]] = [
        (
            quoted(text.id),
            describe.rounded(text.label),
            describe.rounded(text.predicted),
            *(describe.answered(cells[place], record.candidates[place].criterion) for place in places),
        )
        for text, cells in zip(record.texts, record.cells, strict=True)
    ]
    return table(columns, rows, numeric=columns[1:])


def ranked(record: TrainingRecord) -> list[int]:
    """Return the places of the candidates, those that the rubric kept first."""
    return sorted(range(len(record.candidates)), key=lambda place: not record.candidates[place].kept)


def matrix_rows(record: TrainingRecord) -> Iterator[dict[str, Any]]:
    """Yield the matrix text by text, in each the criteria that were kept first.

    `reason` is the judge's where the cell is scored; else it says why there is no score.
    """
    for text, cells in zip(record.texts, record.cells, strict=True):
        columns = {name: getattr(text, name) for name in ("group", "label", "predicted", "low", "high")}
        for place in ranked(record):
            candidate, cell = record.candidates[place], cells[place]
            missing = "missing" if cell.applies else "does not apply"
            yield {
                "text": text.id,
                **columns,
                "criterion": candidate.criterion.id,
                "method": candidate.method,
                "kind": candidate.criterion.kind,
                "kept": candidate.kept,
                "trait": candidate.criterion.trait,
                "statement": candidate.criterion.statement,
                "state": missing if cell.score is None else "scored",
                "score": cell.score,
                "reason": cell.reason,
            }
