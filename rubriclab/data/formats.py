"""Rows of JSON Lines and CSV, one at a time and in order, each with its line.

Every function yields `(line, row)`, where a row is the parsed value (a mapping, if it is valid) or a `RowError`.
Reading continues after a faulty row. If the data ends early (a damaged gzip file, a disk error), the last row is a
fault.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from rubriclab.data.row import RowError
from rubriclab.errors import DataError
from rubriclab.option_names import option

Lines = Iterable[bytes | str]
Numbered = Iterator[tuple[int, Any]]

_BOM = b"\xef\xbb\xbf"
_NOT_LINES = {
    b"\x1f\x8b": ("gzip data", "name the file .gz, or unpack it first: gzip -dc FILE | rubriclab ... -"),
    b"\xff\xfe": ("text in UTF-16", "save it as UTF-8."),
    b"\xfe\xff": ("text in UTF-16", "save it as UTF-8."),
    b"PAR1": ("a Parquet file", "name it .parquet."),
    b"PK\x03\x04": ("a zip archive or a spreadsheet", "save it as CSV or JSON Lines."),
}
# Characters; a longer CSV cell is taken for an unclosed quote.
LONGEST_CELL = 2**24
# Bytes of a row: a line, a CSV record of several lines, or the cells of a Parquet row.
LONGEST_ROW = 64_000_000
# Bytes of memory per line besides its characters: a CSV record may consist of millions of empty lines.
LINE_OVERHEAD = 200


def lines_of(path: Path, longest: int = LONGEST_ROW) -> Iterator[bytes]:
    """Yield the lines of a file, decompressed if its name ends in `.gz`; only one line is in memory.

    Raises:
        DataError: for a line of more than `longest` bytes.
    """
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
        yield from bounded_lines(str(path), stream, longest)


def bounded_lines(where: str, lines: Lines, longest: int) -> Iterator[Any]:
    """Yield the lines of a stream or an iterable; at most `longest` bytes of a line are read from a stream.

    Raises:
        DataError: for a longer line.
    """
    readline = getattr(lines, "readline", None)
    read = iter(lambda: readline(longest + 1) or None, None) if callable(readline) else iter(lines)
    for number, line in enumerate(read, start=1):
        if len(line) > longest:
            raise _too_long(where, f"line {number}", longest)
        yield line


def _too_long(where: str, place: str, longest: int) -> DataError:
    return DataError(
        f"{where}: {place} has more than {longest:,} bytes, the limit of a row.",
        f"Check that it has one row per line; if so, raise the limit: {option('max_line_bytes', 'BYTES')}.",
    )


def json_lines(where: str, lines: Lines, longest: int = LONGEST_ROW) -> Numbered:
    """Yield the rows of JSON Lines; blank lines are skipped.

    Raises:
        DataError: for more than `longest` bytes of blank lines in a row.
    """
    gap = _Gap(where, longest)
    for number, line in _numbered(where, lines):
        if isinstance(line, RowError):
            yield number, line
        elif line.strip():
            gap.end()
            yield number, _json_row(where, number, line)
        else:
            gap.add(number, len(line))


class _Gap:
    """The blank lines since the last row, of which a small compressed file may have any number."""

    def __init__(self, where: str, longest: int) -> None:
        self.where, self.longest = where, longest
        self.size = 0

    def end(self) -> None:
        self.size = 0

    def add(self, number: int, size: int) -> None:
        self.size += size + LINE_OVERHEAD
        if self.size > self.longest:
            raise _too_long(self.where, f"what lies between two rows, up to line {number},", self.longest)


def csv_rows(where: str, lines: Lines, longest: int = LONGEST_ROW) -> Numbered:
    """Yield the rows of a CSV file with a header, as texts by column; blank lines are skipped.

    Raises:
        DataError: if the header cannot be used, or a record over several lines takes more than `longest` bytes.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    records = _csv_records(where, _numbered(where, lines), longest)
    first = next(records, None)
    if first is None:
        return
    columns = _header(where, first[1])
    for number, cells in records:
        if isinstance(cells, RowError):
            yield number, cells
        elif len(cells) != len(columns):
            yield number, RowError(where, number, None, f"{len(cells)} cells", f"{len(columns)}, as in the header")
        else:
            yield number, dict(zip(columns, cells, strict=True))


def _numbered(where: str, lines: Lines) -> Iterator[tuple[int, bytes | RowError]]:
    """Yield lines counted from 1, without byte order mark, and a fault if the rest is unreadable."""
    number = 0
    try:
        for number, text in enumerate(lines, start=1):
            line = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
            yield number, _first_line(where, line) if number == 1 else line
    except (OSError, EOFError, zlib.error) as error:
        yield number + 1, broken_off(where, number, error)


def _first_line(where: str, line: bytes) -> bytes:
    for start, (came, hint) in _NOT_LINES.items():
        if line.startswith(start):
            raise DataError(f"{where} is {came}, not lines of text in UTF-8;", hint)
    return line.removeprefix(_BOM)


def broken_off(where: str, number: int, error: Exception) -> RowError:
    reason = " ".join(str(error).split()).rstrip(".")
    if number == 0:
        raise DataError(f"{where} cannot be read: {reason}.", "Is it whole, and what its name says?") from error
    return RowError(where, number + 1, None, f"data that breaks off or is damaged ({reason})", "a whole file")


def _json_row(where: str, number: int, line: bytes) -> Any:
    try:
        row = orjson.loads(line)
        return _named_once(where, number, line, row) if isinstance(row, dict) else row
    except orjson.JSONDecodeError as error:
        reason = error.msg
    try:
        line.decode()
    except UnicodeDecodeError as error:
        around = line[max(0, error.start - 10) : error.end + 10].strip()
        came = f"bytes that are not UTF-8, in {around!r}"
        return RowError(where, number, None, came, "JSON in UTF-8")
    row = _lenient(line)
    if row is not None:
        return _named_once(where, number, line, row)
    ending = "" if line.endswith(b"\n") else "; the last line breaks off"
    return RowError(where, number, None, f"text that is not JSON ({reason}{ending})", "a JSON object on one line")


def _named_once(where: str, number: int, line: bytes, row: Any) -> Any:
    """Return the row, or a fault if an object in it repeats a name, since one of the values would be lost."""
    repeated: list[str] = []

    def names(pairs: list[tuple[str, Any]]) -> None:
        counts = Counter(name for name, _ in pairs)
        repeated.extend(name for name, count in counts.items() if count > 1)

    with suppress(RecursionError):  # nested deeper than any field that is read
        json.loads(line, object_pairs_hook=names, parse_int=str)
    return (
        RowError(where, number, None, f"the name {repeated[0]!r} twice in one object", "each once") if repeated else row
    )


def _lenient(line: bytes) -> Any:
    """Return a row with NaN or Infinity, which Python writes although JSON has neither, so that its field is named."""
    if b"NaN" not in line and b"Infinity" not in line:
        return None
    try:
        row = json.loads(line)
        # Unlike the standard library, orjson refuses lone surrogates and numbers beyond 64 bits.
        orjson.dumps(row)
    except (ValueError, TypeError, RecursionError):
        return None
    return row


def _header(where: str, cells: list[str] | RowError) -> list[str]:
    if isinstance(cells, RowError):
        raise DataError(f"{cells}.", "The first line of a CSV file names its columns.")
    columns = [cell.strip() for cell in cells]
    twice = [column for column in columns if columns.count(column) > 1]
    if twice:
        raise DataError(f"{where}: the header names the column {twice[0]!r} twice;", "give each its own name.")
    if len(columns) == 1 and (other := [mark for mark in ";\t|" if mark in columns[0]]):
        raise DataError(f"{where}: the header has no comma but {other[0]!r};", "save it with commas between the cells.")
    return columns


def _csv_records(
    where: str, lines: Iterator[tuple[int, bytes | RowError]], longest: int
) -> Iterator[tuple[int, list[str] | RowError]]:
    """Yield the cells of each non-blank record, with its first line.

    After a broken record only its first line is lost: further lines that an open quote has swallowed are read again.
    """
    source = _RecordLines(where, lines, longest)
    gap = _Gap(where, longest)
    while True:
        source.begin()
        try:
            cells: list[str] | RowError | None = next(csv.reader(source, strict=True), None)
        except csv.Error as error:
            number = source.give_back()
            cells = RowError(where, number, None, f"a broken CSV row ({error})", "cells with every quote closed")
        if not source.taken:
            return
        number, line = source.taken[0]
        if isinstance(line, RowError):
            yield number, line
        elif isinstance(cells, RowError) or (cells and any(cell.strip() for cell in cells)):
            gap.end()
            yield number, cells
        else:
            gap.add(number, source.size)


class _RecordLines(Iterator[str]):
    """The lines that a CSV reader consumes for one record, which can be put back except for the first.

    Bytes that are not UTF-8 become lone surrogates, so that the field with them can be named.
    """

    def __init__(self, where: str, lines: Iterator[tuple[int, bytes | RowError]], longest: int) -> None:
        self.where, self.lines, self.longest = where, lines, longest
        self.size = 0
        self.ahead: deque[tuple[int, bytes | RowError]] = deque()
        self.taken: list[tuple[int, bytes | RowError]] = []

    def begin(self) -> None:
        self.taken.clear()
        self.size = 0

    def __next__(self) -> str:
        number, line = self.ahead.popleft() if self.ahead else next(self.lines)
        self.taken.append((number, line))
        if isinstance(line, RowError):
            raise StopIteration
        self.size += len(line) + (LINE_OVERHEAD if len(self.taken) > 1 else 0)
        if self.size > self.longest:
            raise _too_long(self.where, f"the CSV row that begins in line {self.taken[0][0]}", self.longest)
        return line.decode("utf-8", "surrogateescape")

    def give_back(self) -> int:
        self.ahead.extendleft(reversed(self.taken[1:]))
        return self.taken[0][0]
