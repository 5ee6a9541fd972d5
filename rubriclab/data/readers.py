"""Examples from files, streams, data frames and data sets, read lazily and in order.

A faulty row becomes a `RowError` in its place, and reading continues. Rows that compare texts are collected in
`Rows.comparisons`. A source that cannot be read at all (no such file, no rows, another format) raises a `DataError`.

The name of a file tells its format, the first bytes tell the encoding and the delimiter, and all scores together tell
the decimal mark, so that the order of the rows does not matter.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from rubriclab.data import text_files
from rubriclab.data.annotations import PairwiseComparison, is_rating, join_ratings, parse_comparisons, read_export
from rubriclab.data.binary_files import parquet_rows, read_sheet
from rubriclab.data.cells import CSV_RULES, DECIMAL_COMMA, CellRules
from rubriclab.data.mapping import ABSENT, NO_MAPPING, RATING_FIELDS, DefaultMap, FieldMap, look_up
from rubriclab.data.reading_options import DEFAULTS, UTF_8, DecimalMark, ReadingOptions, SourceFormat
from rubriclab.data.rows import RowError, check_columns, parse_example
from rubriclab.data.write import FORMATS, JSON_ENDINGS, table_ending
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.characters import preview
from rubriclab.models.text import Example

# Texts with more characters are not numbers, and are not cached.
MAX_NUMBER_LENGTH = 40
# What a score shows about the decimal mark, if it is read once with each mark:
# - "point", "comma": it is a number only if read with this mark, as 3.5 or 3,5;
# - "decimal point", "decimal comma": it has decimals if read with this mark, else thousands, as 1.250 (1.25 or 1250);
# - "same": it is the same number if read with either mark; "none": it is a number with neither mark.
_MarkEvidence = Literal["point", "comma", "decimal point", "decimal comma", "same", "none"]
# In one column, the first cell with each kind of evidence: its line and content, by kind.
_FirstCells = dict[_MarkEvidence, tuple[int, Any]]
_MarkAndNote = tuple[DecimalMark | None, str | None]


def _numbers_by_mark(cell: Any) -> tuple[float | None, float | None]:
    """Return the number in a cell as read with a decimal point, and as read with a decimal comma."""
    if isinstance(cell, str):
        return CSV_RULES.parse_number(cell), DECIMAL_COMMA.parse_number(cell)
    number = float(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else None
    return number, number


@lru_cache(maxsize=4096, typed=True)
def _mark_evidence(cell: Any) -> _MarkEvidence:
    point, comma = _numbers_by_mark(cell)
    if point is None:
        return "none" if comma is None else "comma"
    if comma is None:
        return "point"
    if point == comma:
        return "same"
    return "decimal point" if abs(point) < abs(comma) else "decimal comma"


def detect_decimal_mark(
    where: str, rows: Iterable[tuple[int, Mapping[str, Any]]], options: ReadingOptions, delimiter: str | None = None
) -> _MarkAndNote:
    """Return the decimal mark (`None` if no score shows it), and a note if the mark is only assumed.

    A score that is a number with only one of the marks decides. If marks are only in ambiguous scores, such as 1.250,
    the usual mark is assumed: a comma if semicolons separate the cells, else a point. If an ambiguous score has the
    mark that is not usual, DataError is raised. In annotations, commas may separate the scores of several raters: such
    columns count only if semicolons separate the cells and each cell is one number when read with a decimal comma.
    """
    if options.decimal is not None:
        return options.decimal, None
    field_by_column = {column: field for field, column in options.mapping.columns.items()}
    is_missing = options.rules(typed_cells=False).is_missing
    # Columns with one score in a cell, and columns whose cells may be lists of several raters' scores.
    single_columns, list_columns = dict[str, _FirstCells](), dict[str, _FirstCells]()
    for index, (line, row) in enumerate(rows):
        if index == 0:
            for column in row:
                field, *aspect_and_rater = field_by_column.get(column, column).split(".", 2)
                if field == "annotations" and len(aspect_and_rater) == 1:
                    list_columns[column] = {}
                elif aspect_and_rater and field in ("scores", "annotations"):
                    single_columns[column] = {}
        if not single_columns and not list_columns:
            break
        for column, first_cells in chain(single_columns.items(), list_columns.items()):
            cell = row.get(column)
            if not is_missing(cell):
                is_long = isinstance(cell, str) and len(cell) > MAX_NUMBER_LENGTH
                first_cells.setdefault("none" if is_long else _mark_evidence(cell), (line, cell))
    usual: DecimalMark = "comma" if delimiter == ";" else "point"
    mark, note = _decide_mark(where, single_columns, usual)
    if mark == "comma" or delimiter != ";":
        return mark, note
    comma_columns = {name: cells for name, cells in list_columns.items() if not cells.keys() & {"point", "none"}}
    list_mark, list_note = _decide_mark(where, comma_columns, usual)
    return (list_mark, list_note) if list_mark == "comma" or list_note else (mark, note)


def _decide_mark(where: str, columns: Mapping[str, _FirstCells], usual: DecimalMark) -> _MarkAndNote:
    kinds = {kind for first_cells in columns.values() for kind in first_cells}
    if certain := kinds & {"point", "comma"}:
        return "comma" if certain == {"comma"} else "point", None
    all_cells = ((column, kind, *first) for column, cells in columns.items() for kind, first in cells.items())
    ambiguous_cells = [(column, line, cell) for column, kind, line, cell in all_cells if kind.startswith("decimal")]
    if not ambiguous_cells:
        return None, None
    column, line, cell = ambiguous_cells[0]
    point, comma = _numbers_by_mark(cell)
    if kinds - {"same", "none"} != {f"decimal {usual}"}:
        readings = f"is {point:.12g} with a decimal point and {comma:.12g} with a decimal comma"
        problem = f"{where}:{line}: the score {cell!r} in column {column!r} {readings}"
        hint = "Say which mark the scores have: `decimal=point` or `decimal=comma`."
        raise DataError(f"{problem}, and no other score shows which is meant.", hint)
    number, other_number = (point, comma) if usual == "point" else (comma, point)
    return usual, f"{cell!r} in line {line} as {number:.12g}, not {other_number:.12g}"


DELIMITER_BY_ENDING = {each.ending: each.delimiter for each in FORMATS if each.delimiter}
PARQUET_ENDING = ".parquet"
WORKBOOK_ENDINGS = (".xlsx", ".xlsm")


@dataclass(frozen=True, slots=True)
class RawRows:
    """Numbered rows as read: mappings, faults or other values; `is_table` if all rows have the same columns."""

    source: SourceFormat
    rows: text_files.RowStream
    rules: CellRules
    is_table: bool = False


def raw_file_rows(source: str | Path | text_files.Lines, options: ReadingOptions) -> RawRows:
    is_stdin = isinstance(source, str | Path) and str(source) == "-"
    path_or_lines = sys.stdin.buffer if is_stdin else source
    if not isinstance(path_or_lines, str | Path):
        name = "stdin" if is_stdin else getattr(path_or_lines, "name", None)
        where = name if isinstance(name, str) else "stream"
        rows = text_files.json_lines(where, text_files.bounded_lines(where, path_or_lines, options.max_row_bytes))
        raw = RawRows(SourceFormat(where, "JSON Lines", UTF_8), rows, options.rules(typed_cells=True))
        # Exports in other streams are not converted: this would wait for the last line, and lines may come one by one.
        return _rows_of_texts(raw, options) if is_stdin else raw
    path = Path(path_or_lines)
    ending = _check_ending(path, options)
    if ending in WORKBOOK_ENDINGS:
        source_format, sheet = read_sheet(path, options)
        mark, note = detect_decimal_mark(f"{path}, sheet {source_format.sheet!r}", sheet, options)
        source_format = replace(source_format, decimal=mark, unsure=note)
        raw = RawRows(source_format, iter(sheet), options.rules(typed_cells=False, decimal=mark), is_table=True)
    elif ending == PARQUET_ENDING:
        rows = parquet_rows(path, options.max_row_bytes)
        raw = RawRows(SourceFormat(str(path), "Parquet"), rows, options.rules(typed_cells=True), is_table=True)
    else:
        raw = _text_file_rows(path, ending, options)
    return _rows_of_texts(raw, options)


def raw_data_rows(rows: Any, where: str, options: ReadingOptions) -> RawRows:
    if isinstance(rows, Mapping):
        keys = ", ".join(repr(key) for key in rows)
        raise DataError(f"Expected rows, but {where} is a mapping with {keys}.", "Give one of its values.")
    # All rows of a table have the same columns; Hugging Face's `IterableDataset` may not know its columns.
    methods = ("itertuples", "iter_rows", "to_batches", "collect_schema")
    is_table = any(hasattr(rows, name) for name in methods) or bool(getattr(rows, "column_names", None))
    if isinstance(rows, bytes | type) or not (is_table or isinstance(rows, Iterable)):
        tables = "a pandas, polars or pyarrow table, or a Hugging Face data set"
        hint = f"expected a path, rows as mappings, a list of texts, Example objects, {tables}."
        raise DataError(f"Data of the type {type(rows).__name__} has no rows;", hint)
    numbered = enumerate(_python_rows(rows, options.mapping), start=1)
    raw = RawRows(SourceFormat(where, "rows"), numbered, options.rules(typed_cells=True), is_table=is_table)
    # Exports are not converted in iterators, whose rows may come one at a time.
    return raw if isinstance(rows, Iterator) else _rows_of_texts(raw, options)


def _rows_of_texts(raw: RawRows, options: ReadingOptions) -> RawRows:
    """Return rows of texts: an export or a table with a row for each rating is converted and named in `source.tool`."""
    first_numbered_row = next(raw.rows, None)
    if first_numbered_row is None:
        return raw
    _, first_row = first_numbered_row
    rows_from_first = chain([first_numbered_row], raw.rows)
    if is_rating(first_row, options.mapping, raw.rules):
        ratings = list(rows_from_first)
        joined, details = join_ratings(raw.source.where, ratings, options.mapping, raw.rules)
        # Joined rows have other columns than the file, so the filled cells of the file are counted here.
        count_and_first: dict[str, tuple[int, str]] = {}
        for column, cell in chain.from_iterable(row.items() for _, row in ratings if isinstance(row, Mapping)):
            filled_count, first_text = count_and_first.setdefault(str(column), (0, ""))
            if not raw.rules.is_missing(cell):
                count_and_first[str(column)] = (filled_count + 1, first_text if filled_count else str(cell))
        source = replace(raw.source, tool="table with a row for each rating", details=details, cells=count_and_first)
        return replace(raw, source=source, rows=iter(joined))
    rules = options.rules(typed_cells=False)
    conversion = read_export(raw.source.where, rows_from_first, first_row, raw.source.format, rules)
    if conversion is None:
        return replace(raw, rows=rows_from_first)
    export, rows = conversion
    left_out = [f"{kind} left out: {number}" for kind, number in export.left_out.items() if number]
    details = (*left_out, *export.notes)
    source = replace(raw.source, tool=export.name, choices=export.choices, details=details)
    return RawRows(source, iter(rows), rules, is_table=True)


def _text_file_rows(path: Path, ending: str, options: ReadingOptions) -> RawRows:
    where, max_bytes = str(path), options.max_row_bytes
    sample, is_complete = text_files.read_sample(path)
    text_files.check_is_text(where, sample)
    is_json = ending in JSON_ENDINGS
    encoding = options.encoding or text_files.detect_encoding(where, sample, is_complete, only_unicode=is_json)
    beginning = sample.decode(encoding, "replace").removeprefix("\ufeff")
    newline = "\r" if "\r" in beginning and "\n" not in beginning else "\n"
    if is_json:
        rules = options.rules(typed_cells=True)
        rows = text_files.document_rows(path, beginning, max_bytes, encoding)
        if rows is not None:
            return RawRows(SourceFormat(where, "JSON", encoding), enumerate(rows, start=1), rules)
        lines = text_files.read_lines(path, max_bytes, encoding, newline)
        return RawRows(SourceFormat(where, "JSON Lines", encoding), text_files.json_lines(where, lines), rules)
    header_rows, usual, skip_rows = options.header_rows, DELIMITER_BY_ENDING[ending], options.skip_rows
    layout = text_files.detect_layout(beginning, usual, header_rows, skip_rows, is_complete=is_complete)
    if options.delimiter:
        detected = layout.delimiter
        layout = replace(layout, delimiter=options.delimiter, skip_rows=skip_rows)
        header = "".join(beginning.splitlines()[skip_rows : skip_rows + 1])
        if options.delimiter not in header and detected in header:
            hint = f"leave `delimiter` out, or set it to {detected!r}."
            raise DataError(f"{where}: the header has no {options.delimiter!r} but {detected!r};", hint)
    records = text_files.first_records(beginning.splitlines(keepends=True), layout)
    text_files.check_header(where, records, options, layout.delimiter)

    def read_rows() -> text_files.RowStream:
        lines = text_files.read_lines(path, max_bytes, encoding, newline)
        return text_files.delimited_rows(where, lines, max_bytes, layout)

    def read_valid_rows() -> Iterator[tuple[int, Mapping[str, Any]]]:
        with suppress(DataError):  # it is raised again when the rows are used
            yield from ((line, row) for line, row in read_rows() if isinstance(row, dict))

    mark, note = detect_decimal_mark(where, read_valid_rows(), options, layout.delimiter)
    format_name = "TSV" if ending == ".tab" else ending.removeprefix(".").upper()
    source = SourceFormat(where, format_name, encoding, layout.delimiter, decimal=mark, unsure=note, usual=usual)
    return RawRows(source, read_rows(), options.rules(typed_cells=False, decimal=mark), is_table=True)


def _check_ending(path: Path, options: ReadingOptions) -> str:
    ending = table_ending(path, (PARQUET_ENDING, *WORKBOOK_ENDINGS, *JSON_ENDINGS, *DELIMITER_BY_ENDING))
    exists = os.path.exists(path)
    if ending is None and not exists and (any(map(str.isspace, path.name)) or not path.suffix):
        hint = "Give a file of rows, - for standard input, or in Python the texts as a list of strings."
        raise DataError(f"There is no file {preview(str(path))}.", hint)
    if ending is None:
        text_formats = [each for each in FORMATS if each.delimiter and not each.is_alias]
        text_endings = [JSON_ENDINGS[0], *(each.ending for each in text_formats)]
        names = f"Name it {', '.join(text_endings)} (these also with .gz), .xlsx or .parquet"
        raise DataError(f"{path}: unknown format.", f"{names}; - reads JSON Lines from standard input.")
    reasons = {
        "there is no such file": not exists,
        "it is a folder": path.is_dir(),
        "permission denied": not os.access(path, os.R_OK),
        "a table is read twice, and a pipe only once": ending not in JSON_ENDINGS and not path.is_file(),
    }
    for reason, applies in reasons.items():
        if applies:
            raise DataError(f"{path} cannot be read: {reason}.", "Give a file of rows, or - for standard input.")
    endings_by_option: dict[str, Collection[str]] = dict.fromkeys(("sheet", "skip_hidden"), WORKBOOK_ENDINGS)
    endings_by_option |= {"delimiter": DELIMITER_BY_ENDING, "encoding": (*JSON_ENDINGS, *DELIMITER_BY_ENDING)}
    table_endings = (*DELIMITER_BY_ENDING, *WORKBOOK_ENDINGS)
    endings_by_option |= dict.fromkeys(("header_rows", "skip_rows", "decimal"), table_endings)
    for name, endings in endings_by_option.items():
        if ending not in endings and getattr(options, name) != getattr(DEFAULTS, name):
            raise SettingsError(f"`{name}` does not apply to {path}, a {ending} file;", "leave it out.")
    return ending


def _python_rows(rows: Any, mapping: FieldMap) -> Iterator[Any]:
    if hasattr(rows, "itertuples"):  # pandas
        columns = list(map(str, rows.columns))
        missing = rows.isna().itertuples(index=False, name=None)
        for values, are_missing in zip(rows.itertuples(index=False, name=None), missing, strict=True):
            cells = zip(columns, values, are_missing, strict=True)
            yield {column: None if is_missing else _to_python(value) for column, value, is_missing in cells}
    elif hasattr(rows, "to_batches"):  # pyarrow
        for batch in rows.to_batches():
            yield from batch.to_pylist()
    elif hasattr(rows, "iter_rows") or hasattr(rows, "collect_schema"):  # polars
        frame = rows if hasattr(rows, "iter_rows") else rows.collect()
        yield from map(_to_python, frame.iter_rows(named=True))
    else:
        # A plain text also gets the mapped columns, without values, since mapped columns must exist.
        mapping = _mapping_for_row({"output": ""}, mapping)
        empty_cells = dict.fromkeys(mapping.columns.values())
        output_column = mapping.columns.get("output", "output")
        for row in rows:
            yield empty_cells | {output_column: row} if isinstance(row, str) else _to_python(row)


def _to_python(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return _to_python(value.tolist())
    if isinstance(value, Mapping):
        return {key: _to_python(cell) for key, cell in value.items()}
    return [_to_python(cell) for cell in value] if isinstance(value, list | tuple) else value


ParsedRow = Example | RowError | tuple[PairwiseComparison, ...]


@dataclass(eq=False)
class Rows(Iterator[Example | RowError]):
    """Examples and faults, one for each row that does not compare texts.

    Attributes:
        line: first line of the latest row, counted from 1; 0 before the first row.
        raw_row: the latest row as it was read.
        parsed: for every row still to come, its line, the raw row, and an example, a fault or comparisons.
        comparisons: the comparisons in all rows so far, with their lines.
        skipped, skipped_scores: with `skip_faulty`, how many rows were left out, and how many scores of other rows.
        not_assessed: by field, the number of cells read so far in which raters say that the text cannot be assessed.
    """

    source: SourceFormat
    parsed: Iterator[tuple[int, Any, ParsedRow]]
    skip_faulty: bool = False
    mapping: FieldMap = NO_MAPPING
    not_assessed: Mapping[str, int] = field(default_factory=dict)
    line: int = field(default=0, init=False)
    raw_row: Any = field(default=None, init=False)
    comparisons: list[tuple[int, PairwiseComparison]] = field(default_factory=list, init=False)
    skipped: int = field(default=0, init=False)
    skipped_scores: int = field(default=0, init=False)
    first_skipped: RowError | None = field(default=None, init=False)

    @property
    def where(self) -> str:
        return self.source.where

    def __next__(self) -> Example | RowError:
        while True:
            self.line, self.raw_row, parsed = next(self.parsed)
            if isinstance(parsed, tuple):
                self.comparisons += [(self.line, comparison) for comparison in parsed]
            elif self.skip_faulty and isinstance(parsed, RowError):
                self.first_skipped = self.first_skipped or parsed
                if parsed.usable_example:
                    self.skipped_scores += len(parsed.faults)
                    return parsed.usable_example
                self.skipped += 1
            else:
                return parsed

    def look_ahead(self, stop_at: Callable[[Example], bool], max_rows: int) -> list[tuple[Any, Example]]:
        """Return up to `max_rows` next examples with raw rows, until `stop_at` is true; iteration still yields them."""
        rows, examples = list[tuple[int, Any, ParsedRow]](), list[tuple[Any, Example]]()
        for line, row, parsed in self.parsed:
            rows.append((line, row, parsed))
            if isinstance(parsed, Example):
                examples.append((row, parsed))
                if stop_at(parsed) or len(examples) == max_rows:
                    break
        self.parsed = chain(rows, self.parsed)
        return examples


def read(source: str | Path | text_files.Lines, options: ReadingOptions | None = None, **values: Any) -> Rows:
    """Return the examples and faults of a file, of `-` (standard input), or of a stream or iterable of lines.

    The format follows from the file's name; standard input and streams are JSON Lines. Rows are read lazily, except
    from a workbook. `Rows.source` has what was detected. `values` are fields of `ReadingOptions`, in place of
    `options`: `read("ratings.csv", missing="n/a")`.

    Raises:
        DataError: if the file is missing, unreadable or of an unknown format or encoding; while reading, if it has no
            rows, is a table that lacks a mapped column, or has a row of more bytes than the option `max_line_bytes`.
        SettingsError: for an option that is unknown, out of bounds, or does not apply to the format.
    """
    options = options or ReadingOptions(**values)
    return _parse(raw_file_rows(source, options), options)


def from_rows(rows: Any, where: str = "rows", options: ReadingOptions | None = None, **values: Any) -> Rows:
    """Return the examples and faults of a table, or of any iterable of mappings, texts or examples.

    Tables are data frames of pandas and polars, tables of pyarrow and Hugging Face data sets. Rows are counted from 1.
    In a pandas frame NaN and NA are missing values; elsewhere NaN is a faulty score. Raises DataError if `rows` is no
    table, has no rows or lacks a column. `values` are fields of `ReadingOptions`, in place of `options`.
    """
    options = options or ReadingOptions(**values)
    return _parse(raw_data_rows(rows, where, options), options)


def join_rows(sources: Sequence[Rows]) -> Rows:
    """Return the examples and faults of several sources, one after the other.

    During reading, `Rows.source` is the source of the latest row; afterwards it has the names of all sources.
    """
    not_assessed = Counter[str]()
    first = sources[0]

    def read_all() -> Iterator[tuple[int, Any, ParsedRow]]:
        for rows in sources:
            joined.source = rows.source
            yield from rows.parsed
            not_assessed.update(rows.not_assessed)
        joined.source = replace(first.source, where=", ".join(rows.where for rows in sources))

    joined = Rows(first.source, read_all(), first.skip_faulty, first.mapping, not_assessed)
    return joined


def _parse(raw: RawRows, options: ReadingOptions) -> Rows:
    where, rules = raw.source.where, raw.rules

    def parse_all() -> Iterator[tuple[int, Any, ParsedRow]]:
        must_check_columns = raw.is_table
        is_empty = True
        for line, row in raw.rows:
            mapping = _mapping_for_row(row, options.mapping, needs_ratings=options.needs_ratings)
            # All rows of a table have the same columns: one error for the table instead of one for each row.
            if must_check_columns and isinstance(row, Mapping):
                aspect = getattr(options, "aspect", None) if options.needs_ratings else None
                later_rows = (later_row for _, later_row in raw.rows)  # taken only for the hint of an error
                check_columns(row, where, mapping, later_rows, aspect)
                must_check_columns = False
            is_empty = False
            yield line, row, parse_row(row, where, line, mapping, rules)
        if is_empty:
            raise raw.source.no_rows_error()

    return Rows(raw.source, parse_all(), options.skip_faulty, options.mapping, rules.not_assessed)


def _mapping_for_row(row: Any, mapping: FieldMap, *, needs_ratings: bool = True) -> FieldMap:
    """Return the mapping of a row; if no ratings are needed, without the fields of ratings that the row lacks."""
    if not isinstance(row, Mapping) or (needs_ratings and not isinstance(mapping, DefaultMap)):
        return mapping
    absent_fields = [name for name, column in mapping.columns.items() if look_up(row, column) is ABSENT]
    if isinstance(mapping, DefaultMap) and "output" in row and "output" in absent_fields:
        return NO_MAPPING  # the default mapping is for rows without `output`
    if needs_ratings or not absent_fields:
        return mapping
    unneeded = {name for name in absent_fields if name.partition(".")[0] in RATING_FIELDS}
    return FieldMap({name: column for name, column in mapping.columns.items() if name not in unneeded})


def parse_row(row: Any, where: str, line: int, mapping: FieldMap, rules: CellRules) -> ParsedRow:
    if isinstance(row, RowError | Example):
        return row
    comparisons = parse_comparisons(row, where, line, mapping, rules)
    return parse_example(row, where, line, mapping, rules) if comparisons is None else comparisons
