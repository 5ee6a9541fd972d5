"""The records of a published file, and the values of their fields.

Published files are complete and well formed; anything unexpected means that it is another file or another version. So
the first surprise ends the reading, as `WrongRecord`, and `Records.line` is its place.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any


class WrongRecord(Exception):
    """A value that is not as published."""


class Record:
    """One record of a file."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def wrong(self, name: str, expected: str) -> WrongRecord:
        """Return the error for a field."""
        value = self.values.get(name)
        got = "nothing" if value is None else f"a list of {len(value)}" if isinstance(value, list) else repr(value)
        return WrongRecord(f"field {name!r}: got {got[:80]}, expected {expected}")

    def optional(self, name: str) -> str | None:
        """Return a text without white space around it; `None` if there is none."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, "a text")
        return (value or "").strip() or None

    def text(self, name: str) -> str:
        """Return a text that must be there."""
        if found := self.optional(name):
            return found
        raise self.wrong(name, "a non-empty text")

    def name(self, name: str) -> str:
        """Return a name, which a file may write as a number."""
        value = self.values.get(name)
        return str(value) if isinstance(value, int) else self.text(name)

    def whole(self, name: str) -> int:
        """Return a whole number that is written as a name."""
        found = self.name(name)
        if not (found.isascii() and found.isdecimal()):
            raise self.wrong(name, "a whole number")
        return int(found)

    def number(self, name: str) -> float:
        """Return a rater's number."""
        return self._number(name, self.values.get(name), "a finite number")

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return a list of numbers, one for each rater."""
        value, expected = self.values.get(name), "a list of numbers, one for each rater"
        if not (isinstance(value, list) and value):
            raise self.wrong(name, expected)
        return tuple(self._number(name, each, expected) for each in value)

    def _number(self, name: str, value: Any, expected: str) -> float:
        try:
            found = float(value)
        except (TypeError, ValueError):
            raise self.wrong(name, expected) from None
        if not math.isfinite(found):
            raise self.wrong(name, expected)
        return found

    def nested(self, name: str) -> list[Record]:
        """Return the objects of a list that must not be empty."""
        value = self.values.get(name)
        if not (isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value)):
            raise self.wrong(name, "a list of objects")
        return [Record(each) for each in value]


class Records(Iterator[Record]):
    """The records of a file. `line` is where the last one begins, or its number in a document."""

    def __init__(self, members: Iterable[tuple[int, Any]]) -> None:
        self.line = 1
        self._members = iter(members)

    def __next__(self) -> Record:
        self.line, values = next(self._members)
        if not isinstance(values, Mapping):
            raise WrongRecord(f"got {values!r:.80}, expected an object")
        return Record(values)


def _lines(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        yield from file


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the values of JSON Lines."""
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            yield number, json.loads(line)


def csv_rows(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the rows of a CSV file."""
    reader = csv.DictReader(_lines(path), strict=True)
    line = 2
    for row in reader:
        yield line, row
        line = reader.line_num + 1


def json_document(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the members of a JSON document: those of a list, or the values of an object with their keys as `key`."""
    whole = json.loads("".join(_lines(path)))
    if isinstance(whole, Mapping):
        whole = [{**value, "key": key} if isinstance(value, Mapping) else value for key, value in whole.items()]
    if not isinstance(whole, list):
        raise WrongRecord(f"got {whole!r:.80}, expected a list or an object")
    yield from enumerate(whole, start=1)
