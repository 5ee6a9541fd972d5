"""Exports of Label Studio, Argilla and doccano.

Label Studio's JSON is a list of tasks with the results of each annotation. Format: https://labelstud.io/guide/export.

Argilla 2's data sets (`records.to_datasets()`) have a column `QUESTION.responses` and beside it those of the raters and
of the status of each response. Source: `argilla.records` of the package `argilla`. Argilla 1's have a column `QUESTION`
with a list of responses, and beside it `QUESTION-suggestion`.

doccano's JSON Lines have a list `label`, and comments in `Comments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rubriclab.data.annotation_export import Answer, Export, Kind, Task
from rubriclab.data.row import RowError
from rubriclab.errors import DataError
from rubriclab.models.characters import describe

Rows = Iterable[tuple[int, Any]]
_NUMBERS = ("rating", "number")
# Names by which a value says that it is about a region: a part of a text, an image, audio or video.
_REGION = frozenset({"start", "startOffset", "x", "points", "vertices", "rle", "sequence", "ranges"})
_RESPONSES, _RATERS, _STATUS, _SUGGESTION = ".responses", ".responses.users", ".responses.status", ".suggestion"
_COLUMNS = (_RESPONSES, _RATERS, _STATUS, _SUGGESTION, f"{_SUGGESTION}.score", f"{_SUGGESTION}.agent")


def converter(row: Any, format_name: str) -> Callable[[str, Rows], Export] | None:
    """Return what converts the rows of a source that begins with `row`; `None` unless an annotation tool exported it.

    `format_name` is that of `SourceFormat`.

    Raises:
        DataError: for an export that leaves out what is needed.
    """
    if not isinstance(row, Mapping):
        return None
    if {"id", "annotator", "annotation_id", "lead_time"} <= row.keys():
        raise DataError(
            "This export of Label Studio has a row for each annotation, which does not say what is an answer.",
            "Export JSON.",
        )
    if any(isinstance(name, str) and name.endswith(_RATERS) for name in row):
        return _from_data_set
    if format_name in ("CSV", "TSV", "Excel workbook"):
        return None
    if any(_is_question(row, name) for name in row):
        return _from_argilla_1
    if all(isinstance(row.get(name), Mapping) for name in ("fields", "responses")) and "suggestions" in row:
        raise DataError(
            "These records of Argilla do not say which responses are drafts or discarded.",
            "Export the data set: dataset.records.to_datasets().to_json(FILE).",
        )
    if isinstance(row.get("label"), list) and {"text", "Comments"} <= row.keys():
        return _from_doccano
    return _from_tasks if _is_task(row) else None


def _is_task(row: Any) -> bool:
    return isinstance(row, Mapping) and isinstance(row.get("data"), Mapping) and isinstance(_annotations(row), list)


def _annotations(task: Mapping[str, Any]) -> Any:
    return task.get("annotations", task.get("completions"))


class _Malformed(Exception):
    """A part of an export that is not as the tool writes it: its field, what it is, and what was expected."""


def _read(export: Export, where: str, rows: Rows, task: Callable[[int, Any], Task]) -> Export:
    """Return the export with the task in each row, or the fault in it."""
    for line, row in rows:
        try:
            export.tasks.append(row if isinstance(row, RowError) else task(line, row))
        except _Malformed as fault:
            export.tasks.append(RowError(where, line, *fault.args))
    return export


def _from_tasks(where: str, rows: Rows) -> Export:
    """Return the tasks of Label Studio's JSON; skipped annotations, drafts and predictions are left out."""
    export = Export("Label Studio JSON export")

    def task(line: int, row: Any) -> Task:
        if not _is_task(row):
            raise _Malformed(None, describe(row), "a task like the first one")
        answers = tuple(_latest(export, _annotations(row)))
        drafts = row.get("drafts")
        export.leave_out("drafts", len(drafts) if isinstance(drafts, list) else 0)
        return Task(line, {**({} if "id" in row["data"] else {"id": row.get("id")}), **row["data"]}, answers)

    return _read(export, where, rows, task)


def _latest(export: Export, annotations: list[Any]) -> Iterator[Answer]:
    """Yield the answers of each rater's latest annotation."""
    expected = "annotations as Label Studio exports"
    by_rater: dict[str, list[Answer]] = {}
    if wrong := [each for each in annotations if not isinstance(each, Mapping)]:
        raise _Malformed("annotations", describe(wrong[0]), expected)
    for annotation in sorted(annotations, key=lambda each: str(each.get("updated_at") or each.get("created_at") or "")):
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            export.leave_out("skipped annotations")
            continue
        by = annotation.get("completed_by")
        name = (by.get("email") or by.get("id")) if isinstance(by, Mapping) else by
        rater = str(name) if name not in (None, "") else f"annotation-{annotation.get('id')}"
        export.leave_out("earlier annotations by the same rater", int(rater in by_rater))
        results = annotation.get("result") or []
        results = results if isinstance(results, list) else [results]
        if wrong := [each for each in results if not isinstance(each, Mapping)]:
            raise _Malformed("annotations", f"the result {describe(wrong[0])}", expected)
        by_rater[rater] = list(_answers_of_results(results, rater))
    for answers in by_rater.values():
        yield from answers


def _answers_of_results(results: list[Mapping[str, Any]], rater: str) -> Iterator[Answer]:
    by_question: dict[str, list[Any]] = {}
    for result in results:
        if isinstance(result.get("from_name"), str):  # relations between regions have no name
            by_question.setdefault(result["from_name"], []).append(result.get("value"))
    for question, values in by_question.items():
        # Several values are ratings of regions, not of the text.
        value, kind = _value_and_kind(values[0] if len(values) == 1 else {"regions": values})
        if value not in ("", []):
            yield Answer(question, rater, value, kind)


def _value_and_kind(cell: Any) -> tuple[Any, Kind | None]:
    """Return an answer as a number or text, where it is one, and what kind it is, where that is known."""
    if isinstance(cell, list) and len(cell) == 1:
        cell = cell[0]
    if not isinstance(cell, Mapping):
        return cell, None
    if not _REGION.isdisjoint(cell):
        return dict(cell), "other"
    if number := next((name for name in _NUMBERS if name in cell), None):
        return cell[number], "score"
    if isinstance(choices := cell.get("choices"), list):
        return choices[0] if len(choices) == 1 else choices, "choice"
    if isinstance(text := cell.get("text"), str | list):
        return "\n".join(map(str, text)) if isinstance(text, list) else text, "comment"
    return dict(cell), "other"


def _from_data_set(where: str, rows: Rows) -> Export:
    """Return the tasks of Argilla's data sets; drafts, discarded responses and suggestions are left out.

    Raises:
        DataError: if responses are not lists, as in CSV.
    """
    export = Export("Argilla data set")

    def task(line: int, row: Any) -> Task:
        if not isinstance(row, Mapping):
            raise _Malformed(None, describe(row), "a record like the first")
        questions = [str(name).removesuffix(_RESPONSES) for name in row if str(name).endswith(_RESPONSES)]
        lists = {name: [row.get(f"{name}{end}") for end in (_RESPONSES, _RATERS, _STATUS)] for name in questions}
        if text := next((cell for cells in lists.values() for cell in cells if isinstance(cell, str)), None):
            raise DataError(
                f"{where}: an Argilla data set whose responses are {describe(text)}, expected lists.",
                "Export it as JSON Lines or Parquet, which keep lists: dataset.records.to_datasets().to_json(FILE).",
            )
        given = []
        for name, cells in lists.items():
            present = [cell for cell in cells if cell is not None]
            if not all(isinstance(cell, list | tuple) for cell in present) or len(set(map(len, present))) > 1:
                expected = "lists of one length: the responses, their raters and their status"
                raise _Malformed("responses", describe(row), expected)
            filled = ([None] * len(present[0]) if cell is None else cell for cell in cells)
            given += [(name, *each) for each in zip(*filled, strict=True)] if present else []
        columns = {
            name: cell
            for name, cell in row.items()
            if not str(name).endswith(_COLUMNS) and name not in ("status", "_server_id")
        }
        return Task(line, columns, _submitted(export, given))

    return _read(export, where, rows, task)


def _is_question(row: Mapping[str, Any], name: Any) -> bool:
    """Return whether a column of Argilla 1 holds the responses to a question."""
    return f"{name}-suggestion" in row and isinstance(row[name], list | None)


def _from_argilla_1(where: str, rows: Rows) -> Export:
    return _from_data_set(
        where, ((line, _with_columns(row) if isinstance(row, Mapping) else row) for line, row in rows)
    )


def _with_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record of Argilla 1 with the columns of Argilla 2."""
    columns = dict(row)
    for name in [name for name in row if _is_question(row, name)]:
        responses = columns.pop(name) or []
        for column, key in ((_RESPONSES, "value"), (_RATERS, "user_id"), (_STATUS, "status")):
            columns[f"{name}{column}"] = [each.get(key) if isinstance(each, Mapping) else each for each in responses]
        for suggestion in ("-suggestion", "-suggestion-metadata"):
            columns.pop(f"{name}{suggestion}", None)
    return columns


def _from_doccano(where: str, rows: Rows) -> Export:
    """Return the texts of doccano's JSON Lines, of which each has its labels in one column."""
    export = Export("doccano export")

    def task(line: int, row: Any) -> Task:
        labels = row.get("label") if isinstance(row, Mapping) else None
        if not isinstance(labels, list):
            raise _Malformed(None, describe(row), "a text with a list of labels")
        return Task(line, {**row, "label": None if not labels else labels[0] if len(labels) == 1 else labels})

    return _read(export, where, rows, task)


def _submitted(export: Export, given: Iterable[tuple[str, Any, Any, Any]]) -> tuple[Answer, ...]:
    """Return the answers in submitted responses, of those of one rater to a question the last one."""
    answers: dict[tuple[str, str], Answer] = {}
    for number, (question, value, rater, status) in enumerate(given, start=1):
        if status not in (None, "submitted"):
            export.leave_out(f"{status} responses")
        elif value != "":
            answer = Answer(question, str(rater or f"response-{number}"), value)
            export.leave_out("earlier responses by the same rater", int((question, answer.rater) in answers))
            answers[question, answer.rater] = answer
    return tuple(answers.values())
