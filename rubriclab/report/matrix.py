"""The matrix of labelled texts by candidate criteria: as a view, and as rows for files, one a text and criterion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rubriclab.report import describe
from rubriclab.report.model import Pairs, Paragraph, Row, Section, Table, View, Words, line, quiet, quoted
from rubriclab.report.wording import count, counted
from rubriclab.training_record import Candidate, Cell, RecordedText, TrainingRecord

TITLE = 60


def matrix_view(record: TrainingRecord) -> View:
    """Return the matrix, the criteria that the rubric kept first, and below it what each criterion is."""
    places = ranked(record)
    candidates = [record.candidates[place] for place in places]
    columns = ("text", "label", "rubric", *(candidate.criterion.id for candidate in candidates))
    rows = tuple(_row(text, [cells[place] for place in places], candidates) for text, cells in _texts(record))
    kept = sum(candidate.kept for candidate in candidates)
    title = f"{count(len(record.texts), 'labelled text')} by {counted(len(places), 'candidate criterion')}"
    legend = tuple((candidate.criterion.id, _legend(candidate)) for candidate in candidates)
    blocks = (
        Table(columns, rows, columns[1:], repeated=3),
        Paragraph("rubric: its score when the labels of the text's own group were held out", "quiet"),
        Paragraph("none: no usable rating; n/a: cannot be asked of the text", "quiet"),
    )
    sections = (Section(title, blocks, f"{kept} kept, which come first"), Section("Criteria", (Pairs(legend),)))
    return View((), sections, "rubriclab matrix")


def _texts(record: TrainingRecord) -> Iterator[tuple[RecordedText, Sequence[Cell]]]:
    yield from zip(record.texts, record.cells, strict=True)


def _row(text: RecordedText, cells: Sequence[Cell], candidates: Sequence[Candidate]) -> Row:
    pairs = zip(cells, candidates, strict=True)
    answers = (describe.answered(cell, candidate.criterion) for cell, candidate in pairs)
    return Row((quoted(text.id), describe.rounded(text.label), describe.rounded(text.predicted), *answers))


def _legend(candidate: Candidate) -> Words:
    state = "" if candidate.kept else "; not kept"
    return line(quoted(describe.title(candidate.criterion, TITLE)), quiet(f"{candidate.method}{state}"))


def ranked(record: TrainingRecord) -> list[int]:
    """Return the places of the candidates, those that the rubric kept first."""
    return sorted(range(len(record.candidates)), key=lambda place: not record.candidates[place].kept)


def state(cell: Cell) -> str:
    """Return whether a cell holds a score, or why it does not: `scored`, `does not apply` or `missing`."""
    if cell.score is not None:
        return "scored"
    return "missing" if cell.applies else "does not apply"


def rows(record: TrainingRecord) -> Iterator[dict[str, Any]]:
    """Yield the matrix text by text, in each the criteria that were kept first.

    `reason` is the judge's where the cell is scored; else it says why there is no score.
    """
    places = ranked(record)
    for text, cells in _texts(record):
        columns = {
            "text": text.id,
            "group": text.group,
            "label": text.label,
            "predicted": text.predicted,
            "low": text.low,
            "high": text.high,
        }
        for place in places:
            yield columns | _cell(record.candidates[place], cells[place])


def _cell(candidate: Candidate, cell: Cell) -> dict[str, Any]:
    criterion = candidate.criterion
    return {
        "criterion": criterion.id,
        "method": candidate.method,
        "kind": criterion.kind,
        "kept": candidate.kept,
        "trait": criterion.trait,
        "statement": criterion.statement,
        "state": state(cell),
        "score": cell.score,
        "reason": cell.reason,
    }
