"""Rows of text files with delimiters (CSV, TSV and the like), each with its line, and the header of any table."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rubriclab.data.formats import LINE_OVERHEAD, Lines, Numbered, numbered, too_long
from rubriclab.data.mapping import FIELDS
from rubriclab.data.reading import LONGEST_ROW, ReadingOptions
from rubriclab.data.row import RowError
from rubriclab.data.tables import unescaped
from rubriclab.errors import DataError
from rubriclab.models.characters import is_blank, preview
from rubriclab.option_names import option

# Characters; a longer cell is considered an unclosed quote.
LONGEST_CELL = 2**24
# Excel reads and writes a first line that names the delimiter.
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n?")
# Characters and records that are used to detect the delimiter.
SNIFFED = 2**16
RECORDS_SNIFFED = 200
# Share of records with the same number of cells from which the first line is taken for a title.
SHARE_BELOW_TITLE = 0.8
# Records that are searched for the header.
RECORDS_SEARCHED = 20
# Share of the most cells of any row that a header has at least.
FILLED = 0.6


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file separates cells.

    Attributes:
        delimiter: one character.
        header_rows: the number of lines with column names.
        named: whether the first line only names the delimiter (`sep=;`).
        skipped: the number of lines above the header.
    """

    delimiter: str = ","
    header_rows: int = 1
    named: bool = False
    skipped: int = 0


def sniff(text: str, usual: str, *, complete: bool, header_rows: int = 1, skipped: int = 0) -> Dialect:
    """Return the dialect of a file that begins with `text`.

    The delimiter is the one that gives most records the same number of cells as the first record, at least two; of
    equally good ones, the one that gives more cells, then `usual`. Below a title in one cell, the number of cells that
    most records have counts instead. If every record has one cell, it is `usual`.
    """
    if match := _SEPARATOR_LINE.match(text):
        return Dialect(match[1], header_rows, named=True, skipped=skipped)
    lines = text[:SNIFFED].splitlines(keepends=True)[skipped:]
    if len(lines) > 1 and not (complete and len(text) <= SNIFFED):
        lines.pop()
    marks = dict.fromkeys((usual, ",", ";", "\t", "|"))
    return Dialect(max(marks, key=lambda mark: _fit(lines, mark, header_rows)), header_rows, skipped=skipped)


def _fit(lines: Sequence[str], mark: str, header_rows: int) -> tuple[float, int]:
    records = islice(csv.reader(iter(lines), delimiter=mark), RECORDS_SNIFFED)
    try:
        cells = [len(record) for record in records if any(cell.strip() for cell in record)][header_rows - 1 :]
    except csv.Error:
        return 0, 0
    if not cells:
        return 0, 0
    usual = cells[0] if cells[0] > 1 else max(cells, key=cells.count)
    share = cells.count(usual) / len(cells)
    if usual < 2 or (cells[0] < 2 and share < SHARE_BELOW_TITLE):
        return 0, 0
    return round(share, 1), usual


def delimited_rows(where: str, lines: Lines, longest: int = LONGEST_ROW, dialect: Dialect = Dialect()) -> Numbered:
    """Yield the rows of a text file with a header, as texts by column; blank lines and unnamed columns are skipped.

    Raises:
        DataError: if the header cannot be used, or a record over several lines takes more than `longest` bytes.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    source = numbered(where, lines)
    for _ in range(max(dialect.skipped, int(dialect.named))):
        next(source, None)
    records = _records(where, source, longest, dialect.delimiter)
    header = [cells for _, cells in islice(records, dialect.header_rows)]
    if len(header) < dialect.header_rows:
        return
    for cells in header:
        if isinstance(cells, RowError):
            raise DataError(f"{cells}.", "The first line of a CSV file names its columns.")
    columns = joined_header(where, [cells for cells in header if not isinstance(cells, RowError)])
    others = [mark for mark in ",;\t|" if len(columns) == 1 and mark in columns[0] and mark != dialect.delimiter]
    if others:
        raise DataError(
            f"{where}: the header has no {dialect.delimiter!r} but {others[0]!r};",
            f"leave {option('delimiter')} out, or name the other.",
        )
    for number, cells in records:
        if isinstance(cells, RowError):
            yield number, cells
        elif len(cells) != len(columns):
            yield number, RowError(where, number, None, f"{len(cells)} cells", f"{len(columns)}, as in the header")
        else:
            named = zip(columns, cells, strict=True)
            yield number, {column: unescaped(cell, dialect.delimiter) for column, cell in named if column}


def first_records(lines: Sequence[str], dialect: Dialect) -> list[tuple[int, list[str]]]:
    """Return the first records of a text file with their lines, from the header on."""
    above = max(dialect.skipped, int(dialect.named))
    source = ((number, line.encode("utf-8", "surrogateescape")) for number, line in enumerate(lines, start=1))
    records = _records("", islice(source, above, None), LONGEST_ROW, dialect.delimiter)
    found = islice(records, RECORDS_SEARCHED)
    return [(number, cells) for number, cells in found if not isinstance(cells, RowError)]


def joined_header(where: str, rows: Sequence[Sequence[Any]]) -> list[str]:
    """Return the names of the columns, those of several header rows joined by dots; empty ones for unnamed columns.

    In all rows but the last, an empty cell repeats the one to its left, as in an export of merged cells.

    Raises:
        DataError: if the rows differ in length, or two columns have one name.
    """
    if len({len(cells) for cells in rows}) > 1:
        lengths = ", ".join(str(len(cells)) for cells in rows)
        raise DataError(f"{where}: the header rows have {lengths} cells;", "give each as many.")
    parts = [[_text(cell).strip() for cell in cells] for cells in rows]
    named = [any(column) for column in zip(*parts, strict=True)]
    for cells in parts[:-1]:
        for place in range(1, len(cells)):
            cells[place] = cells[place] or cells[place - 1]
    joined = (".".join(part for part in column if part) for column in zip(*parts, strict=True))
    columns = [column if is_named else "" for column, is_named in zip(joined, named, strict=True)]
    twice = [column for column in columns if column and columns.count(column) > 1]
    if twice:
        raise DataError(
            f"{where}: the header names the column {twice[0]!r} twice;",
            f"give each its own name, or, if the header has several rows, join them: {option('header_rows', '2')}.",
        )
    return columns


def _text(cell: Any) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def _records(
    where: str, lines: Iterator[tuple[int, bytes | RowError]], longest: int, delimiter: str
) -> Iterator[tuple[int, list[str] | RowError]]:
    """Yield the cells of each non-blank record, with its first line.

    After a broken record, only its first line is lost: the other lines inside an open quote are read again. Bytes that
    are not UTF-8 become lone surrogates, so that errors can name their field.
    """
    ahead: deque[tuple[int, bytes | RowError]] = deque()
    taken: list[tuple[int, bytes | RowError]] = []

    def record() -> Iterator[str]:
        size = 0
        while numbered_line := ahead.popleft() if ahead else next(lines, None):
            taken.append(numbered_line)
            line = numbered_line[1]
            if isinstance(line, RowError):
                return
            size += len(line) + (LINE_OVERHEAD if len(taken) > 1 else 0)
            if size > longest:
                raise too_long(where, f"the CSV row that begins in line {taken[0][0]}", longest)
            yield line.decode("utf-8", "surrogateescape")

    while True:
        taken.clear()
        try:
            cells: list[str] | RowError | None = next(csv.reader(record(), delimiter=delimiter, strict=True), None)
        except csv.Error as error:
            ahead.extendleft(reversed(taken[1:]))
            cells = RowError(where, taken[0][0], None, f"a broken CSV row ({error})", "cells with every quote closed")
        if not taken:
            return
        number, line = taken[0]
        if isinstance(line, RowError):
            yield number, line
        elif isinstance(cells, RowError) or (cells and any(cell.strip() for cell in cells)):
            yield number, cells


def check_header(where: str, rows: Sequence[tuple[int, Sequence[Any]]], options: ReadingOptions) -> None:
    """Check that the first of the numbered rows is the header, not a title above it.

    A title fills the first cell, or all cells of a merged range, with one text, and most rows below have several cells.

    Raises:
        DataError: if it looks like a title; the message names the rows.
    """
    if len(rows) < 2 or options.header_rows > 1:
        return
    # The different texts of each row, in their order.
    contents = [list(dict.fromkeys(str(cell).strip() for cell in cells if not _is_empty(cell))) for _, cells in rows]
    title, most = contents[0], max(map(len, contents))
    is_field = bool(title) and title[0] in {*FIELDS, *options.mapping.columns.values()}
    if len(title) == 1 and most > 1 and not is_field and not _is_empty(rows[0][1][0]):
        number = next(number for (number, _), found in zip(rows, contents, strict=True) if len(found) >= FILLED * most)
        raise DataError(
            f"{where}: row {rows[0][0]} holds only {preview(title[0])}, and row {number} looks like the header;",
            f"leave out the rows above it: {option('skip_rows', str(number - 1))}.",
        )


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and is_blank(cell))
