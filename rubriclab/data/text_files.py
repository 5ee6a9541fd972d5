"""Rows of text files: first their encoding and lines, then JSON Lines and JSON documents, then CSV, TSV and the like.

Rows come one at a time and in order. Every reader yields `(line, row)`, where a row is the parsed value (a mapping, if
it is valid) or a `RowError`, and continues after a faulty row. If the data ends early, the last row is a fault.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import orjson

from rubriclab.data.cells import is_empty
from rubriclab.data.mapping import FIELDS
from rubriclab.data.reading_options import MAX_ROW_BYTES, UTF_8, ReadingOptions
from rubriclab.data.rows import RowError
from rubriclab.data.write import unescape_cell
from rubriclab.errors import DataError
from rubriclab.models.characters import preview

Lines = Iterable[bytes | str]
RowStream = Iterator[tuple[int, Any]]

# The first bytes of files that are not text, with the name of their format and a hint.
_NOT_TEXT = {
    b"\x1f\x8b": ("gzip data", "name the file .gz, or unpack it first: gzip -dc FILE | rubriclab ... -"),
    b"PAR1": ("a Parquet file", "name it .parquet."),
    b"\xd0\xcf\x11\xe0": ("an old (.xls) or password-protected Excel workbook", "save it as .xlsx without a password."),
    b"PK\x03\x04": ("a zip archive or an Excel workbook", "name a workbook .xlsx."),
}
_UTF_16 = ("text in UTF-16", "give the file by its name, or save it as UTF-8.")
_NOT_UTF_8 = _NOT_TEXT | {codecs.BOM_UTF16_LE: _UTF_16, codecs.BOM_UTF16_BE: _UTF_16}
# Bytes of memory for each further line of a CSV record, besides its characters. An unclosed quote may span many lines.
LINE_OVERHEAD = 200
# Maximum size of the sample from which encoding and delimiter are detected, and of the blocks in which it is read.
SAMPLE_BYTES = 2**24
BLOCK_BYTES = 2**16
_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: UTF_8, codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# In Western European text, at most this share of the letters is outside ASCII; in other alphabets, most of them are.
_MAX_NON_ASCII_SHARE = 0.4


def read_lines(path: Path, max_bytes: int = MAX_ROW_BYTES, encoding: str = UTF_8, newline: str = "\n") -> Iterator[Any]:
    """Yield the lines of a file, decompressed if its name ends in `.gz`: UTF-8 as bytes, other encodings as texts."""
    with open_file(path) as stream:
        if encoding == UTF_8 and newline == "\n":
            yield from bounded_lines(str(path), stream, max_bytes)
            return
        errors = "replace" if encoding.startswith("utf-16") else "surrogateescape"
        with io.TextIOWrapper(stream, encoding, errors, newline=newline) as text:
            yield from bounded_lines(str(path), text, max_bytes)


def open_file(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return cast(IO[bytes], gzip.open(path))
    return path.open("rb", buffering=BLOCK_BYTES)


def read_sample(path: Path) -> tuple[bytes, bool]:
    """Return the first decompressed bytes of a file, and whether these are all of its bytes; a pipe is not read."""
    if not path.is_file():
        return b"", False
    sample = bytearray()
    with suppress(OSError, EOFError, zlib.error), open_file(path) as stream:
        while len(sample) < SAMPLE_BYTES and (block := stream.read(min(BLOCK_BYTES, SAMPLE_BYTES - len(sample)))):
            sample += block
    return bytes(sample), len(sample) < SAMPLE_BYTES


def bounded_lines(where: str, lines: Lines, max_bytes: int) -> Iterator[Any]:
    readline = getattr(lines, "readline", None)
    if callable(readline):
        # One byte more than allowed shows that a line is too long, without reading it to its end.
        lines = iter(lambda: readline(max_bytes + 1) or None, None)
    for number, line in enumerate(lines, start=1):
        if len(line) > max_bytes:
            raise row_limit_error(where, f"line {number}", max_bytes)
        yield line


def row_limit_error(where: str, row_name: str, max_bytes: int) -> DataError:
    hint = f"Check that each line holds one row; if so, raise the limit: `max_line_bytes={2 * max_bytes}`."
    return DataError(f"{where}: {row_name} has more than {max_bytes:,} bytes, the limit of a row.", hint)


def json_lines(where: str, lines: Lines) -> RowStream:
    for number, line in number_lines(where, lines):
        if isinstance(line, RowError):
            yield number, line
        elif line.strip():
            yield number, _json_row(where, number, line)


def number_lines(where: str, lines: Lines) -> Iterator[tuple[int, bytes | RowError]]:
    """Yield numbered lines without byte order mark, and a fault if the rest is unreadable."""
    number = 0
    try:
        for number, text in enumerate(lines, start=1):
            line = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
            if number == 1:
                check_is_text(where, line, _NOT_UTF_8)
                line = line.removeprefix(codecs.BOM_UTF8)
            yield number, line
    except (OSError, EOFError, zlib.error) as error:
        yield number + 1, damage_fault(where, number, error)


def check_is_text(where: str, content: bytes, other_formats: Mapping[bytes, tuple[str, str]] = _NOT_TEXT) -> None:
    for start, (name, hint) in other_formats.items():
        if content.startswith(start):
            raise DataError(f"{where} is {name}, not lines of text in UTF-8;", hint)


def damage_fault(where: str, rows_before: int, error: Exception) -> RowError:
    """Return the fault of the row after `rows_before` readable rows; raise DataError if there are none."""
    reason = " ".join(str(error).split()).rstrip(".")
    if rows_before == 0:
        hint = "Check that the file is complete and of the format that its name says."
        raise DataError(f"{where} cannot be read: {reason}.", hint) from error
    return RowError(where, rows_before + 1, None, f"data that ends early or is damaged ({reason})", "a complete file")


def _json_row(where: str, number: int, line: bytes) -> Any:
    """Return a parsed line or its fault; NaN and Infinity are read, so that the check of the field can report them."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        reason = error.msg
    try:
        row = json.loads(line.decode())
        # Unlike the standard library, orjson refuses lone surrogates and numbers beyond 64 bits.
        orjson.dumps(row)
        return row
    except UnicodeDecodeError as error:
        excerpt = line[max(0, error.start - 10) : error.end + 10].strip()
        return RowError(where, number, None, f"bytes that are not UTF-8, in {excerpt!r}", "JSON in UTF-8")
    except (ValueError, TypeError, RecursionError):
        note = "" if line.endswith(b"\n") else "; the last line is incomplete"
        return RowError(where, number, None, f"text that is not JSON ({reason}{note})", "a JSON object on one line")


def detect_encoding(where: str, sample: bytes, is_complete: bool, *, only_unicode: bool = False) -> str:
    """Return Python's name for the encoding of a file that begins with `sample`; `is_complete` if it is the whole file.

    A byte order mark decides. Without one the encoding is UTF-8 if the format is `only_unicode` (JSON), or if at least
    half of the characters beyond ASCII are valid UTF-8. Else it is Windows-1252, which agrees with Latin-1 on all
    letters that both have. Raises DataError if the text is unlikely to be Western European.
    """
    for mark, name in _BYTE_ORDER_MARKS.items():
        if sample.startswith(mark):
            return name
    text = codecs.getincrementaldecoder(UTF_8)("surrogateescape").decode(sample, final=is_complete)
    n_damaged = len(re.findall("[\udc80-\udcff]", text))
    n_non_ascii = sum(not character.isascii() for character in text)
    # A text in another encoding may have a few byte sequences that are valid UTF-8 by chance.
    if only_unicode or n_damaged <= n_non_ascii / 2:
        return UTF_8
    letters = None
    with suppress(UnicodeDecodeError):
        letters = [character for character in sample.decode("cp1252") if character.isalpha()]
    if letters is None or sum(not each.isascii() for each in letters) > _MAX_NON_ASCII_SHARE * len(letters):
        hint = "Name its encoding, such as `encoding=cp1251`, or save it as UTF-8."
        raise DataError(f"{where} is neither UTF-8 nor Western European text in Windows-1252.", hint)
    return "cp1252"


def document_rows(path: Path, sample: str, max_bytes: int, encoding: str = UTF_8) -> list[Any] | None:
    """Return the rows of a file that is one JSON document and begins with `sample`; `None` for JSON Lines."""
    beginning = sample.strip()
    first_line, _, other_lines = beginning.partition("\n")
    is_list = first_line.startswith("[") and beginning[1:].lstrip().startswith("{")
    if not is_list and not first_line.startswith("{"):
        return None
    # A first line that is valid JSON is a row of JSON Lines, unless it is the only line and holds several rows.
    with suppress(orjson.JSONDecodeError):
        document = orjson.loads(first_line)
        if other_lines or not (is_list or _holds_columns(document)):
            return None
    content = b""
    # A file that cannot be read to its end, such as a cut-off `.gz`, leaves `content` empty, which is not valid JSON.
    with suppress(OSError, EOFError, zlib.error), open_file(path) as stream:
        content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        if is_list:
            raise row_limit_error(str(path), "the list of JSON objects", max_bytes)
        return None
    try:
        text = content.decode(encoding, "surrogateescape").removeprefix("\ufeff")
        with suppress(orjson.JSONDecodeError):
            return _rows_of_document(orjson.loads(text))
        # Unlike orjson, the standard library reads NaN, and strings with surrogates in place of undecodable bytes.
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        # If the first line ends with the end of a list, the file has a list in each line, and is not one document.
        is_one_document = first_line.strip() == "{" or (is_list and not first_line.rstrip().endswith("]"))
        if other_lines and is_one_document and isinstance(error, json.JSONDecodeError):
            fault = f"{error.msg}, in line {error.lineno}, column {error.colno}"
            problem = f"{path} is one JSON document that ends early or is damaged: {fault}."
            raise DataError(problem, "Export it again, or correct it there.") from None
        return None
    rows = _rows_of_document(document)
    for index, row in enumerate(rows):
        try:
            orjson.dumps(row)
        except TypeError:
            got = "bytes that are not UTF-8, or a number beyond 64 bits"
            rows[index] = RowError(str(path), index + 1, None, got, "JSON in UTF-8")
    return rows


def _holds_columns(document: Any) -> bool:
    """Return whether an object's values are columns: lists of equal length, or objects with equal keys (pandas)."""
    if not isinstance(document, Mapping) or not document or "ranking" in document:  # a ranking has lists of ids
        return False
    first, *others = document.values()
    if isinstance(first, list):
        return all(isinstance(column, list) and len(column) == len(first) for column in others)
    columns_are_objects = isinstance(first, Mapping) and all(isinstance(column, Mapping) for column in others)
    return columns_are_objects and all(column.keys() == first.keys() for column in others)


def _rows_of_document(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    if not _holds_columns(document):
        return [document]
    columns = [list(cells.values()) if isinstance(cells, Mapping) else cells for cells in document.values()]
    return [dict(zip(document, row, strict=True)) for row in zip(*columns, strict=True)]


# A cell with more characters is considered an unclosed quote.
MAX_CELL_LENGTH = 2**24
# Excel reads and writes a first line that names the delimiter.
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n?")
# Maximum numbers of characters and records from which the delimiter is detected.
MAX_SNIFFED_CHARACTERS = 2**16
MAX_SNIFFED_RECORDS = 200
# The first line can be a title only if at least this share of the records have the same number of cells.
MIN_SHARE_BELOW_TITLE = 0.8
MAX_RECORDS_SEARCHED = 20  # for a header below a title
# The header is the first row whose number of distinct filled cells is at least this share of the largest number.
MIN_HEADER_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Layout:
    """The delimiter of a text file's cells, how many header rows it has, and how many rows are above the header."""

    delimiter: str = ","
    header_rows: int = 1
    skip_rows: int = 0


def detect_layout(text: str, usual_delimiter: str, header_rows: int, skip_rows: int, *, is_complete: bool) -> Layout:
    """Return the layout of a file that begins with `text`.

    The best delimiter divides the largest share of records into the usual number of cells, which must be two or more.
    The usual number is the first record's or, if this record is a single cell (a title), the most frequent number. Of
    equally good delimiters, one without a title is preferred, then one that gives more cells, then `usual_delimiter`.
    """
    if match := _SEPARATOR_LINE.match(text):
        return Layout(match[1], header_rows, max(skip_rows, 1))
    lines = text[:MAX_SNIFFED_CHARACTERS].splitlines(keepends=True)[skip_rows:]
    if len(lines) > 1 and not (is_complete and len(text) <= MAX_SNIFFED_CHARACTERS):
        lines.pop()
    best_delimiter, best_fitness = usual_delimiter, (0.0, False, 0)
    for delimiter in (usual_delimiter, ",", ";", "\t", "|"):
        records = islice(csv.reader(iter(lines), delimiter=delimiter), MAX_SNIFFED_RECORDS)
        cell_counts = list[int]()
        with suppress(csv.Error):
            filled_records = [record for record in records if any(cell.strip() for cell in record)]
            n_columns = len(filled_records[header_rows - 1]) if len(filled_records) >= header_rows else 0
            cell_counts = [len(_without_padding(record, n_columns)) for record in filled_records[header_rows - 1 :]]
        if not cell_counts:
            continue
        usual_count = cell_counts[0] if cell_counts[0] > 1 else max(cell_counts, key=cell_counts.count)
        share = cell_counts.count(usual_count) / len(cell_counts)
        has_title = cell_counts[0] != usual_count
        fitness = (round(share, 1), not has_title, usual_count)
        if usual_count > 1 and (not has_title or share >= MIN_SHARE_BELOW_TITLE) and fitness > best_fitness:
            best_delimiter, best_fitness = delimiter, fitness
    return Layout(best_delimiter, header_rows, skip_rows=skip_rows)


def delimited_rows(where: str, lines: Lines, max_bytes: int = MAX_ROW_BYTES, layout: Layout = Layout()) -> RowStream:
    """Yield the rows below the header, without blank lines, cells of unnamed columns, and blank cells at the end."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL_LENGTH))
    records = _records(where, islice(number_lines(where, lines), layout.skip_rows, None), max_bytes, layout.delimiter)
    header = list[list[str]]()
    for _, cells in islice(records, layout.header_rows):
        if isinstance(cells, RowError):
            raise DataError(f"{cells}.", "The first line of a CSV file names its columns.")
        header.append(cells)
    if len(header) < layout.header_rows:
        return
    columns = join_header(where, header)
    for number, cells in records:
        if isinstance(cells, RowError):
            yield number, cells
        elif len(cells := _without_padding(cells, len(columns))) != len(columns):
            hint = f"; put texts with {layout.delimiter!r} in quotation marks" if len(cells) > len(columns) else ""
            expected = f"{len(columns)}, as in the header{hint}"
            yield number, RowError(where, number, None, f"{len(cells)} cells", expected)
        else:
            pairs = zip(columns, cells, strict=True)
            yield number, {column: unescape_cell(cell, layout.delimiter) for column, cell in pairs if column}


def _without_padding(cells: list[str], n_columns: int) -> list[str]:
    """Return the first `n_columns` cells if all others are blank, as some spreadsheets write them; else all cells."""
    return cells if any(map(str.strip, cells[n_columns:])) else cells[:n_columns]


def first_records(lines: Sequence[str], layout: Layout) -> list[tuple[int, list[str]]]:
    numbered_lines = islice(number_lines("", lines), layout.skip_rows, None)
    records = islice(_records("", numbered_lines, MAX_ROW_BYTES, layout.delimiter), MAX_RECORDS_SEARCHED)
    return [(number, cells) for number, cells in records if not isinstance(cells, RowError)]


def join_header(where: str, rows: Sequence[Sequence[Any]]) -> list[str]:
    """Return the columns' names, joined by dots if there are several header rows; an unnamed column gets `""`.

    In all rows but the last, an empty cell repeats the cell to its left, as in an export of merged cells.
    """
    if len({len(cells) for cells in rows}) > 1:
        lengths = ", ".join(str(len(cells)) for cells in rows)
        raise DataError(f"{where}: the header rows have {lengths} cells;", "give all of them the same number.")
    texts = [[f"{cell:g}" if isinstance(cell, float) else str(cell).strip() for cell in cells] for cells in rows]
    are_named = [any(parts) for parts in zip(*texts, strict=True)]
    for row_texts in texts[:-1]:
        for index in range(1, len(row_texts)):
            row_texts[index] = row_texts[index] or row_texts[index - 1]
    named_parts = zip(zip(*texts, strict=True), are_named, strict=True)
    columns = [".".join(filter(None, parts)) if is_named else "" for parts, is_named in named_parts]
    repeated = [column for column in columns if column and columns.count(column) > 1]
    if repeated:
        hint = "give each its own name, or, if the header has several rows, join them: `header_rows=2`."
        raise DataError(f"{where}: the header names the column {repeated[0]!r} twice;", hint)
    return columns


def _records(
    where: str, lines: Iterator[tuple[int, bytes | RowError]], max_bytes: int, delimiter: str
) -> Iterator[tuple[int, list[str] | RowError]]:
    """Yield the cells of each non-blank record, with the number of its first line.

    After a broken record, reading continues from its second line. Bytes that are not UTF-8 become lone surrogates.
    """
    lines_to_read_again: deque[tuple[int, bytes | RowError]] = deque()
    record_lines: list[tuple[int, bytes | RowError]] = []

    def read_record() -> Iterator[str]:
        size = 0
        while numbered_line := (lines_to_read_again.popleft() if lines_to_read_again else next(lines, None)):
            record_lines.append(numbered_line)
            _, line = numbered_line
            if isinstance(line, RowError):
                return
            size += len(line) + (LINE_OVERHEAD if len(record_lines) > 1 else 0)
            if size > max_bytes:
                raise row_limit_error(where, f"the CSV row that begins in line {record_lines[0][0]}", max_bytes)
            yield line.decode("utf-8", "surrogateescape")

    while True:
        record_lines.clear()
        cells: list[str] | RowError | None
        try:
            cells = next(csv.reader(read_record(), delimiter=delimiter, strict=True), None)
        except csv.Error as error:
            lines_to_read_again.extendleft(reversed(record_lines[1:]))
            got = f"a broken CSV row ({error})"
            cells = RowError(where, record_lines[0][0], None, got, "cells with every quote closed")
        if not record_lines:
            return
        number, line = record_lines[0]
        if isinstance(line, RowError):
            yield number, line
        elif isinstance(cells, RowError) or (cells and any(cell.strip() for cell in cells)):
            yield number, cells


def check_header(
    where: str, rows: Sequence[tuple[int, Sequence[Any]]], options: ReadingOptions, delimiter: str = ""
) -> None:
    """Raise DataError if the first row is a title above the header; the hint names the `delimiter` of a text file.

    A title fills the first cell, or all cells of a merged range, with one text, and most rows below have several cells.
    """
    if len(rows) < 2 or options.header_rows > 1:
        return
    distinct_cells: dict[int, list[str]] = {}
    for number, cells in rows:
        distinct_cells[number] = list(dict.fromkeys(str(cell).strip() for cell in cells if not is_empty(cell)))
    first_number, first_cells = rows[0]
    first_distinct, max_distinct = distinct_cells[first_number], max(map(len, distinct_cells.values()))
    is_field = bool(first_distinct) and first_distinct[0] in {*FIELDS, *options.mapping.columns.values()}
    if len(first_distinct) == 1 and max_distinct > 1 and not is_field and not is_empty(first_cells[0]):
        header_row = next(row for row, cells in distinct_cells.items() if len(cells) >= MIN_HEADER_SHARE * max_distinct)
        title = preview(first_distinct[0])
        problem = f"{where}: row {first_number} holds only {title}, and row {header_row} looks like the header;"
        hint = f"leave out the rows above row {header_row}: `skip_rows={header_row - 1}`."
        if delimiter:
            hint += f" If row {first_number} is the header, put texts with {delimiter!r} in quotation marks."
        raise DataError(problem, hint)
