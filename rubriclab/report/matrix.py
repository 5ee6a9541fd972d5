"""The matrix of labelled texts by candidate criteria as rows, one for each text and criterion."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import orjson

from rubriclab.characters import plain
from rubriclab.training_record import Candidate, Cell, TrainingRecord

# What a spreadsheet takes for the beginning of a formula (OWASP, "CSV Injection"), the wide forms of the signs too.
FORMULA = tuple("=+-@\t\n\uff1d\uff0b\uff0d\uff20")


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
    for text, cells in zip(record.texts, record.cells, strict=True):
        known = {
            "text": text.id,
            "group": text.group,
            "label": text.label,
            "predicted": text.predicted,
            "low": text.low,
            "high": text.high,
        }
        for place in places:
            yield known | _found(record.candidates[place], cells[place])


def json_lines(record: TrainingRecord) -> bytes:
    """Return the rows as JSON Lines."""
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows(record))


def csv_table(record: TrainingRecord) -> bytes:
    """Return the rows as CSV, in which nothing that people or models wrote can act as a formula."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    for number, row in enumerate(rows(record)):
        if number == 0:
            writer.writerow(row)
        writer.writerow(map(_harmless, row.values()))
    return table.getvalue().encode()


def _found(candidate: Candidate, cell: Cell) -> dict[str, Any]:
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


def _harmless(value: Any) -> Any:
    """Return what a spreadsheet shows as it stands: numbers as they are, words marked as words where need be."""
    if not isinstance(value, str):
        return value
    words = plain(value)
    return f"'{words}" if words.lstrip(" ").startswith(FORMULA) else words
