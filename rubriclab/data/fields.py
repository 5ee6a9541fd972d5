"""The fields of a row, validated as they are read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any, NoReturn

from rubriclab.characters import is_blank
from rubriclab.data.mapping import ABSENT, FIELDS, FieldMap, look_up

# Numbers are accepted as names if they are exact: JSON readers turn integers of more than 64 bits into floats, and
# floats beyond 2**53 have lost digits.
EXACT_WHOLE = 2**64
EXACT_DECIMAL = 2**53
PREVIEW = 40
# Characters of an id, a group or a system; `rubriclab.bounds` allows no more in a version.
LONGEST_NAME = 1_000
COLUMNS_NAMED = 12

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_BETWEEN_NUMBERS = re.compile(r"[,;\s]+")
_A_TEXT = "a non-empty text"
# What data sets write for an absent text (Topical-Chat's `_nofact`), in lower case without surrounding marks.
_PLACEHOLDERS = frozenset(
    {
        "_nofact",
        "_none",
        "_null",
        "empty",
        "n.a",
        "n/a",
        "na",
        "nan",
        "nil",
        "no context",
        "no fact",
        "no reference",
        "no source",
        "nofact",
        "none",
        "not applicable",
        "not available",
        "null",
        "undefined",
    }
)
_AROUND = " \t\r\n[](){}<>\"'`*.-–—"


def describe(value: Any) -> str:
    """Return a short description of a value for a message."""
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
    if is_blank(text):
        return "only white space" if text.isspace() else "only invisible characters"
    return f"the text {text!r}" if len(text) <= PREVIEW else f"a text that begins {text[:PREVIEW]!r}"


class FieldError(Exception):
    """An invalid value of a field."""

    def __init__(self, field: str, got: str, expected: str) -> None:
        super().__init__(field, got, expected)
        self.field, self.got, self.expected = field, got, expected


class Fields:
    """The values of a row, by the field names that a mapping gives to its columns."""

    def __init__(self, row: Mapping[Any, Any], mapping: FieldMap, typed: bool) -> None:
        self.row, self.mapping, self.typed = row, mapping, typed

    def known_id(self) -> str | None:
        try:
            return self.name("id")
        except FieldError:
            return None

    def is_given(self, name: str) -> bool:
        """Return whether the row has a value for a field, mapped or not."""
        column = self.mapping.columns.get(name)
        value = self.row.get(name, ABSENT) if column is None else look_up(self.row, column)
        return not (value is ABSENT or value is None or (isinstance(value, str) and is_blank(value)))

    def value(self, name: str) -> Any:
        column = self.mapping.columns.get(name)
        if column is None:
            return self.row.get(name, ABSENT)
        value = look_up(self.row, column)
        if value is ABSENT:
            wanted = f"a column {column!r}, since the mapping says {name}={column}{self.columns()}"
            raise FieldError(name, "nothing", wanted)
        return value

    def output(self) -> str:
        text = self.value("output")
        if text is ABSENT:
            self.no_output()
        if not isinstance(text, str) or is_blank(text):
            raise FieldError("output", describe(text), _A_TEXT)
        return in_unicode("output", text)

    def no_output(self) -> NoReturn:
        other = next((str(c) for c, v in self.row.items() if c not in FIELDS and _is_wordy(v)), None)
        way = f"; to read it from another column, map output={other!r}" if other else ""
        raise FieldError("output", "nothing", f"{_A_TEXT}{self.columns()}{way}")

    def text(self, name: str) -> str | None:
        """Return a source, context or reference, or `None` if it is missing or a data set's word for that."""
        return without_placeholder(self.as_text(name, self.value(name)))

    def as_text(self, name: str, text: Any) -> str | None:
        if text is None or text is ABSENT:
            return None
        if not isinstance(text, str):
            joined = " (join the parts of a list into one)" if isinstance(text, list | tuple) else ""
            raise FieldError(name, describe(text), f"a text{joined} or null")
        return None if is_blank(text) else in_unicode(name, text)

    def name(self, name: str) -> str | None:
        return self.as_name(name, self.value(name))

    def as_name(self, name: str, value: Any) -> str | None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            exact = EXACT_WHOLE if isinstance(value, int) else EXACT_DECIMAL
            if not (abs(value) < exact and value == int(value)):
                raise FieldError(name, describe(value), "a text, or a whole number that needs no rounding")
            return str(int(value))
        text = self.as_text(name, value)
        if text and len(text) > LONGEST_NAME:
            raise FieldError(name, f"a text of {len(text):,} characters", f"at most {LONGEST_NAME:,} characters")
        return text

    def table(self, name: str) -> list[tuple[str, Any]]:
        start = f"{name}."
        whole = self.value(name)
        cells = dict(self._whole_table(name, whole))
        cells |= {c[len(start) :]: v for c, v in self.row.items() if isinstance(c, str) and c.startswith(start)}
        cells |= {aspect: self.value(start + aspect) for aspect in self.mapping.aspects(name)}
        given = [(aspect, cell) for aspect, cell in cells.items() if not self.blank(cell)]
        if any(is_blank(aspect) for aspect, _ in given):
            raise FieldError(name, "an aspect without a name", "names such as 'coherence'")
        return [(in_unicode(name, aspect), cell) for aspect, cell in given]

    def _whole_table(self, name: str, whole: Any) -> Mapping[str, Any]:
        if whole is ABSENT or self.blank(whole):
            return {}
        if isinstance(whole, Mapping):
            return {str(aspect): cell for aspect, cell in whole.items()}
        wanted = f"an object with a value for each aspect, or a column for each, such as {name}.coherence"
        raise FieldError(name, describe(whole), wanted)

    def number(self, name: str, cell: Any, wanted: str = "a finite number") -> float:
        if isinstance(cell, str):
            if self.typed:
                raise FieldError(name, describe(cell), f"{wanted}, without quotes")
            if not _DECIMAL.fullmatch(cell.strip()):
                raise FieldError(name, describe(cell), f"{wanted}, such as 4 or 3.5")
            cell = float(cell)
        if isinstance(cell, bool) or not isinstance(cell, Real | Decimal):
            raise FieldError(name, describe(cell), wanted)
        number = _as_float(cell)
        if not math.isfinite(number):
            raise FieldError(name, describe(cell), wanted)
        return number

    def numbers(self, name: str, cell: Any) -> tuple[float, ...]:
        if isinstance(cell, str) and not self.typed:
            cell = [part for part in _BETWEEN_NUMBERS.split(cell.strip("[]() \t")) if part]
        if not isinstance(cell, list | tuple):
            raise FieldError(
                name, describe(cell), "a list of finite numbers, one for each rater, or an object by rater"
            )
        wanted = "a finite number from each rater in the list (leave out who gave none)"
        return tuple(self.number(name, part, wanted) for part in cell)

    def is_list(self, cell: Any) -> bool:
        """Return whether a cell may hold several numbers; in a table of text, that is anything but one word."""
        if isinstance(cell, str) and not self.typed:
            return bool(_BETWEEN_NUMBERS.search(cell.strip()) or cell.strip()[:1] in "[(")
        return isinstance(cell, list | tuple)

    def blank(self, cell: Any) -> bool:
        return cell is None or (not self.typed and isinstance(cell, str) and is_blank(cell))

    def columns(self) -> str:
        named = [repr(str(column)) for column in self.row][:COLUMNS_NAMED]
        more = ", ..." if len(self.row) > COLUMNS_NAMED else ""
        return f"; the columns are {', '.join(named)}{more}" if named else ""


def without_placeholder(text: str | None) -> str | None:
    """Return a source, context or reference, or `None` if it is a data set's word for an absent text.

    Outputs are never treated so: whatever they say, they are the text to judge.
    """
    if text is None:
        return None
    word = text.strip(_AROUND).lower()
    return None if not word or word in _PLACEHOLDERS else text


def _is_wordy(value: Any) -> bool:
    return isinstance(value, str) and any(character.isalpha() for character in value)


def in_unicode(name: str, text: str) -> str:
    """Return `text` if it is valid Unicode; undecodable bytes arrive as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        around = text[max(0, error.start - 10) : error.end + 10]
        raise FieldError(name, f"bytes that are not UTF-8, in {around!r}", "text in UTF-8") from None
    return text


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except (OverflowError, ValueError):  # an integer beyond all floats; a signalling NaN
        return math.inf
