"""Raw rows of files, streams, data frames and data sets, with the detected format of each file.

The format follows from the file's name, encoding and delimiter from its first bytes, and the decimal mark from all
scores, so that the order of the rows does not matter.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any

import orjson

from rubriclab.data import argilla, label_studio
from rubriclab.data.annotation_export import Export, rows_of
from rubriclab.data.cells import CellRules
from rubriclab.data.decimal_mark import decimal_mark, has_decimal_points, sure_rows
from rubriclab.data.delimited import Dialect, check_header, delimited_rows, first_records, sniff
from rubriclab.data.formats import (
    UTF_8,
    Lines,
    Numbered,
    bounded_lines,
    check_text,
    decoded_lines,
    encoding_of,
    json_lines,
    lines_of,
    opened,
    sample_of,
    too_long,
    with_infinite_numbers,
)
from rubriclab.data.mapping import FieldMap
from rubriclab.data.parquet import parquet_rows
from rubriclab.data.reading import DEFAULTS, ReadingOptions
from rubriclab.data.source_format import SourceFormat
from rubriclab.data.workbook import read_sheet, sheet_rows
from rubriclab.descriptions import preview
from rubriclab.errors import DataError, SettingsError
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
# Rows in which decimal points are looked for, to write numbers in the same way.
ROWS_SAMPLED = 1000
Convert = Callable[[str, Iterable[tuple[int, Any]]], Export]
_FORMATS: tuple[tuple[Callable[[Mapping[str, Any]], bool], Convert], ...] = (
    (label_studio.is_json, label_studio.from_json),
    (label_studio.is_minimal, label_studio.from_minimal),
    (argilla.is_record, argilla.from_records),
    (argilla.is_flat, argilla.from_flat),
)


@dataclass(frozen=True, slots=True)
class RawRows:
    """Raw rows of a file or table, and how they are read.

    Attributes:
        source: the detected format.
        numbered: each row with its line: a mapping, a fault, or any other value.
        rules: how cells are read.
        table: whether all rows have the same columns.
        anew: what reads the rows after a line once more, without detecting the format again; `None` if nothing does.
    """

    source: SourceFormat
    numbered: Numbered
    rules: CellRules
    table: bool = False
    anew: Callable[[int], Numbered] | None = None


def raw_rows(source: str | Path | Lines, options: ReadingOptions, after: int = 0) -> RawRows:
    """Return the rows of a file, of `-` (standard input), or of a stream or iterable of lines.

    Only rows after the line `after`, in which a row begins, are returned; those before it are not parsed, except those
    of a workbook and of an annotation tool's export.

    Raises:
        DataError: if the file is missing, unreadable, or of an unknown format or encoding.
        SettingsError: for an option that does not apply to the format.
    """
    if not isinstance(source, str | Path):
        name = getattr(source, "name", None)
        return _stream(name if isinstance(name, str) else "stream", source, options, after)
    if str(source) == "-":
        return _stream("stdin", sys.stdin.buffer, options, after)
    path = Path(source)
    kind = _kind(path)
    _check_readable(path)
    _check_options(path, kind, options)
    if not path.is_file():
        return _rows_of_file(path, kind, options, after)
    raw = _rows_of_file(path, kind, options)
    own = _own_rows(raw, options)
    if own.source.tool:
        return _rows_after(after, own)
    # Other rows are read anew, since a file is not kept open before its rows are wanted.
    return replace(raw, numbered=raw.anew(after)) if raw.anew else _rows_of_file(path, kind, options, after)


def _rows_of_file(path: Path, kind: str, options: ReadingOptions, after: int = 0) -> RawRows:
    if kind in WORKBOOK:
        return _rows_after(after, _sheet(path, options))
    if kind == PARQUET:
        rows = parquet_rows(path, options.longest, after=after)
        return RawRows(SourceFormat(str(path), "Parquet"), rows, options.rules(typed=True), table=True)
    return _text(path, kind, options, after)


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
    """Return the rows, those that an annotation tool exported with annotations and reasons."""
    try:
        convert, numbered = detect(raw.numbered)
    except DataError as error:
        return replace(raw, numbered=_raising(error))
    if convert is None:
        return replace(raw, numbered=numbered)
    rules = options.rules(typed=False)
    export = convert(raw.source.where, numbered)
    rows = rows_of(export, rules)
    source = replace(raw.source, tool=export.name, choices=export.choices, details=export.details())
    return RawRows(source, iter(rows), rules, table=True)


def _stream(where: str, lines: Lines, options: ReadingOptions, after: int) -> RawRows:
    return _json_lines(where, islice(bounded_lines(where, lines, options.longest), after, None), options, UTF_8, after)


def _json_lines(where: str, lines: Lines, options: ReadingOptions, encoding: str, before: int) -> RawRows:
    """Return the rows of lines of limited length; `before` is the number of lines before these."""
    rows = json_lines(where, lines, before)
    return RawRows(SourceFormat(where, "JSON Lines", encoding), rows, options.rules(typed=True))


def _text(path: Path, kind: str, options: ReadingOptions, after: int) -> RawRows:
    """Return the rows of a text file, after detecting its encoding, delimiter and decimal mark."""
    where = str(path)
    sample, complete = sample_of(path)
    check_text(where, sample)
    encoding = options.encoding or encoding_of(where, sample, complete=complete, only_unicode=kind in JSON_LINES)
    longest = options.longest

    def lines(after: int = 0) -> Lines:
        utf_8 = encoding == UTF_8
        return lines_of(path, longest, after) if utf_8 else islice(decoded_lines(path, longest, encoding), after, None)

    if kind in JSON_LINES:
        if (exported := exported_list(path, sample, longest)) is not None:
            listed = enumerate(exported, start=1)
            return RawRows(SourceFormat(where, "JSON", encoding), listed, options.rules(typed=True))
        return _json_lines(where, lines(after), options, encoding, after)
    text = sample.decode(encoding, "replace").removeprefix("\ufeff")
    if options.delimiter:
        dialect = Dialect(options.delimiter, options.header_rows, skipped=options.skip_rows)
    else:
        usual, header_rows = DELIMITED[kind], options.header_rows
        dialect = sniff(text, usual, complete=complete, header_rows=header_rows, skipped=options.skip_rows)
    check_header(where, first_records(text.splitlines(keepends=True), dialect), options)

    def rows(after: int) -> Numbered:
        # A row may take several lines.
        return _after(after, delimited_rows(where, lines(), longest, dialect, start=after))

    regular = path.is_file()
    mark = decimal_mark(where, _mappings_of(rows(0)) if regular else (), options, dialect.delimiter)
    first = islice(_mappings_of(rows(0)), ROWS_SAMPLED) if regular else ()
    point = options.decimal == "point" or (not mark.comma and has_decimal_points(row for _, row in first))
    source = SourceFormat(
        where,
        "TSV" if kind != ".csv" else "CSV",
        encoding,
        dialect.delimiter,
        decimal_comma=mark.comma,
        decimal_point=point,
        unsure=mark.unsure,
        usual=DELIMITED[kind],
    )
    rules = options.rules(typed=False, decimal_comma=mark.comma)
    numbered = rows(after) if regular else sure_rows(where, rows(after), options, dialect.delimiter)
    return RawRows(source, numbered, rules, table=True, anew=rows)


def _rows_after(line: int, raw: RawRows) -> RawRows:
    return replace(raw, numbered=_after(line, raw.numbered))


def _after(line: int, rows: Numbered) -> Numbered:
    return dropwhile(lambda numbered: numbered[0] <= line, rows) if line else rows


def _sheet(path: Path, options: ReadingOptions) -> RawRows:
    sheet = read_sheet(path, options)
    mark = decimal_mark(f"{path}, sheet {sheet.name!r}", _mappings_of(sheet_rows(sheet)), options)
    source = SourceFormat(
        str(path),
        "Excel workbook",
        decimal_comma=mark.comma,
        unsure=mark.unsure,
        sheet=sheet.name,
        sheets=sheet.sheets,
        merged=sheet.merged,
    )
    rules = options.rules(typed=False, decimal_comma=mark.comma)
    return RawRows(source, sheet_rows(sheet), rules, table=True, anew=lambda after: _after(after, sheet_rows(sheet)))


def _raising(error: DataError) -> Numbered:
    """Raise an error where the first row would be read."""
    raise error
    yield


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
        "header_rows": table,
        "skip_rows": table,
        "delimiter": kind in DELIMITED,
        "encoding": text,
        "decimal": table,
    }
    for name, applicable in applies.items():
        if not applicable and getattr(options, name) != getattr(DEFAULTS, name):
            raise SettingsError(f"{option(name)} does not apply to {path}, a {kind} file;", "leave it out.")


def _check_readable(path: Path) -> None:
    if not os.path.exists(path):
        reason = "there is no such file"
    elif path.is_dir():
        reason = "it is a folder"
    elif not os.access(path, os.R_OK):
        reason = "permission denied"
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


def detect(numbered: Numbered) -> tuple[Convert | None, Numbered]:
    """Return how to convert rows that an annotation tool exported, `None` for others, and the rows from the first."""
    first = next(numbered, None)
    if first is None:
        return None, numbered
    return _converter(first[1]), chain([first], numbered)


def exported_list(path: Path, sample: bytes, longest: int) -> list[Any] | None:
    """Return the rows of a JSON file that is one list exported by an annotation tool; `None` for any other file.

    Raises:
        DataError: if such a list has more than `longest` bytes, or a list of objects over several lines is not JSON.
    """
    start = sample.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith(b"[") or not start[1:].lstrip().startswith(b"{"):
        return None
    with opened(path) as stream:
        content = stream.read(longest + 1)
    if len(content) > longest:
        raise too_long(str(path), "the list of JSON objects", longest)
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        rows = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        rows = with_infinite_numbers(content)
        if rows is None and error.lineno > 1 and not _is_json(content.partition(b"\n")[0]):
            raise DataError(
                f"{path} is one JSON list that ends early or is damaged: {error.msg}, in line {error.lineno}, column "
                f"{error.colno}.",
                "Export it again, or correct it there.",
            ) from None
    return rows if isinstance(rows, list) and rows and _converter(rows[0]) else None


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _converter(row: Any) -> Convert | None:
    return next((convert for is_of, convert in _FORMATS if is_of(row)), None) if isinstance(row, Mapping) else None
