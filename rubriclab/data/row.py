"""From a row of a user's data to an example, or to the fault in it.

A row is a mapping with the fields of `Example`. Scores and annotations are nested objects
(`{"scores": {"coherence": 4}}`) or columns (`scores.coherence`). For all fields except `output`, null, white space and
an absent field all mean a missing value.

The annotations of an aspect are a list, `[4, 5, 3]` (in CSV `4,5,3`), or, where the raters are known, an object,
`{"anna": 4, "ben": 5}`, or a column for each of them (`annotations.coherence.anna`).

Two fields are derived if they are missing. `id` is `text-` and a digest of the texts shown to a judge, with group and
system: it does not depend on order or labels, and rows that look the same to a judge share it. `group` is `group-` and
a digest of the source (or else of the context), so that texts about the same source form a group; without either, a
text is a group of its own, named by its id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rubriclab.characters import is_blank
from rubriclab.data.example import Example
from rubriclab.data.fields import FieldError, Fields, describe, in_unicode
from rubriclab.data.mapping import ABSENT, NATIVE, FieldMap
from rubriclab.digest import digest

DERIVED_DIGITS = 16


@dataclass(frozen=True, slots=True)
class RowError:
    """The fault in a row.

    Attributes:
        where: the file, or a name for another source.
        line: first line of the row, counted from 1; the row's number if the source has no lines.
        field: such as `scores.coherence`; `None` if the row as a whole is faulty.
        got: description of the actual value.
        expected: description of a valid value.
        id: the row's id, if it has one.
    """

    where: str
    line: int
    field: str | None
    got: str
    expected: str
    id: str | None = None

    def __str__(self) -> str:
        field = f"field {self.field!r}: " if self.field is not None else ""
        return f"{self.where}:{self.line}: {field}got {self.got}, expected {self.expected}"


def example_of(
    row: Any, where: str, line: int, mapping: FieldMap = NATIVE, *, typed: bool = True
) -> Example | RowError:
    """Return the example in a row, or its first fault. Numbers are texts in rows that are not `typed` (CSV)."""
    if not isinstance(row, Mapping):
        return RowError(where, line, None, describe(row), _an_object(row))
    fields = Fields(row, mapping, typed)
    try:
        return _example(fields)
    except FieldError as wrong:
        return RowError(where, line, wrong.field, wrong.got, wrong.expected, fields.known_id())


def missing_column(row: Mapping[str, Any], mapping: FieldMap) -> str | None:
    """Return the column that a table with the columns of `row` lacks, as a message, or `None`."""
    fields = Fields(row, mapping, typed=False)
    try:
        for name in ("output", *mapping.columns):
            if fields.value(name) is ABSENT:
                fields.no_output()
    except FieldError as wrong:
        return f"field {wrong.field!r}: got {wrong.got}, expected {wrong.expected}"
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
    """Return raters and annotations by aspect; no raters if their names are unknown."""
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
        raise FieldError(f"annotations.{both[0]}", "both a list and named raters", wanted)
    rated = {aspect: (tuple(scores), tuple(scores.values())) for aspect, scores in named.items() if scores}
    return rated | {aspect: ((), numbers) for aspect, numbers in listed.items()}


def _add(fields: Fields, aspect: str, cells: Mapping[Any, Any], scores: dict[str, float]) -> None:
    """Add the scores of named raters; null is a missing score."""
    for name, cell in cells.items():
        rater, place = str(name).strip(), f"annotations.{aspect}"
        if is_blank(rater):
            raise FieldError(place, "a rater without a name", "names such as 'anna'")
        if fields.blank(cell):
            continue
        if rater in scores:
            raise FieldError(place, f"the rater {rater!r} twice", "one score from each rater")
        scores[in_unicode(place, rater)] = fields.number(f"{place}.{rater}", cell)


def _derived(kind: str, content: Any) -> str:
    return f"{kind}-{digest(content).removeprefix('sha256:')[:DERIVED_DIGITS]}"
