"""What one row of somebody's data holds: an example, or the fault that keeps it from being one.

A row is a mapping with the fields of `Example`. Scores and annotations stand in nested objects
(`{"scores": {"coherence": 4}}`) or in columns of their own (`scores.coherence`). Null, a text of white space and a
field that is not there mean the same for everything but `output`: nothing is given.

The annotations of an aspect are a list, `[4, 5, 3]` (in CSV `4,5,3`), or, where the raters are known, an object,
`{"anna": 4, "ben": 5}`, or a column for each of them (`annotations.coherence.anna`).

Two fields are derived where they are not given. `id` is `text-` and a digest of the texts shown to a judge, with group
and system: it survives reordering and the arrival of labels, and rows that a judge could not tell apart share it.
`group` is `group-` and a digest of the source (without one, of the context), so that rows about the same source are
rivals; without either, a text is a group of its own, named as its id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rubriclab.characters import is_blank
from rubriclab.data.example import Example
from rubriclab.data.fields import Fields, Wrong, describe, in_unicode
from rubriclab.data.mapping import ABSENT, NATIVE, FieldMap
from rubriclab.digest import digest

DERIVED_DIGITS = 16


@dataclass(frozen=True, slots=True)
class RowError:
    """Why a row is no example.

    Attributes:
        where: the file, or what stands in its place.
        line: the line where the row begins, counted from 1; the number of the row where there are no lines.
        field: the field, as `scores.coherence`; None where the row as a whole cannot be read.
        came: what was found.
        expected: what should have been there.
        id: the row's id, if it has one.
    """

    where: str
    line: int
    field: str | None
    came: str
    expected: str
    id: str | None = None

    def __str__(self) -> str:
        field = f"field {self.field!r}: " if self.field is not None else ""
        return f"{self.where}:{self.line}: {field}got {self.came}, expected {self.expected}"


def example_of(
    row: Any, where: str, line: int, mapping: FieldMap = NATIVE, *, typed: bool = True
) -> Example | RowError:
    """Return the example that a row holds, or its first fault.

    Rows that are not `typed` (CSV) write their numbers as text.
    """
    if not isinstance(row, Mapping):
        return RowError(where, line, None, describe(row), _an_object(row))
    fields = Fields(row, mapping, typed)
    try:
        return _example(fields)
    except Wrong as wrong:
        return RowError(where, line, wrong.field, wrong.came, wrong.expected, fields.known_id())


def missing_column(row: Mapping[str, Any], mapping: FieldMap) -> str | None:
    """Return what a table with the columns of `row` lacks for any of its rows to be an example, or None."""
    fields = Fields(row, mapping, typed=False)
    try:
        for name in ("output", *mapping.columns):
            if fields.value(name) is ABSENT:
                fields.no_output()
    except Wrong as wrong:
        return f"field {wrong.field!r}: got {wrong.came}, expected {wrong.expected}"
    return None


def _an_object(row: Any) -> str:
    if isinstance(row, list | tuple):
        return "an object with a field 'output'; in a file that is one list, give each object a line of its own"
    return "an object with a field 'output'"


def _example(fields: Fields) -> Example:
    output = fields.output()
    named = {name: fields.name(name) for name in ("id", "group", "system")}
    texts = {name: fields.text(name) for name in ("source", "context", "reference")}
    about = texts["source"] or texts["context"]
    shown = [named["group"], named["system"], texts["source"], texts["context"], output]
    own_id = named["id"] or _derived("text", shown)
    annotated = _annotations(fields)
    return Example(
        id=own_id,
        output=output,
        group=named["group"] or (_derived("group", about) if about else own_id),
        source=texts["source"],
        context=texts["context"],
        reference=texts["reference"],
        system=named["system"],
        scores={aspect: fields.number(f"scores.{aspect}", cell) for aspect, cell in fields.table("scores")},
        annotations={aspect: numbers for aspect, (_, numbers) in annotated.items()},
        raters={aspect: raters for aspect, (raters, _) in annotated.items() if raters},
    )


def _annotations(fields: Fields) -> dict[str, tuple[tuple[str, ...], tuple[float, ...]]]:
    """Return the names and the numbers of who annotated each aspect; no names where they are not known."""
    named: dict[str, dict[str, float]] = {}
    listed: dict[str, tuple[float, ...]] = {}
    for key, cell in fields.table("annotations"):
        aspect, dot, rater = key.partition(".")
        if isinstance(cell, Mapping):
            _add(fields, key, cell, named.setdefault(key, {}))
        elif dot and not fields.is_list(cell):
            _add(fields, aspect, {rater: cell}, named.setdefault(aspect, {}))
        elif numbers := fields.numbers(f"annotations.{key}", cell):
            listed[key] = numbers
    if both := sorted(named.keys() & listed.keys()):
        wanted = "the scores of an aspect either in a list or by the raters' names"
        raise Wrong(f"annotations.{both[0]}", "both a list and named raters", wanted)
    rated = {aspect: (tuple(scores), tuple(scores.values())) for aspect, scores in named.items() if scores}
    return rated | {aspect: ((), numbers) for aspect, numbers in listed.items()}


def _add(fields: Fields, aspect: str, cells: Mapping[Any, Any], scores: dict[str, float]) -> None:
    """Add the scores of named raters; null says that one gave none."""
    for name, cell in cells.items():
        rater, place = str(name).strip(), f"annotations.{aspect}"
        if is_blank(rater):
            raise Wrong(place, "a rater without a name", "names such as 'anna'")
        if fields.blank(cell):
            continue
        if rater in scores:
            raise Wrong(place, f"the rater {rater!r} twice", "one score from each rater")
        scores[in_unicode(place, rater)] = fields.number(f"{place}.{rater}", cell)


def _derived(kind: str, content: Any) -> str:
    return f"{kind}-{digest(content).removeprefix('sha256:')[:DERIVED_DIGITS]}"
