"""Raw rows of files, streams, data frames and data sets, with the detected format of each file.

The format follows from the file's name, encoding and delimiter from its first bytes, and the decimal mark from all
scores, so that the order of the rows does not matter.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from rubriclab.data.annotation_export import rows_of
from rubriclab.data.annotation_tools import converter
from rubriclab.data.decimal_mark import decimal_mark
from rubriclab.data.delimited import Dialect, check_header, delimited_rows, first_records, sniff
from rubriclab.data.formats import (
    Lines,
    Numbered,
    bounded_lines,
    check_text,
    encoding_of,
    json_lines,
    lines_of,
    sample_of,
)
from rubriclab.data.json_document import document_rows
from rubriclab.data.long_table import NAME, is_rating, joined_ratings
from rubriclab.data.mapping import FieldMap
from rubriclab.data.parquet import parquet_rows
from rubriclab.data.reading import DEFAULTS, UTF_8, ReadingOptions, SourceFormat
from rubriclab.data.workbook import read_sheet
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.cells import CellRules
from rubriclab.models.characters import preview
from rubriclab.option_names import by_reader, option

JSON_LINES = (".jsonl", ".ndjson", ".json")
# The usual delimiter of each kind of text file.
DELIMITED = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET = ".parquet"
WORKBOOK = (".xlsx", ".xlsm")
EXPECTED = (
    "expected a path, rows as mappings, a list of texts, Example objects, a pandas, polars or pyarrow table, or a "
    "Hugging Face data set"
)
_NAMES = (
    "Name it .jsonl, .csv or .tsv (these also with .gz), .xlsx or .parquet; - reads JSON Lines from standard input."
)
_NO_FILE = by_reader(
    python="A string is a path; to pass texts, give a list of strings: ['one text', 'another text'].",
    command_line="Give a file of rows, or - for standard input.",
)


@dataclass(frozen=True, slots=True)
class RawRows:
    """Raw rows of a file or table, and how they are read.

    Attributes:
        source: the detected format.
        numbered: each row with its line: a mapping, a fault, or any other value.
        rules: how cells are read.
        table: whether all rows have the same columns.
    """

    source: SourceFormat
    numbered: Numbered
    rules: CellRules
    table: bool = False


def raw_rows(source: str | Path | Lines, options: ReadingOptions) -> RawRows:
    """Return the rows of a file, of `-` (standard input), or of a stream or iterable of lines.

    Raises:
        DataError: if the file is missing, unreadable, or of an unknown format or encoding.
        SettingsError: for an option that does not apply to the format.
    """
    if not isinstance(source, str | Path):
        name = getattr(source, "name", None)
        return _stream(name if isinstance(name, str) else "stream", source, options)
    if str(source) == "-":
        return _stream("stdin", sys.stdin.buffer, options)
    path = Path(source)
    kind = _kind(path)
    _check_readable(path, kind)
    _check_options(path, kind, options)
    if kind in WORKBOOK:
        raw = _sheet(path, options)
    elif kind == PARQUET:
        rows = parquet_rows(path, options.longest)
        raw = RawRows(SourceFormat(str(path), "Parquet"), rows, options.rules(typed=True), table=True)
    else:
        raw = _text(path, kind, options)
    # The rows of a pipe may come one at a time, and an export is read as a whole.
    return _own_rows(raw, options) if path.is_file() else raw


def raw_table(rows: Any, where: str, options: ReadingOptions) -> RawRows:
    """Return the rows of a table, or of any iterable of mappings, texts or examples.

    Raises:
        DataError: if `rows` is a mapping (such as a data set with splits), or cannot be iterated over.
    """
    if isinstance(rows, Mapping):
        keys = ", ".join(repr(key) for key in rows)
        raise DataError(f"Expected rows, but {where} is a mapping with {keys}.", "Give one of its values.")
    if isinstance(rows, bytes | type) or not (_is_table(rows) or isinstance(rows, Iterable)):
        raise DataError(f"Data of the type {type(rows).__name__} has no rows;", f"{EXPECTED}.")

    numbered = enumerate(_mappings(rows, options.mapping), start=1)
    raw = RawRows(SourceFormat(where, "rows"), numbered, options.rules(typed=True), table=_is_table(rows))
    # The rows of an iterator may come one at a time, and an export is read as a whole.
    return raw if isinstance(rows, Iterator) else _own_rows(raw, options)


def _own_rows(raw: RawRows, options: ReadingOptions) -> RawRows:
    """Return the rows, ratings of one text joined, and those of an annotation tool with annotations and reasons."""
    first = next(raw.numbered, None)
    if first is None:
        return raw
    numbered = chain([first], raw.numbered)
    if is_rating(first[1], options.mapping, raw.rules):
        joined, details = joined_ratings(raw.source.where, numbered, options.mapping, raw.rules)
        return replace(raw, source=replace(raw.source, tool=NAME, details=details), numbered=iter(joined))
    convert = converter(first[1], raw.source.format)
    if convert is None:
        return replace(raw, numbered=numbered)
    rules = options.rules(typed=False)
    export = convert(raw.source.where, numbered)
    rows = rows_of(export, rules)
    source = replace(raw.source, tool=export.name, choices=export.choices, details=export.details())
    return RawRows(source, iter(rows), rules, table=True)


def _stream(where: str, lines: Lines, options: ReadingOptions) -> RawRows:
    return _json_lines(where, bounded_lines(where, lines, options.longest), options, UTF_8)


def _json_lines(where: str, lines: Lines, options: ReadingOptions, encoding: str) -> RawRows:
    return RawRows(SourceFormat(where, "JSON Lines", encoding), json_lines(where, lines), options.rules(typed=True))


def _text(path: Path, kind: str, options: ReadingOptions) -> RawRows:
    """Return the rows of a text file, after detecting its encoding, delimiter and decimal mark."""
    where, longest = str(path), options.longest
    sample, complete = sample_of(path)
    check_text(where, sample)
    encoding = options.encoding or encoding_of(where, sample, complete=complete, only_unicode=kind in JSON_LINES)
    text = sample.decode(encoding, "replace").removeprefix("\ufeff")
    newline = "\r" if "\r" in text and "\n" not in text else "\n"
    if kind in JSON_LINES:
        if (rows := document_rows(path, text, longest, encoding)) is not None:
            return RawRows(SourceFormat(where, "JSON", encoding), enumerate(rows, start=1), options.rules(typed=True))
        return _json_lines(where, lines_of(path, longest, encoding, newline), options, encoding)
    if options.delimiter:
        dialect = Dialect(options.delimiter, options.header_rows, skipped=options.skip_rows)
    else:
        usual, header_rows = DELIMITED[kind], options.header_rows
        dialect = sniff(text, usual, complete=complete, header_rows=header_rows, skipped=options.skip_rows)
    check_header(where, first_records(text.splitlines(keepends=True), dialect), options)

    def numbered() -> Numbered:
        return delimited_rows(where, lines_of(path, longest, encoding, newline), longest, dialect)

    mark = decimal_mark(where, _mappings_of(numbered()), options, dialect.delimiter)
    source = SourceFormat(
        where,
        "TSV" if kind != ".csv" else "CSV",
        encoding,
        dialect.delimiter,
        decimal=mark.mark,
        unsure=mark.unsure,
        usual=DELIMITED[kind],
    )
    return RawRows(source, numbered(), options.rules(typed=False, decimal=mark.mark), table=True)


def _sheet(path: Path, options: ReadingOptions) -> RawRows:
    sheet = read_sheet(path, options)
    mark = decimal_mark(f"{path}, sheet {sheet.name!r}", sheet.rows, options)
    source = SourceFormat(
        str(path),
        "Excel workbook",
        decimal=mark.mark,
        unsure=mark.unsure,
        sheet=sheet.name,
        sheets=sheet.sheets,
        merged=sheet.merged,
        hidden=sheet.hidden,
    )
    return RawRows(source, iter(sheet.rows), options.rules(typed=False, decimal=mark.mark), table=True)


def _mappings_of(rows: Numbered) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows by column with their lines, up to one that cannot be read."""
    with suppress(DataError):
        for line, row in rows:
            if isinstance(row, dict):
                yield line, row


def _kind(path: Path) -> str:
    """Return the ending of a file's name, without `.gz`."""
    name = path.name.lower()
    uncompressed = [kind for kind in (PARQUET, *WORKBOOK) if name.endswith(kind)]
    kinds = uncompressed or [kind for kind in (*JSON_LINES, *DELIMITED) if name.removesuffix(".gz").endswith(kind)]
    if not kinds and not os.path.exists(path) and (any(map(str.isspace, name)) or not path.suffix):
        raise DataError(f"There is no file {preview(str(path))}.", _NO_FILE)
    if not kinds:
        raise DataError(f"{path}: unknown format.", _NAMES)
    return kinds[0]


def _check_options(path: Path, kind: str, options: ReadingOptions) -> None:
    """Check that every given option applies to the format.

    Raises:
        SettingsError: if one does not.
    """
    text, table = kind in (*JSON_LINES, *DELIMITED), kind in (*DELIMITED, *WORKBOOK)
    applies = {
        "sheet": kind in WORKBOOK,
        "skip_hidden": kind in WORKBOOK,
        "header_rows": table,
        "skip_rows": table,
        "delimiter": kind in DELIMITED,
        "encoding": text,
        "decimal": table,
    }
    for name, applicable in applies.items():
        if not applicable and getattr(options, name) != getattr(DEFAULTS, name):
            raise SettingsError(f"{option(name)} does not apply to {path}, a {kind} file;", "leave it out.")


def _check_readable(path: Path, kind: str) -> None:
    if not os.path.exists(path):
        reason = "there is no such file"
    elif path.is_dir():
        reason = "it is a folder"
    elif not os.access(path, os.R_OK):
        reason = "permission denied"
    elif kind not in JSON_LINES and not path.is_file():
        reason = "a table is read twice, and a pipe only once"
    else:
        return
    raise DataError(f"{path} cannot be read: {reason}.", "Give a file of rows, or - for standard input.")


def _is_table(rows: Any) -> bool:
    """Return whether all rows have the same columns; Hugging Face's `IterableDataset` may not know its columns."""
    methods = ("itertuples", "iter_rows", "to_batches", "collect_schema")
    return any(hasattr(rows, name) for name in methods) or bool(getattr(rows, "column_names", None))


def _mappings(rows: Any, mapping: FieldMap) -> Iterator[Any]:
    if hasattr(rows, "itertuples"):
        return _pandas_rows(rows)
    if hasattr(rows, "to_batches"):  # pyarrow
        return (row for batch in rows.to_batches() for row in batch.to_pylist())
    if hasattr(rows, "collect_schema") and not hasattr(rows, "iter_rows"):  # polars.LazyFrame
        rows = rows.collect()
    if hasattr(rows, "iter_rows"):
        return (_plain(row) for row in rows.iter_rows(named=True))
    # A plain text also gets the mapped columns, without values.
    empty, output = dict.fromkeys(mapping.columns.values()), mapping.columns.get("output", "output")
    return (empty | {output: row} if isinstance(row, str) else _plain(row) for row in rows)


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
