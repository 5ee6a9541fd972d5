"""What one row of somebody's data holds: an example, or the fault that keeps it from being one.

A row is a mapping with the fields of `Example`. Scores and annotations stand in nested objects
(`{"scores": {"coherence": 4}}`) or in columns of their own (`scores.coherence`). Null, a text of white space and a
field that is not there mean the same for everything but `output`: nothing is given.

Two fields are derived where they are not given. `id` is `text-` and a digest of the texts shown to a judge, with group
and system: it survives reordering and the arrival of labels, and rows that a judge could not tell apart share it.
`group` is `group-` and a digest of the source (without one, of the context), so that rows about the same source are
rivals; without either, a text is a group of its own, named as its id.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, NoReturn

from rubriclab.data.example import Example
from rubriclab.data.mapping import ABSENT, FIELDS, NATIVE, FieldMap, look_up
from rubriclab.digest import digest

# Names that are numbers are taken as text where the number is exact: JSON readers turn whole numbers of more than 64
# bits into decimals, and decimals beyond 2**53 have lost their last digits.
EXACT_WHOLE = 2**64
EXACT_DECIMAL = 2**53
PREVIEW = 40
COLUMNS_NAMED = 12
DERIVED_DIGITS = 16

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_BETWEEN_NUMBERS = re.compile(r"[,;\s]+")
_A_TEXT = "a non-empty text"


@dataclass(frozen=True, slots=True)
class Fault:
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


def example_of(row: Any, where: str, line: int, mapping: FieldMap = NATIVE, *, typed: bool = True) -> Example | Fault:
    """Return the example that a row holds, or its first fault.

    Rows that are not `typed` (CSV) write their numbers as text.
    """
    if not isinstance(row, Mapping):
        return Fault(where, line, None, describe(row), _an_object(row))
    fields = _Fields(row, mapping, typed)
    try:
        return fields.example()
    except _Wrong as wrong:
        return Fault(where, line, wrong.field, wrong.came, wrong.expected, fields.known_id())


def missing_column(row: Mapping[str, Any], mapping: FieldMap) -> str | None:
    """Return what a table with the columns of `row` lacks for any of its rows to be an example, or None."""
    fields = _Fields(row, mapping, typed=False)
    try:
        for name in ("output", *mapping.columns):
            if fields.value(name) is ABSENT:
                fields.no_output()
    except _Wrong as wrong:
        return f"field {wrong.field!r}: got {wrong.came}, expected {wrong.expected}"
    return None


def describe(value: Any) -> str:
    """Return a value of a row in a few words, as a message names it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float | Decimal):
        return _describe_number(value)
    if isinstance(value, str):
        return _describe_text(value)
    if isinstance(value, Mapping):
        return "an object"
    return f"a list of {len(value)}" if isinstance(value, list | tuple) else f"a value of type {type(value).__name__}"


def _describe_number(number: int | float | Decimal) -> str:
    if isinstance(number, int) and abs(number) >= EXACT_WHOLE:
        return "a whole number of more than 64 bits"
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(number).lower(), str(number))


def _describe_text(text: str) -> str:
    if not text:
        return "an empty text"
    if text.isspace():
        return "only white space"
    return f"the text {text!r}" if len(text) <= PREVIEW else f"a text that begins {text[:PREVIEW]!r}"


def _an_object(row: Any) -> str:
    if isinstance(row, list | tuple):
        return "an object with a field 'output'; in a file that is one list, give each object a line of its own"
    return "an object with a field 'output'"


class _Wrong(Exception):
    """A field that does not hold what it should."""

    def __init__(self, field: str, came: str, expected: str) -> None:
        super().__init__(field, came, expected)
        self.field, self.came, self.expected = field, came, expected


class _Fields:
    """The fields of one row, each checked as it is taken out."""

    def __init__(self, row: Mapping[Any, Any], mapping: FieldMap, typed: bool) -> None:
        self.row, self.mapping, self.typed = row, mapping, typed

    def example(self) -> Example:
        output = self.output()
        named = {name: self.name(name) for name in ("id", "group", "system")}
        texts = {name: self.text(name) for name in ("source", "context", "reference")}
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
            scores={aspect: self.number(f"scores.{aspect}", cell) for aspect, cell in self.table("scores")},
            annotations={
                aspect: numbers
                for aspect, cell in self.table("annotations")
                if (numbers := self.numbers(f"annotations.{aspect}", cell))
            },
        )

    def known_id(self) -> str | None:
        try:
            return self.name("id")
        except _Wrong:
            return None

    def value(self, name: str) -> Any:
        column = self.mapping.columns.get(name)
        if column is None:
            return self.row.get(name, ABSENT)
        value = look_up(self.row, column)
        if value is ABSENT:
            wanted = f"a column {column!r}, since the mapping says {name}={column}{self._columns()}"
            raise _Wrong(name, "nothing", wanted)
        return value

    def output(self) -> str:
        text = self.value("output")
        if text is ABSENT:
            self.no_output()
        if not isinstance(text, str) or not text or text.isspace():
            raise _Wrong("output", describe(text), _A_TEXT)
        return _unicode("output", text)

    def no_output(self) -> NoReturn:
        other = next((str(c) for c, v in self.row.items() if c not in FIELDS and _is_wordy(v)), None)
        way = f"; to read it from another column, map it, as in --map output={other!r}" if other else ""
        raise _Wrong("output", "nothing", f"{_A_TEXT}{self._columns()}{way}")

    def text(self, name: str) -> str | None:
        text = self.value(name)
        if text is None or text is ABSENT:
            return None
        if not isinstance(text, str):
            joined = " (join the parts of a list into one)" if isinstance(text, list | tuple) else ""
            raise _Wrong(name, describe(text), f"a text{joined} or null")
        return None if text.isspace() else _unicode(name, text) or None

    def name(self, name: str) -> str | None:
        value = self.value(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            exact = EXACT_WHOLE if isinstance(value, int) else EXACT_DECIMAL
            if not (abs(value) < exact and value == int(value)):
                raise _Wrong(name, describe(value), "a text, or a whole number that needs no rounding")
            return str(int(value))
        return self.text(name)

    def table(self, name: str) -> list[tuple[str, Any]]:
        start = f"{name}."
        whole = self.value(name)
        cells = dict(self._whole_table(name, whole))
        cells |= {c[len(start) :]: v for c, v in self.row.items() if isinstance(c, str) and c.startswith(start)}
        cells |= {aspect: self.value(start + aspect) for aspect in self.mapping.aspects(name)}
        given = [(aspect, cell) for aspect, cell in cells.items() if not self._blank(cell)]
        if any(not aspect or aspect.isspace() for aspect, _ in given):
            raise _Wrong(name, "an aspect without a name", "names such as 'coherence'")
        return [(_unicode(name, aspect), cell) for aspect, cell in given]

    def _whole_table(self, name: str, whole: Any) -> Mapping[str, Any]:
        if whole is ABSENT or self._blank(whole):
            return {}
        if isinstance(whole, Mapping):
            return {str(aspect): cell for aspect, cell in whole.items()}
        wanted = f"an object with a value for each aspect, or a column for each, such as {name}.coherence"
        raise _Wrong(name, describe(whole), wanted)

    def number(self, name: str, cell: Any, wanted: str = "a finite number") -> float:
        if isinstance(cell, str):
            if self.typed:
                raise _Wrong(name, describe(cell), f"{wanted}, without quotes")
            if not _DECIMAL.fullmatch(cell.strip()):
                raise _Wrong(name, describe(cell), f"{wanted}, such as 4 or 3.5")
            cell = float(cell)
        if isinstance(cell, bool) or not isinstance(cell, Real | Decimal):
            raise _Wrong(name, describe(cell), wanted)
        number = _as_float(cell)
        if not math.isfinite(number):
            raise _Wrong(name, describe(cell), wanted)
        return number

    def numbers(self, name: str, cell: Any) -> tuple[float, ...]:
        if isinstance(cell, str) and not self.typed:
            cell = [part for part in _BETWEEN_NUMBERS.split(cell.strip("[]() \t")) if part]
        if not isinstance(cell, list | tuple):
            raise _Wrong(name, describe(cell), "a list of finite numbers, one for each rater")
        wanted = "a finite number from each rater in the list (leave out who gave none)"
        return tuple(self.number(name, part, wanted) for part in cell)

    def _blank(self, cell: Any) -> bool:
        return cell is None or (not self.typed and isinstance(cell, str) and not cell.strip())

    def _columns(self) -> str:
        named = [repr(str(column)) for column in self.row][:COLUMNS_NAMED]
        more = ", ..." if len(self.row) > COLUMNS_NAMED else ""
        return f"; the columns are {', '.join(named)}{more}" if named else ""


def _is_wordy(value: Any) -> bool:
    return isinstance(value, str) and any(character.isalpha() for character in value)


def _unicode(name: str, text: str) -> str:
    """Return `text`, if it can be written as UTF-8; what a reader could not decode arrives as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        around = text[max(0, error.start - 10) : error.end + 10]
        raise _Wrong(name, f"bytes that are not UTF-8, in {around!r}", "text in UTF-8") from None
    return text


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except (OverflowError, ValueError):  # an integer beyond all floats; a signalling NaN
        return math.inf


def _derived(kind: str, content: Any) -> str:
    return f"{kind}-{digest(content).removeprefix('sha256:')[:DERIVED_DIGITS]}"
