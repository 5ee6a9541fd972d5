"""Examples from files, streams, data frames and data sets, read lazily and in order.

A faulty row becomes a `RowError` in its place, and reading continues. Rows that compare texts are collected in
`Rows.comparisons`. A source that cannot be read at all (no such file, no rows, another format) raises a `DataError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rubriclab.data.comparisons import PairwiseComparison, comparisons_of
from rubriclab.data.formats import Lines, Numbered
from rubriclab.data.mapping import NATIVE, FieldMap
from rubriclab.data.raw_rows import RawRows, raw_rows, raw_table
from rubriclab.data.reading import ReadingOptions, SourceFormat
from rubriclab.data.row import RowError, check_columns, example_of
from rubriclab.models.cells import CellRules
from rubriclab.models.text import Example

ParsedRow = Example | RowError | tuple[PairwiseComparison, ...]


class Rows(Iterator[Example | RowError]):
    """Examples and faults, one for each row that does not compare texts.

    Attributes:
        where: the file, or a name for another source.
        line: first line of the latest row, counted from 1; 0 before the first row.
        row: the latest row as it was read.
        comparisons: the comparisons in all rows so far, with their lines.
        source: the detected format.
        mapping: the columns of fields.
        skipped: the number of faulty rows that were left out, with `skip_faulty`.
        skipped_scores: the number of faulty scores that were left out of usable rows.
        first_skipped: the first of these faults.
        not_assessed: by field, the number of answers that a text cannot be assessed.
    """

    def __init__(
        self,
        source: SourceFormat,
        parsed: Iterator[tuple[int, Any, ParsedRow]],
        *,
        skip_faulty: bool = False,
        mapping: FieldMap = NATIVE,
        not_assessed: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.source = source
        self.not_assessed = not_assessed
        self.where = source.where
        self.line = 0
        self.row: Any = None
        self.comparisons: list[tuple[int, PairwiseComparison]] = []
        self.mapping = mapping
        self.skipped = self.skipped_scores = 0
        self.first_skipped: RowError | None = None
        self._parsed = parsed
        self._skip_faulty = skip_faulty

    def __next__(self) -> Example | RowError:
        while True:
            self.line, self.row, parsed = next(self._parsed)
            if isinstance(parsed, tuple):
                self.comparisons += [(self.line, comparison) for comparison in parsed]
            elif self._skip_faulty and isinstance(parsed, RowError):
                self.first_skipped = self.first_skipped or parsed
                if parsed.usable:
                    self.skipped_scores += len(parsed.all)
                    return parsed.usable
                self.skipped += 1
            else:
                return parsed

    def look_ahead(self, enough: Callable[[Example], bool], most: int) -> list[tuple[Any, Example]]:
        """Return the next rows that hold a text, up to the first for which `enough` is true, at most `most` of them.

        Nothing is skipped: iterating over the rows still begins with the first of them.
        """
        read, found = list[tuple[int, Any, ParsedRow]](), list[tuple[Any, Example]]()
        for row in self._parsed:
            read.append(row)
            if isinstance(example := row[2], Example):
                found.append((row[1], example))
                if enough(example) or len(found) == most:
                    break
        self._parsed = chain(read, self._parsed)
        return found

    def every_row(self) -> Iterator[tuple[int, Any, ParsedRow]]:
        """Yield the line of every row, the raw row, and its content: an example, a fault, or comparisons."""
        return self._parsed


def read(source: str | Path | Lines, options: ReadingOptions | None = None, **values: Any) -> Rows:
    """Return the examples and faults of a file, of `-` (standard input), or of a stream or iterable of lines.

    The format follows from the file's name; standard input and streams are JSON Lines. Rows are read lazily, except
    from a workbook. `Rows.source` has the detected encoding, delimiter and decimal mark, and the sheet.

    Args:
        options: how rows are read.
        values: the fields of `ReadingOptions`, in place of `options`: `read("ratings.csv", missing="n/a")`.

    Raises:
        DataError: if the file is missing, unreadable or of an unknown format, or its encoding is unknown; while
            reading, if it has no rows, has another format than its name says, is a table without the column of a field,
            or has a row of more than `max_line_bytes`.
        SettingsError: for an option that is unknown, out of bounds, or does not apply to the format.
    """
    options = options or ReadingOptions(**values)
    return _parsed(raw_rows(source, options), options)


def from_rows(rows: Any, where: str = "rows", options: ReadingOptions | None = None, **values: Any) -> Rows:
    """Return the examples and faults of a table, or of any iterable of mappings, texts or examples.

    Tables are data frames of pandas and polars, tables of pyarrow and Hugging Face data sets. Rows are counted from 1.
    In a pandas frame NaN and NA are missing values; elsewhere NaN is a faulty score.

    Args:
        options: how rows are read.
        values: the fields of `ReadingOptions`, in place of `options`.

    Raises:
        DataError: if `rows` is a mapping (such as a data set with splits), or cannot be iterated over; while reading,
            if there are no rows, or a table lacks the column of a field.
    """
    options = options or ReadingOptions(**values)
    return _parsed(raw_table(rows, where, options), options)


def rest_of(raw: RawRows, options: ReadingOptions) -> Rows:
    """Return what is left of raw rows of which the first have been read; it may be nothing."""
    return _parsed(raw, options, begun=True)


def _parsed(raw: RawRows, options: ReadingOptions, *, begun: bool = False) -> Rows:
    numbered = raw.numbered if begun else _not_empty(raw)
    parsed = _examples(raw.source.where, numbered, options.mapping, raw.rules, raw.table)
    return Rows(
        raw.source,
        parsed,
        skip_faulty=options.skip_faulty,
        mapping=options.mapping,
        not_assessed=raw.rules.not_assessed,
    )


def _examples(
    where: str, rows: Numbered, mapping: FieldMap, rules: CellRules, table: bool
) -> Iterator[tuple[int, Any, ParsedRow]]:
    for line, row in rows:
        # All rows of a table have the same columns: one error for the table instead of one for each row.
        if table and isinstance(row, Mapping):
            check_columns(row, where, mapping)
            table = False
        yield line, row, parsed_row(row, where, line, mapping, rules)


def _not_empty(raw: RawRows) -> Numbered:
    any_row = False
    for row in raw.numbered:
        any_row = True
        yield row
    if not any_row:
        raise raw.source.without_rows()


def parsed_row(row: Any, where: str, line: int, mapping: FieldMap, rules: CellRules) -> ParsedRow:
    """Return the content of a row: an example, comparisons, or a fault."""
    if isinstance(row, RowError | Example):
        return row
    comparisons = comparisons_of(row, where, line, mapping, rules)
    return example_of(row, where, line, mapping, rules) if comparisons is None else comparisons
