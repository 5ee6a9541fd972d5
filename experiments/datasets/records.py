"""The rows of a file as somebody published it, one at a time, and what is taken out of them.

Published files are whole and well formed; whatever is not as expected means that it is another file or another version
of it. So the first surprise ends the reading, as `FieldError`, and `Records.line` says where it was.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import orjson

from rubriclab import RowError
from rubriclab.data.cells import TYPED, UNTYPED, CellRules
from rubriclab.data.delimited import delimited_rows
from rubriclab.data.fields import FieldError, Fields
from rubriclab.data.formats import Numbered, json_lines, lines_of
from rubriclab.data.mapping import ABSENT, NATIVE
from rubriclab.descriptions import describe

Annotations = dict[str, tuple[float, ...]]


class Records(Iterator[Fields]):
    """The rows of one file. `line` is where the row given last begins, or its number where there are no lines."""

    def __init__(self, rows: Numbered, *, rules: CellRules = TYPED) -> None:
        self.line = 0
        self._rows, self._rules = rows, rules

    def __next__(self) -> Fields:
        self.line, row = next(self._rows)
        if isinstance(row, RowError):
            raise FieldError(row.field or "", row.got, row.expected)
        if not isinstance(row, Mapping):
            raise FieldError("", describe(row), "an object")
        return Fields(row, NATIVE, self._rules)


def json_line_records(path: Path) -> Records:
    """Return the rows of JSON Lines."""
    return Records(json_lines(str(path), lines_of(path)))


def csv_records(path: Path) -> Records:
    """Return the rows of a CSV file."""
    return Records(delimited_rows(str(path), lines_of(path)), rules=UNTYPED)


def tsv_records(path: Path) -> Records:
    """Return the rows of a file of tab-separated values without quoting: a quotation mark stands for itself."""
    return Records(_tab_separated(path), rules=UNTYPED)


def json_document_records(path: Path) -> Records:
    """Return the members of a JSON document: those of a list, or the values of an object with their keys as `key`."""
    return Records(_members(path))


def _tab_separated(path: Path) -> Numbered:
    lines = (line.decode("utf-8-sig").rstrip("\r\n").split("\t") for line in lines_of(path))
    header = next(lines, [])
    for number, cells in enumerate(lines, start=2):
        if len(cells) != len(header):
            yield (
                number,
                RowError(str(path), number, None, f"{len(cells)} cells", f"{len(header)}, as in the first line"),
            )
        else:
            yield number, dict(zip(header, cells, strict=True))


def _members(path: Path) -> Numbered:
    try:
        whole = orjson.loads(b"".join(lines_of(path)))
    except (OSError, EOFError, zlib.error, orjson.JSONDecodeError) as error:
        raise FieldError("", f"a file that cannot be read ({error})", "one JSON document") from None
    if isinstance(whole, Mapping):
        whole = [{**value, "key": key} if isinstance(value, Mapping) else value for key, value in whole.items()]
    if not isinstance(whole, list):
        raise FieldError("", describe(whole), "a list or an object")
    yield from enumerate(whole, start=1)


def text(fields: Fields, name: str) -> str:
    """Return a text that must be there, without white space around it."""
    found = fields.as_text(name, fields.value(name))
    return (found and found.strip()) or lacking(fields, name, "a non-empty text")


def optional_text(fields: Fields, name: str) -> str | None:
    """Return a text without white space around it, or None where there is none or a placeholder stands for it."""
    found = fields.text(name)
    return found.strip() if found else None


def name_of(fields: Fields, name: str) -> str:
    """Return what something is called, which a file may write as a number."""
    found = fields.name(name)
    return found.strip() if found else lacking(fields, name, "a name")


def rating(fields: Fields, name: str) -> float:
    """Return one rater's number."""
    cell = fields.value(name)
    return lacking(fields, name, "a number") if cell is ABSENT else fields.number(name, cell)


def ratings(fields: Fields, name: str) -> tuple[float, ...]:
    """Return a list of numbers, one for each rater."""
    cell = fields.value(name)
    numbers = () if cell is ABSENT else fields.numbers(name, cell)
    return numbers or lacking(fields, name, "a list of numbers, one for each rater")


def nested(fields: Fields, name: str) -> tuple[Fields, ...]:
    """Return the objects of a list that must not be empty."""
    cell = fields.value(name)
    if not (isinstance(cell, list) and cell and all(isinstance(each, Mapping) for each in cell)):
        lacking(fields, name, "a list of objects")
    return tuple(Fields(each, NATIVE, TYPED) for each in cell)


def lacking(fields: Fields, name: str, expected: str) -> NoReturn:
    """Raise what is wrong with a field."""
    cell = fields.value(name)
    raise FieldError(name, "nothing" if cell is ABSENT else describe(cell), f"{expected}{fields.columns()}")


def named(raters: Sequence[str | None], annotations: Annotations) -> dict[str, tuple[str, ...]]:
    """Return who gave the numbers of each aspect; nobody unless each of them has a name of their own."""
    names = tuple(rater for rater in raters if rater)
    known = len(set(names)) == len(raters)
    return {aspect: names for aspect, numbers in annotations.items() if known and len(numbers) == len(names)}


def means(annotations: Annotations) -> dict[str, float]:
    """Return each aspect's score: the mean over its raters."""
    return {aspect: math.fsum(numbers) / len(numbers) for aspect, numbers in annotations.items()}
