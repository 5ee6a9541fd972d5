"""Exports of Argilla: records as JSON, and rows of its data sets (`records.to_datasets()`, `to_list(flatten=True)`).

Argilla 2's records name each question with the responses to it. Data sets have a column `QUESTION.responses` and beside
it those of the raters and of the status of each response. Sources: `argilla.records` of the package `argilla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rubriclab.data.annotation_export import Answer, Export, Task
from rubriclab.data.row import RowError
from rubriclab.descriptions import describe
from rubriclab.errors import DataError

_RESPONSES, _SUGGESTION = ".responses", ".suggestion"
_RATERS, _STATUS = ".users", ".status"
_SUBMITTED = (None, "submitted")
_OF_RECORD = ("status", "_server_id")
# The column of a field or of metadata that is called `id`, as the id of the record is.
_OTHER_ID = "data.id"


def is_record(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a record of the JSON export."""
    return all(isinstance(row.get(name), Mapping) for name in ("fields", "responses")) and "suggestions" in row


def is_flat(row: Mapping[str, Any]) -> bool:
    """Return whether a row is of a data set."""
    return any(isinstance(name, str) and name.endswith(f"{_RESPONSES}{_RATERS}") for name in row)


def from_records(where: str, rows: Iterable[tuple[int, Any]]) -> Export:
    """Return the tasks of records; suggestions are not read."""
    export = Export("Argilla records")
    stated = False
    for line, row in rows:
        if not isinstance(row, Mapping) or not is_record(row):
            export.tasks.append(_not_a_record(where, line, row))
            continue
        responses = [(name, each) for name, given in row["responses"].items() for each in _list(given)]
        if wrong := next((each for _, each in responses if not isinstance(each, Mapping)), None):
            export.tasks.append(RowError(where, line, "responses", describe(wrong), "a response as Argilla exports it"))
            continue
        stated = stated or any("status" in each for _, each in responses)
        answers = _answers(
            export, [(name, each.get("value"), each.get("user_id"), each.get("status")) for name, each in responses]
        )
        metadata = row.get("metadata")
        given = {**(metadata if isinstance(metadata, Mapping) else {}), **row["fields"]}
        columns = {_OTHER_ID if name == "id" else name: cell for name, cell in given.items()}
        export.tasks.append(Task(line, {"id": row.get("id"), **columns}, tuple(answers)))
    if not stated:
        export.notes.append(
            "this export does not say which responses are drafts or discarded, so all are read; that of "
            "records.to_datasets() does"
        )
    return export


def from_flat(where: str, rows: Iterable[tuple[int, Any]]) -> Export:
    """Return the tasks of rows of a data set; drafts, discarded responses and suggestions are left out.

    Raises:
        DataError: if responses are not lists, as in CSV.
    """
    export = Export("Argilla data set")
    for line, row in rows:
        if not isinstance(row, Mapping):
            export.tasks.append(_not_a_record(where, line, row))
            continue
        questions = [str(name).removesuffix(_RESPONSES) for name in row if str(name).endswith(_RESPONSES)]
        lists = {name: [row.get(f"{name}{_RESPONSES}{end}") for end in ("", _RATERS, _STATUS)] for name in questions}
        if text := next((cell for cells in lists.values() for cell in cells if isinstance(cell, str)), None):
            raise DataError(
                f"{where}: an Argilla data set whose responses are {describe(text)}, expected lists.",
                "Export it as JSON Lines or Parquet, which keep lists: dataset.records.to_datasets().to_json(FILE).",
            )
        if not all(_have_one_length(cells) for cells in lists.values()):
            expected = "lists of one length: the responses, their raters and their status"
            export.tasks.append(RowError(where, line, "responses", describe(row), expected))
            continue
        given = [
            (name, value, rater, status)
            for name, cells in lists.items()
            for value, rater, status in zip(*((cell or [None] * len(cells[0] or ())) for cell in cells), strict=True)
        ]
        columns = {name: cell for name, cell in row.items() if not _is_answer(str(name)) and name not in _OF_RECORD}
        export.tasks.append(Task(line, columns, tuple(_answers(export, given))))
    return export


def _answers(export: Export, given: Iterable[tuple[str, Any, Any, Any]]) -> Iterable[Answer]:
    """Return the answers in submitted responses, of those of one rater to a question the last one."""
    answers: dict[tuple[str, str], Answer] = {}
    for number, (question, value, rater, status) in enumerate(given, start=1):
        if status not in _SUBMITTED:
            export.leave_out(f"{status} responses")
        elif value != "":
            answer = Answer(question, str(rater or f"response-{number}"), value)
            if (question, answer.rater) in answers:
                export.leave_out("earlier responses by the same rater")
            answers[question, answer.rater] = answer
    return answers.values()


def _is_answer(name: str) -> bool:
    ends = (_RESPONSES, f"{_RESPONSES}{_RATERS}", f"{_RESPONSES}{_STATUS}", _SUGGESTION)
    return name.endswith((*ends, f"{_SUGGESTION}.score", f"{_SUGGESTION}.agent"))


def _have_one_length(cells: list[Any]) -> bool:
    present = [cell for cell in cells if cell is not None]
    return all(isinstance(cell, list | tuple) for cell in present) and len({len(cell) for cell in present}) <= 1


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _not_a_record(where: str, line: int, row: Any) -> RowError:
    return row if isinstance(row, RowError) else RowError(where, line, None, describe(row), "a record like the first")
