"""The fields of a row, validated as they are read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

from rubriclab.data.mapping import ABSENT, FIELDS, FieldMap, look_up
from rubriclab.models.base import LONGEST_NAME
from rubriclab.models.cells import (
    CANNOT_ASSESS,
    CellError,
    CellRules,
    WordScore,
)
from rubriclab.models.characters import EXACT_WHOLE, describe, is_blank

# Numbers are accepted as names if they are exact: JSON readers turn integers of more than 64 bits into floats, and
# floats beyond 2**53 have lost digits.
EXACT_DECIMAL = 2**53
# Characters of a rater's reason: some sentences. A longer text is usually a wrong column.
LONGEST_REASON = 2_000
COLUMNS_NAMED = 12

_A_TEXT = "a non-empty text"
# Placeholders for an absent text (such as Topical-Chat's `_nofact`), in lower case without surrounding marks.
_PLACEHOLDER = re.compile(
    r"_?(nofact|none|null)|empty|n\.a|n/?a|nan|nil|undefined|no (context|fact|reference|source)"
    r"|not (applicable|available)"
)
_AROUND = " \t\r\n[](){}<>\"'`*.-–—"


class FieldError(Exception):
    """An invalid value of a field.

    Attributes:
        word: a text in place of a number.
        single: whether it is the score of one named rater, without which the row can be used.
    """

    def __init__(self, field: str, got: str, expected: str, word: str | None = None) -> None:
        super().__init__(field, got, expected)
        self.field, self.got, self.expected, self.word = field, got, expected, word
        self.single = False


class Fields:
    """The values of a row by field, after mapping columns to fields."""

    def __init__(self, row: Mapping[Any, Any], mapping: FieldMap, rules: CellRules) -> None:
        self.row, self.mapping, self.rules = row, mapping, rules

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
            expected = f"a column {column!r}, which the mapping names for it{self.columns()}"
            raise FieldError(name, "nothing", expected)
        return value

    def output(self) -> str:
        text = self.value("output")
        if text is ABSENT:
            other = self.text_column()
            way = f"; if the text is in another column, map 'output' to it, such as to {other!r}" if other else ""
            raise FieldError("output", "nothing", f"{_A_TEXT}{self.columns()}{way}")
        if not isinstance(text, str) or isinstance(text, CellError) or is_blank(text):
            raise FieldError("output", describe(text), _A_TEXT)
        return in_unicode("output", text)

    def check_column(self, name: str) -> None:
        """Raise `FieldError` if there is no column for a needed or mapped field."""
        if self.value(name) is ABSENT:
            raise FieldError(name, "nothing", f"{_A_TEXT}{self.columns()}")

    def text_column(self) -> str | None:
        """Return the first column that is not a field and contains words."""
        return next(
            (str(column) for column, value in self.row.items() if column not in FIELDS and _is_wordy(value)), None
        )

    def text(self, name: str) -> str | None:
        """Return a source, context or reference, or `None` if it is missing or a placeholder."""
        value = self.value(name)
        return None if self.rules.is_missing(value) else without_placeholder(self.as_text(name, value))

    def as_text(self, name: str, text: Any) -> str | None:
        if text is None or text is ABSENT:
            return None
        if not isinstance(text, str) or isinstance(text, CellError):
            joined = " (join the parts of a list into one)" if isinstance(text, list | tuple) else ""
            raise FieldError(name, describe(text), f"a text{joined} or null")
        return None if is_blank(text) else in_unicode(name, text)

    def name(self, name: str) -> str | None:
        value = self.value(name)
        missing = name != "id" and isinstance(value, str) and self.rules.is_missing(value)
        return None if missing else self.as_name(name, value)

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
        value = self.value(name)
        cells = dict(self._nested_table(name, value))
        cells |= {c[len(start) :]: v for c, v in self.row.items() if isinstance(c, str) and c.startswith(start)}
        cells |= {aspect: self.value(start + aspect) for aspect in self.mapping.aspects(name)}
        present = [(aspect, cell) for aspect, cell in cells.items() if not self.blank(cell)]
        if any(is_blank(aspect) for aspect, _ in present):
            raise FieldError(name, "an aspect without a name", "names such as 'coherence'")
        return [(in_unicode(name, aspect), cell) for aspect, cell in present]

    def _nested_table(self, name: str, value: Any) -> Mapping[str, Any]:
        if value is ABSENT or self.blank(value):
            return {}
        if isinstance(value, Mapping):
            return {str(aspect): cell for aspect, cell in value.items()}
        expected = f"an object with a value for each aspect, or a column for each, such as {name}.coherence"
        raise FieldError(name, describe(value), expected)

    def number(self, name: str, cell: Any, expected: str = "a finite number") -> float | None:
        """Return the number in a cell, or `None` if a rater could not assess the text."""
        if isinstance(cell, bool):
            cell = str(cell).lower()
        if isinstance(cell, str):
            if cell.strip().casefold() in CANNOT_ASSESS and self.rules.level(cell) is None:
                self.rules.not_assessed[name] += 1
                return None
            cell = self._written_number(name, cell, expected)
        if not isinstance(cell, Real | Decimal):
            raise FieldError(name, describe(cell), expected)
        number = cell if isinstance(cell, WordScore) else _as_float(cell)
        if not math.isfinite(number):
            raise FieldError(name, describe(cell), expected)
        return number

    def _written_number(self, name: str, cell: str, expected: str) -> float:
        rules = self.rules
        if (level := rules.level(cell)) is not None:
            return level
        number = None if rules.typed else rules.number(cell)
        if number is None:
            written = "without quotes" if rules.typed else f"such as 4 or {'3,5' if rules.decimal_comma else '3.5'}"
            raise FieldError(name, describe(cell), f"{expected}, {written}", cell.strip() if _is_wordy(cell) else None)
        return number

    def numbers(self, name: str, cell: Any) -> tuple[float, ...]:
        if isinstance(cell, str) and not self.rules.typed:
            cell = self.rules.parts(cell)
        if not isinstance(cell, list | tuple):
            raise FieldError(
                name, describe(cell), "a list of finite numbers, one for each rater, or an object by rater"
            )
        expected = "a finite number from each rater in the list (leave out raters without a score)"
        missing = self.rules.missing
        given = (self.number(name, part, expected) for part in cell if not (missing and self.blank(part)))
        return tuple(number for number in given if number is not None)

    def reason(self, name: str, cell: Any) -> str | None:
        """Return a rater's reason for a score, or `None` if it is blank."""
        # A number in a table is a column of scores; a text in JSON may be whatever a person typed.
        if (
            not isinstance(cell, str)
            or isinstance(cell, CellError)
            or not (self.rules.typed or self.rules.number(cell) is None)
        ):
            raise FieldError(name, describe(cell), "a reason in words")
        text = cell.strip()
        if len(text) > LONGEST_REASON:
            raise FieldError(name, f"a text of {len(text):,} characters", f"at most {LONGEST_REASON:,} characters")
        return None if is_blank(text) else in_unicode(name, text)

    def is_list(self, cell: Any) -> bool:
        """Return whether a cell holds several numbers or words for levels."""
        if isinstance(cell, str) and not self.rules.typed:
            return self.rules.is_list(cell)
        return isinstance(cell, list | tuple)

    def blank(self, cell: Any) -> bool:
        return self.rules.is_missing(cell)

    def columns(self) -> str:
        named = [repr(str(column)) for column in self.row][:COLUMNS_NAMED]
        more = ", ..." if len(self.row) > COLUMNS_NAMED else ""
        return f"; the columns are {', '.join(named)}{more}" if named else ""


def without_placeholder(text: str | None) -> str | None:
    """Return a source, context or reference, or `None` if it is a placeholder for an absent text.

    Outputs are not checked for placeholders: any output is a text to judge.
    """
    if text is None:
        return None
    word = text.strip(_AROUND).lower()
    return None if not word or _PLACEHOLDER.fullmatch(word) else text


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
