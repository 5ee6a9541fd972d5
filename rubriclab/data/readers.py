"""Examples from files, streams, data frames and data sets, read lazily and in order.

A faulty row becomes a `RowError` in its place, and reading continues. Rows that compare texts are collected in
`Rows.comparisons`. A source that cannot be read at all (no such file, no rows, another format) raises a `DataError`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rubriclab.data.comparisons import Comparison, comparisons_of
from rubriclab.data.example import Example
from rubriclab.data.formats import (
    LONGEST_ROW,
    Lines,
    Numbered,
    bounded_lines,
    csv_rows,
    json_lines,
    lines_of,
)
from rubriclab.data.mapping import NATIVE, FieldMap
from rubriclab.data.parquet import parquet_rows
from rubriclab.data.row import RowError, example_of, missing_column
from rubriclab.errors import DataError

JSON_LINES = (".jsonl", ".ndjson", ".json")
CSV = ".csv"
PARQUET = ".parquet"
_NAMES = "Name it .jsonl, .csv (both also with .gz) or .parquet; - reads JSON Lines from standard input."


ParsedRow = Example | RowError | tuple[Comparison, ...]


class Rows(Iterator[Example | RowError]):
    """Examples and faults, one for each row that does not compare texts.

    Attributes:
        where: the file, or a name for another source.
        line: first line of the latest row, counted from 1; 0 before the first row.
        row: the latest row as it was read.
        comparisons: the comparisons in all rows so far, with their lines.
    """

    def __init__(self, where: str, parsed: Iterator[tuple[int, Any, ParsedRow]]) -> None:
        self.where = where
        self.line = 0
        self.row: Any = None
        self.comparisons: list[tuple[int, Comparison]] = []
        self._parsed = parsed

    def __next__(self) -> Example | RowError:
        while True:
            self.line, self.row, parsed = next(self._parsed)
            if not isinstance(parsed, tuple):
                return parsed
            self.comparisons += [(self.line, comparison) for comparison in parsed]


def read(source: str | Path | Lines, mapping: FieldMap = NATIVE, *, longest: int = LONGEST_ROW) -> Rows:
    """Return the examples and faults of a file, of `-` (standard input), or of a stream or iterable of lines.

    The format follows from the file's name; standard input and streams are JSON Lines. Rows are read lazily.

    Args:
        longest: limit of bytes per row; memory use is a few times that.

    Raises:
        DataError: if the file is missing, unreadable or of an unknown format; while reading, if it has no rows, has
            another format than its name says, is a table (CSV, Parquet) without the column of a field, or has a row of
            more than `longest` bytes.
    """
    if not isinstance(source, str | Path):
        name = getattr(source, "name", None)
        where = name if isinstance(name, str) else "stream"
        return _lines_read(where, bounded_lines(where, source, longest), mapping, longest)
    if str(source) == "-":
        return _lines_read("stdin", bounded_lines("stdin", sys.stdin.buffer, longest), mapping, longest)
    path = Path(source)
    kind = _kind(path)
    _check_readable(path)
    if kind in JSON_LINES:
        return _lines_read(str(path), lines_of(path, longest), mapping, longest)
    if kind == CSV:
        rows = csv_rows(str(path), lines_of(path, longest), longest)
        return Rows(str(path), _examples(str(path), rows, mapping, table=True, typed=False))
    return Rows(str(path), _examples(str(path), parquet_rows(path, longest), mapping, table=True))


def from_rows(rows: Iterable[Any], where: str = "rows", mapping: FieldMap = NATIVE) -> Rows:
    """Return the examples and faults of a data frame, a Hugging Face data set, or any iterable of mappings or examples.

    Rows are counted from 1. In a pandas frame NaN and NA are missing values; elsewhere NaN is a faulty score.

    Raises:
        DataError: if `rows` is a mapping, as a data set with its splits is; while reading, if there are no rows.
    """
    if isinstance(rows, Mapping):
        keys = ", ".join(repr(key) for key in rows)
        raise DataError(f"Expected rows, but {where} is a mapping with {keys}.", "Give one of its values.")
    return Rows(where, _examples(where, enumerate(_mappings(rows), start=1), mapping))


def _lines_read(where: str, lines: Lines, mapping: FieldMap, longest: int) -> Rows:
    return Rows(where, _examples(where, json_lines(where, lines, longest), mapping))


def _examples(
    where: str, rows: Numbered, mapping: FieldMap, *, table: bool = False, typed: bool = True
) -> Iterator[tuple[int, Any, ParsedRow]]:
    any_row = False
    for line, row in rows:
        # All rows of a table have the same columns: one error for the table instead of one for each row.
        if table and isinstance(row, Mapping):
            if lack := missing_column(row, mapping):
                raise DataError(f"{where}: {lack}.")
            table = False
        any_row = True
        yield line, row, row if isinstance(row, RowError | Example) else _parsed(row, where, line, mapping, typed)
    if not any_row:
        raise DataError(f"{where} has no rows.", "Each row needs at least the field 'output', the text to judge.")


def _parsed(row: Any, where: str, line: int, mapping: FieldMap, typed: bool) -> ParsedRow:
    comparisons = comparisons_of(row, where, line, mapping, typed=typed)
    return example_of(row, where, line, mapping, typed=typed) if comparisons is None else comparisons


def _kind(path: Path) -> str:
    name = path.name.lower()
    if name.endswith(PARQUET):
        return PARQUET
    kinds = [kind for kind in (*JSON_LINES, CSV) if name.removesuffix(".gz").endswith(kind)]
    if not kinds:
        raise DataError(f"{path}: unknown format.", _NAMES)
    return kinds[0]


def _check_readable(path: Path) -> None:
    if not os.path.exists(path):
        reason = "there is no such file"
    elif path.is_dir():
        reason = "it is a folder"
    elif not os.access(path, os.R_OK):
        reason = "you are not permitted to"
    else:
        return
    raise DataError(f"{path} cannot be read: {reason}.", "Give a file of rows, or - for standard input.")


def _mappings(rows: Any) -> Iterator[Any]:
    if hasattr(rows, "itertuples"):
        return _pandas_rows(rows)
    if hasattr(rows, "iter_rows"):
        return (_plain(row) for row in rows.iter_rows(named=True))
    return (_plain(row) for row in rows)


def _pandas_rows(frame: Any) -> Iterator[dict[str, Any]]:
    columns = [str(column) for column in frame.columns]
    cells = frame.itertuples(index=False, name=None)
    missing = frame.isna().itertuples(index=False, name=None)
    for values, blank in zip(cells, missing, strict=True):
        yield {c: None if no else _plain(v) for c, v, no in zip(columns, values, blank, strict=True)}


def _plain(value: Any) -> Any:
    """Return arrays and scalars (NumPy, PyTorch) as Python lists and numbers."""
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {key: _plain(cell) for key, cell in value.items()}
    return [_plain(cell) for cell in value] if isinstance(value, list | tuple) else value
