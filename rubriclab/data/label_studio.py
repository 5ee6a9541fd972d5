"""Exports of Label Studio: JSON, JSON-MIN and CSV.

JSON is a list of tasks with the results of each annotation. JSON-MIN and CSV have a row for each annotation, with the
columns of its task; skipped annotations are not in them. Formats: https://labelstud.io/guide/export, and the converter
of `label-studio-sdk`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from rubriclab.data.annotation_export import Answer, Export, Kind, Task
from rubriclab.data.row import RowError
from rubriclab.descriptions import describe
from rubriclab.option_names import option

# Columns of JSON-MIN and CSV that are about the annotation.
_OF_ANNOTATION = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement")
_NUMBERS = ("rating", "number")
# Names by which a value says that it is about a region: a part of a text, an image, audio or video.
_REGION = frozenset({"start", "startOffset", "x", "points", "vertices", "rle", "sequence", "ranges"})


def is_json(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a task of the JSON export."""
    return isinstance(row.get("data"), Mapping) and isinstance(row.get("annotations", row.get("completions")), list)


def is_minimal(row: Mapping[str, Any]) -> bool:
    """Return whether a row is an annotation of the JSON-MIN or CSV export."""
    return {"id", "annotator", "annotation_id", "lead_time"} <= row.keys()


def from_json(where: str, rows: Iterable[tuple[int, Any]]) -> Export:
    """Return the tasks of a JSON export; skipped annotations, drafts and predictions are left out."""
    export = Export("Label Studio JSON export")
    for line, row in rows:
        if not isinstance(row, Mapping) or not is_json(row):
            export.tasks.append(_not_a_task(where, line, row))
            continue
        columns = {**({} if "id" in row["data"] else {"id": row.get("id")}), **row["data"]}
        try:
            answers = tuple(_latest(export, row.get("annotations", row.get("completions"))))
        except _Malformed as fault:
            export.tasks.append(RowError(where, line, "annotations", str(fault), "annotations as Label Studio exports"))
            continue
        export.tasks.append(Task(line, columns, answers))
        drafts = row.get("drafts")
        for _ in drafts if isinstance(drafts, list) else ():
            export.leave_out("drafts")
    return export


def from_minimal(where: str, rows: Iterable[tuple[int, Any]]) -> Export:
    """Return the tasks of a JSON-MIN or CSV export.

    It does not say which columns are answers. Those are that hold Label Studio's ratings and numbers, written
    `[{"rating": 4}]` and `[{"number": 4}]`, and those that differ between two annotations of one task. A column of
    plain numbers is data of the task.
    """
    export = Export("Label Studio export with a row for each annotation")
    tasks: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for line, row in rows:
        if isinstance(row, Mapping) and is_minimal(row):
            read = {name: _parsed(cell) for name, cell in row.items()}
            tasks.setdefault(str(row["id"]), []).append((line, read))
        else:
            export.tasks.append(_not_a_task(where, line, row))
    answered = dict.fromkeys(name for group in tasks.values() for name in _answered(group))
    for group in tasks.values():
        line, first = group[0]
        columns = {name: cell for name, cell in first.items() if name not in (*answered, *_OF_ANNOTATION)}
        by_rater: dict[str, Mapping[str, Any]] = {}
        for _, row in sorted(group, key=lambda each: str(each[1].get("updated_at") or "")):
            rater = str(row["annotator"] or f"annotation-{row['annotation_id']}")
            if rater in by_rater:
                export.leave_out("earlier annotations by the same rater")
            by_rater[rater] = row
        answers = tuple(
            Answer(name, rater, *_value_and_kind(row.get(name)))
            for rater, row in by_rater.items()
            for name in answered
            if row.get(name) not in (None, "", [])
        )
        export.tasks.append(Task(line, columns, answers))
    if tasks and not answered:
        export.notes.append(
            "no column is known to be an answer, since this export does not say it: export JSON, or map the columns of "
            f"the scores ({option('mapping', 'scores.ASPECT=COLUMN')})"
        )
    return export


class _Malformed(Exception):
    """An annotation that is not as Label Studio writes it."""


def _not_a_task(where: str, line: int, row: Any) -> RowError:
    return row if isinstance(row, RowError) else RowError(where, line, None, describe(row), "a task like the first one")


def _latest(export: Export, annotations: list[Any]) -> Iterator[Answer]:
    """Yield the answers of each rater's latest annotation."""
    by_rater: dict[str, list[Answer]] = {}
    for annotation in annotations:
        if not isinstance(annotation, Mapping):
            raise _Malformed(describe(annotation))
    for annotation in sorted(annotations, key=lambda each: str(each.get("updated_at") or each.get("created_at") or "")):
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            export.leave_out("skipped annotations")
            continue
        rater = _rater(annotation)
        if rater in by_rater:
            export.leave_out("earlier annotations by the same rater")
        by_rater[rater] = list(_answers(annotation, rater))
    for answers in by_rater.values():
        yield from answers


def _rater(annotation: Mapping[str, Any]) -> str:
    by = annotation.get("completed_by")
    name = (by.get("email") or by.get("id")) if isinstance(by, Mapping) else by
    return str(name) if name not in (None, "") else f"annotation-{annotation.get('id')}"


def _answers(annotation: Mapping[str, Any], rater: str) -> Iterator[Answer]:
    results = annotation.get("result") or []
    if not isinstance(results, list):
        raise _Malformed(f"the result {describe(results)}")
    by_question: dict[str, list[Any]] = {}
    for result in results:
        if not isinstance(result, Mapping):
            raise _Malformed(f"the result {describe(result)}")
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


def _parsed(cell: Any) -> Any:
    """Return a cell of CSV that holds JSON as what it holds."""
    if isinstance(cell, str) and cell[:2] in ("[{", '{"'):
        with suppress(ValueError, RecursionError):
            return json.loads(cell)
    return cell


def _answered(rows: list[tuple[int, Mapping[str, Any]]]) -> Iterator[str]:
    """Yield the columns of a task that are answers."""
    for name in dict.fromkeys(name for _, row in rows for name in row):
        cells = [row.get(name) for _, row in rows]
        differ = any(cell != cells[0] for cell in cells)
        if name not in ("id", *_OF_ANNOTATION) and (differ or any(_is_score(cell) for cell in cells)):
            yield name


def _is_score(cell: Any) -> bool:
    return isinstance(cell, list) and len(cell) == 1 and _value_and_kind(cell)[1] == "score"
