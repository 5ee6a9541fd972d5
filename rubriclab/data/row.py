"""Conversion of a row of a user's data to an example or a fault.

A row is a mapping with the fields of `Example`. Scores and annotations are nested objects
(`{"scores": {"coherence": 4}}`) or columns (`scores.coherence`). For all fields except `output`, null, white space and
an absent field all mean a missing value.

The annotations of an aspect are a list, `[4, 5, 3]` (in CSV `4,5,3`). If the raters are known, they are an object,
`{"anna": 4, "ben": 5}`, or a column for each rater (`annotations.coherence.anna`).

The reasons for the scores of an aspect are one text, `"it wanders"`, or by rater, `{"anna": "it wanders"}`, or columns
(`reasons.coherence`, `reasons.coherence.anna`).

Two fields are derived if they are missing. `id` is `text-` and a digest of the texts shown to a judge, with group and
system: it does not depend on order or labels, and rows that look the same to a judge have the same id. `group` is
`group-` and a digest of the source (or else of the context), so that texts about the same source form a group; without
either, a text is a group of its own, named by its id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from rubriclab.data.fields import FieldError, Fields, in_unicode
from rubriclab.data.mapping import (
    ABSENT,
    NATIVE,
    FieldMap,
    closest_column,
    form_columns,
    look_up,
    mapping_text,
    proposed_mapping,
)
from rubriclab.errors import DataError
from rubriclab.models.base import LONGEST_NAME
from rubriclab.models.cells import TYPED, UNTYPED, CellRules
from rubriclab.models.characters import describe, is_blank
from rubriclab.models.digest import digest
from rubriclab.models.text import Example
from rubriclab.option_names import option

T = TypeVar("T")
U = TypeVar("U")

DERIVED_DIGITS = 16
_DERIVED_ID = re.compile(rf"text-[0-9a-f]{{{DERIVED_DIGITS}}}")


@dataclass(frozen=True, slots=True)
class RowError:
    """The fault in a row.

    Attributes:
        where: the file, or a name for another source.
        line: first line of the row, counted from 1; the row's number if the source has no lines.
        field: such as `scores.coherence`; `None` if the fault concerns the entire row.
        got: description of the actual value.
        expected: description of a valid value.
        id: the row's id, if it has one.
        column: the column of the field, if it has another name.
        word: a text in place of a number, if any.
        outside: a number outside the scale, if any.
        more: further faults in the same row.
        usable: the example without the faulty scores; `None` unless all of these are of named raters.
    """

    where: str
    line: int
    field: str | None
    got: str
    expected: str
    id: str | None = None
    column: str | None = None
    word: str | None = None
    outside: str | None = None
    more: tuple[RowError, ...] = ()
    usable: Example | None = None

    @property
    def all(self) -> tuple[RowError, ...]:
        """Every fault in the row."""
        return (replace(self, more=()), *self.more)

    def __str__(self) -> str:
        return f"{self.where}:{self.line}: " + "; ".join(fault.message for fault in self.all)

    @property
    def message(self) -> str:
        """The first fault, without file and line."""
        column = f" (column {self.column!r})" if self.column is not None else ""
        field = f"field {self.field!r}{column}: " if self.field is not None else ""
        return f"{field}got {self.got}, expected {self.expected}"


def example_of(
    row: Any, where: str, line: int, mapping: FieldMap = NATIVE, rules: CellRules = TYPED
) -> Example | RowError:
    """Return the example in a row, or its faults."""
    if not isinstance(row, Mapping):
        one_list = (
            "; in a file that is one list, give each object a line of its own" if isinstance(row, list | tuple) else ""
        )
        return RowError(where, line, None, describe(row), f"an object with a field 'output'{one_list}")
    fields, field_errors = Fields(row, mapping, rules), list[FieldError]()
    example = _example(fields, field_errors)
    if example is not None and not field_errors:
        return example
    faults = [fault_of(fault, where, line, fields) for fault in field_errors]
    return replace(faults[0], more=tuple(faults[1:]), usable=example)


def fault_of(error: FieldError, where: str, line: int, fields: Fields) -> RowError:
    """Return the fault of a row with an invalid value of a field."""
    column = fields.mapping.columns.get(error.field)
    column = column if column and look_up(fields.row, column) is not ABSENT else None
    return RowError(where, line, error.field, error.got, error.expected, fields.known_id(), column, error.word)


def is_derived(name: str) -> bool:
    """Return whether an id, or the group of a text without a source, was derived from the text itself."""
    return _DERIVED_ID.fullmatch(name) is not None


def check_columns(row: Mapping[str, Any], where: str, mapping: FieldMap) -> None:
    """Check that a table with the columns of `row` has a column for each needed or mapped field.

    Raises:
        DataError: if it lacks one.
    """
    fields = Fields(row, mapping, UNTYPED)
    try:
        for name in ("output", *mapping.columns):
            fields.check_column(name)
    except FieldError as error:
        if error.field == "output" and len(asked := form_columns(map(str, row))) > 1:
            raise DataError(
                f"{where}: the columns {asked[0]!r}, {asked[1]!r} and so on seem to be a form's questions, each about "
                "one text; write a row for each rating, with the columns output, rater and score."
            ) from None
        mapped = mapping.columns.get(error.field)
        proposed = proposed_mapping([row]) if mapped is None else {}
        if mapped is not None or error.field not in proposed:
            proposed = {error.field: (mapped and closest_column(mapped, [str(name) for name in row])) or "COLUMN"}
        hint = f"Name the column that holds it: {option('mapping', mapping_text({**mapping.columns, **proposed}))}."
        raise DataError(f"{where}: field {error.field!r}: got {error.got}, expected {error.expected}.", hint) from None


def _example(fields: Fields, faults: list[FieldError]) -> Example | None:
    """Return the example without invalid scores of named raters, or `None` for other faults; `faults` gets all."""

    def valid(read: Callable[[], T]) -> T | None:
        try:
            return read()
        except FieldError as fault:
            faults.append(fault)
            return None

    output = valid(fields.output)
    named = {name: valid(partial(fields.name, name)) for name in ("id", "group", "system")}
    texts = {name: valid(partial(fields.text, name)) for name in ("source", "context", "reference")}
    cells = valid(partial(fields.table, "scores")) or []
    scores = {aspect: valid(partial(fields.number, f"scores.{aspect}", cell)) for aspect, cell in cells}
    annotated = valid(partial(_annotations, fields, faults)) or {}
    valid(partial(_check_aspect, fields))
    reasons = valid(partial(_reasons, fields, faults)) or {}
    if output is None or not all(fault.single for fault in faults):
        return None
    about = texts["source"] or texts["context"]
    shown = [named["group"], named["system"], texts["source"], texts["context"], output]
    own_id = named["id"] or _derived("text", shown)
    return Example(
        id=own_id,
        output=output,
        group=named["group"] or (_derived("group", about) if about else own_id),
        source=texts["source"],
        context=texts["context"],
        reference=texts["reference"],
        system=named["system"],
        scores={aspect: score for aspect, score in scores.items() if score is not None},
        annotations={aspect: numbers for aspect, (_, numbers) in annotated.items()},
        raters={aspect: raters for aspect, (raters, _) in annotated.items() if raters},
        reasons=reasons,
    )


def mapped_aspects(mapping: FieldMap) -> set[str]:
    """Return the aspects whose scores or annotations are mapped to columns, in lower case."""
    tables = (mapping.aspects(table) for table in ("scores", "annotations"))
    return {name.partition(".")[0].strip().casefold() for names in tables for name in names}


def other_aspect(fields: Fields) -> str | None:
    """Return the aspect that a row names for its rating if it is not a mapped one."""
    named, mapped = look_up(fields.row, fields.mapping.columns.get("aspect", "aspect")), mapped_aspects(fields.mapping)
    is_other = (
        bool(mapped) and isinstance(named, str) and not is_blank(named) and named.strip().casefold() not in mapped
    )
    return named.strip() if is_other else None


def _check_aspect(fields: Fields) -> None:
    """Check that a row that names the aspect of its rating names a mapped one; only rows of a stream may not."""
    if other := other_aspect(fields):
        aspects = " or ".join(map(repr, sorted(mapped_aspects(fields.mapping))))
        raise FieldError("aspect", describe(other), f"{aspects}, which the ratings are mapped to; leave out other rows")


def _annotations(fields: Fields, faults: list[FieldError]) -> dict[str, tuple[tuple[str, ...], tuple[float, ...]]]:
    """Return raters (empty if unknown) and annotations by aspect; faults are added to `faults`."""

    def rating(name: str, cell: Any) -> float | None:
        return None if fields.blank(cell) else fields.number(name, cell)

    named, listed = _cells(fields, "annotations", rating, fields.numbers, faults)
    rated = {aspect: (tuple(scores), tuple(scores.values())) for aspect, scores in named.items()}
    return rated | {aspect: ((), numbers) for aspect, numbers in listed.items()}


def _reasons(fields: Fields, faults: list[FieldError]) -> dict[str, str | dict[str, str]]:
    """Return the reasons by aspect: one text, or texts by rater; faults are added to `faults`."""

    def reason(name: str, cell: Any) -> str | None:
        return None if fields.blank(cell) else fields.reason(name, cell)

    named, single = _cells(fields, "reasons", reason, reason, faults)
    return {**named, **single}


def _cells(
    fields: Fields,
    table: str,
    of_rater: Callable[[str, Any], T | None],
    of_all: Callable[[str, Any], U | None],
    faults: list[FieldError],
) -> tuple[dict[str, dict[str, T]], dict[str, U]]:
    """Return the cells of a table by aspect and rater, and those without raters by aspect; faults go to `faults`."""
    by_rater: dict[str, dict[str, T]] = {}
    single: dict[str, U] = {}
    for key, cell in fields.table(table):
        aspect, dot, rater = key.partition(".")
        if isinstance(cell, Mapping):
            _add(of_rater, f"{table}.{key}", cell, by_rater.setdefault(key, {}), faults)
        elif dot and not (table == "annotations" and fields.is_list(cell)):
            _add(of_rater, f"{table}.{aspect}", {rater: cell}, by_rater.setdefault(aspect, {}), faults)
        elif value := of_all(f"{table}.{key}", cell):
            single[key] = value
    named = {aspect: values for aspect, values in by_rater.items() if values}
    if both := sorted(named.keys() & single.keys()):
        one = "a list" if table == "annotations" else "one text"
        expected = f"the {table} of an aspect either as {one} or by the raters' names"
        raise FieldError(f"{table}.{both[0]}", f"both {one} and named raters", expected)
    return named, single


def _add(
    read: Callable[[str, Any], T | None],
    place: str,
    cells: Mapping[Any, Any],
    by_rater: dict[str, T],
    faults: list[FieldError],
) -> None:
    """Add what `read` returns for each named rater to `by_rater`, and faults to `faults`; `None` is missing."""
    for name, cell in cells.items():
        rater = str(name).strip()
        if is_blank(rater):
            raise FieldError(place, "a rater without a name", "names such as 'anna'")
        if len(rater) > LONGEST_NAME:
            raise FieldError(place, f"a rater's name of {len(rater):,} characters", f"at most {LONGEST_NAME:,}")
        try:
            value = read(f"{place}.{rater}", cell)
        except FieldError as fault:
            fault.single = place.startswith("annotations.")
            faults.append(fault)
            continue
        if value is None:
            continue
        if rater in by_rater:
            raise FieldError(place, f"the rater {rater!r} twice", "one entry from each rater")
        by_rater[in_unicode(place, rater)] = value


def _derived(kind: str, content: Any) -> str:
    return f"{kind}-{digest(content).removeprefix('sha256:')[:DERIVED_DIGITS]}"
