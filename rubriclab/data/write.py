"""Writing rows as a table: CSV, TSV, Excel or Parquet, depending on the file's name.

Nested values become columns with dotted names; lists become JSON. The columns are only known after the last row, so
rows are kept in a temporary file until then.

Text that a spreadsheet opens must stay text, and must not run as a formula (CSV injection). A spreadsheet
takes a cell for a formula that begins with `=`, `+`, `-` or `@`, also in full width, or with a tab or
line break, and some ignore blanks and invisible characters before these. In CSV and TSV files such a text is preceded
by an apostrophe, which is removed on reading. A spreadsheet that expects semicolons between cells divides a file with
commas at each semicolon inside a text, so there the rule holds after these too, for signs. Numbers stay as they are.

In workbooks texts are written as such, whatever they begin with.
"""

from __future__ import annotations

import csv
import gzip
import html
import io
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from rubriclab.data.mapping import SourceFormat
from rubriclab.errors import DataError, SettingsError, UserError
from rubriclab.models.base import is_database

TABLE_ENDINGS = (".csv", ".tsv", ".tab", ".xlsx", ".parquet")
JSON_LINES = (".jsonl", ".ndjson", ".json")
# Limits of the Excel format.
MAX_EXCEL_ROWS = 1_048_576
MAX_EXCEL_COLUMNS = 16_384
_BATCH = 1000


# UTF-16 units in a cell of the Excel format.
MAX_EXCEL_CELL_LENGTH = 32_767
# Blanks, control characters, and those that are not shown, up to the tag characters.
_IGNORED = (
    r"\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_SIGN = r"[=+\-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b]"
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)
_BEGINNING = rf"(?='*+(?:[{_IGNORED}]*+{_SIGN}|[\t\r\n]))"
# On the same line; the quotation marks of the file may stand there too.
_AFTER_SEMICOLON = rf"(?='*+(?:(?![\r\n])[\"{_IGNORED}])*+{_SIGN})"


def _patterns(apostrophe: str) -> dict[bool, re.Pattern[str]]:
    """Return what finds the places of apostrophes, by whether the file has commas."""
    beginning = rf"\A{apostrophe}{_BEGINNING}"
    return {False: re.compile(beginning), True: re.compile(rf"{beginning}|(?<=;){apostrophe}{_AFTER_SEMICOLON}")}


_UNSAFE, _ESCAPED = _patterns(""), _patterns("'")
# Of these files a spreadsheet divides none by semicolons inside a cell.
_OTHERS = (";", "\t")


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a .csv file is written; by a byte order mark Excel recognises UTF-8."""

    delimiter: str = ","
    decimal_comma: bool = False
    byte_order_mark: bool = False


COMMAS = CsvDialect()


def dialect_like(source: SourceFormat) -> CsvDialect:
    """Return how to write a .csv file so that the program that wrote `source` can open it.

    Spreadsheets separate cells by semicolons where the decimal mark is a comma, and need a byte order mark for UTF-8.
    """
    if source.delimiter != ";":
        return COMMAS
    return CsvDialect(";", decimal_comma=source.decimal != "point", byte_order_mark=True)


Kind = type[bool] | type[int] | type[float] | type[str]
KINDS: tuple[Kind, ...] = (bool, int, float)
WriteRow = Callable[[Mapping[str, Any]], object]


def table_kind(path: str | Path, kinds: Collection[str] = TABLE_ENDINGS) -> str | None:
    """Return the table format of a file name, such as `.csv`, without `.gz`; `None` for JSON Lines and other names."""
    name = str(path).lower()
    named = {kind: name if kind in (".xlsx", ".xlsm", ".parquet") else name.removesuffix(".gz") for kind in kinds}
    return next((kind for kind in kinds if named[kind].endswith(kind)), None)


def check_writable(path: str | Path) -> None:
    """Check that rows can be written to a file of this name.

    Raises:
        SettingsError: for a database, or a name that says no format that can be written.
        DataError: if the library that writes it is not installed.
    """
    kind = table_kind(path)
    if is_database(Path(path)):
        raise SettingsError(f"{path} would be overwritten, which is a database;", "give another name.")
    ending = Path(path).suffix.lower()
    # The name of a pipe or device says nothing.
    is_special = Path(path).exists() and not Path(path).is_file()
    if kind is None and ending and ending not in JSON_LINES and not is_special:
        raise SettingsError(
            f"{path}: the ending {ending} says no format;", f"name it {', '.join((*JSON_LINES[:1], *TABLE_ENDINGS))}."
        )
    try:
        if kind == ".xlsx":
            import xlsxwriter  # noqa: F401
        elif kind == ".parquet":
            import pyarrow  # noqa: F401
    except ImportError:
        name = str(kind)[1:]
        extra = f"install it with: pip install 'rubriclab[{name}]'"
        raise DataError(f"{path}: writing {name} files needs a library that is not installed;", extra) from None


@contextmanager
def table_writer(
    path: str | Path, *, always: bool = False, dialect: CsvDialect = COMMAS, legend: Sequence[Mapping[str, Any]] = ()
) -> Iterator[WriteRow]:
    """Yield a function that adds a row; the table is written on exit, also after an error or interruption.

    Without rows, nothing is written unless `always`. `legend` has rows for a second sheet of a workbook. A file that
    cannot be written, or exceeds the limits of Excel, is a `DataError`.
    """
    with tempfile.TemporaryFile() as spool:
        columns: dict[str, Kind | None] = {}

        def add(row: Mapping[str, Any]) -> None:
            flat = flatten(row)
            for column, cell in flat.items():
                kind, new = columns.get(column), next((each for each in KINDS if isinstance(cell, each)), str)
                if cell is None or kind in (None, new):
                    columns[column] = kind if cell is None else new
                else:
                    columns[column] = float if {kind, new} == {int, float} else str
            spool.write(orjson.dumps(flat, default=str, option=orjson.OPT_APPEND_NEWLINE))

        try:
            yield add
        finally:
            if columns or always:
                spool.seek(0)
                kinds = {column: kind or str for column, kind in columns.items()}
                _write(Path(path), kinds, (orjson.loads(line) for line in spool), dialect, legend)


def flatten(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with a cell for each nested value: dotted names for objects, JSON for lists."""
    cells: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            cells |= {f"{name}.{inner}": cell for inner, cell in flatten(value).items()}
        elif isinstance(value, list | tuple):
            cells[str(name)] = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        else:
            cells[str(name)] = replace_surrogates(value)
    return cells


def replace_surrogates(value: Any) -> Any:
    """Return a value with text that can be encoded; undecodable bytes become question marks."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def write_rows(rows: Iterable[Mapping[str, Any]], path: str | Path, *, dialect: CsvDialect = COMMAS) -> None:
    """Write rows to a file in the format of its name, which `check_writable` checks; without one, as JSON Lines."""
    check_writable(path)
    if table_kind(path):
        with table_writer(path, always=True, dialect=dialect) as add:
            for row in rows:
                add(row)
        return
    try:
        Path(path).write_bytes(b"".join(json_line(row) for row in rows))
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from None


def json_line(row: Mapping[str, Any]) -> bytes:
    """Return a row as a line of JSON."""
    # A CSV cell may contain bytes that are not UTF-8, in a column that is not a field.
    valid = {name: replace_surrogates(cell) for name, cell in row.items()}
    return orjson.dumps(valid, default=str, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)


def _write(
    path: Path,
    columns: Mapping[str, Kind],
    rows: Iterator[Mapping[str, Any]],
    dialect: CsvDialect,
    legend: Sequence[Mapping[str, Any]],
) -> None:
    try:
        match table_kind(path):
            case ".xlsx":
                _write_excel(path, columns, rows, legend)
            case ".parquet":
                _write_parquet(path, columns, rows)
            case ".csv":
                _write_delimited(path, columns, rows, dialect)
            case _:
                _write_delimited(path, columns, rows, CsvDialect("\t"))
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from None


def _write_delimited(
    path: Path, columns: Mapping[str, Kind], rows: Iterator[Mapping[str, Any]], dialect: CsvDialect
) -> None:
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    encoding = "utf-8-sig" if dialect.byte_order_mark else "utf-8"
    with opened(path, "wt", encoding=encoding, newline="") as text:
        safe = partial(escape_cell, delimiter=dialect.delimiter, decimal_comma=dialect.decimal_comma)
        writer = csv.writer(text, delimiter=dialect.delimiter)
        writer.writerow(map(safe, columns))
        writer.writerows([safe(row.get(column)) for column in columns] for row in rows)


def _write_excel(
    path: Path, columns: Mapping[str, Kind], rows: Iterator[Mapping[str, Any]], legend: Sequence[Mapping[str, Any]]
) -> None:
    import xlsxwriter
    from xlsxwriter.exceptions import XlsxWriterException

    if len(columns) > MAX_EXCEL_COLUMNS:
        raise DataError(f"{path}: {len(columns):,} columns are more than Excel allows.", "Write .csv or .parquet.")
    book = xlsxwriter.Workbook(path, {"constant_memory": True, "strings_to_urls": False})
    try:
        _write_excel_sheet(path, book.add_worksheet(), columns, rows)
        if legend:
            _write_excel_sheet(path, book.add_worksheet("legend"), tuple(legend[0]), legend)
    finally:
        try:
            book.close()
        except XlsxWriterException as error:
            raise DataError(f"{path} cannot be written: {error}.") from None


def _write_excel_sheet(path: Path, sheet: Any, columns: Collection[str], rows: Iterable[Mapping[str, Any]]) -> None:
    header = dict(zip(columns, columns, strict=True))
    for number, row in enumerate(chain([header], rows)):
        if number >= MAX_EXCEL_ROWS:
            raise DataError(f"{path}: more rows than Excel allows.", "Write .csv or .parquet.")
        for place, column in enumerate(columns):
            cell = row.get(column)
            if isinstance(cell, str) and excel_length(cell) > MAX_EXCEL_CELL_LENGTH:
                raise DataError(
                    f"{path}: row {number + 1}, column {column!r} has {excel_length(cell):,} UTF-16 units; a cell of "
                    f"Excel holds {MAX_EXCEL_CELL_LENGTH:,}.",
                    "Write .csv or .parquet; answers of the judge are cached.",
                )
            if isinstance(cell, bool):
                sheet.write_boolean(number, place, cell)
            elif isinstance(cell, int | float) and abs(cell) < 2**53:
                sheet.write_number(number, place, cell)
            elif cell not in (None, ""):
                write_text_cell(sheet, number, place, str(cell))


def _write_parquet(path: Path, columns: Mapping[str, Kind], rows: Iterator[Mapping[str, Any]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    schema = pa.schema([(column, types[kind]) for column, kind in columns.items()])
    with parquet.ParquetWriter(path, schema) as writer:
        while batch := list(islice(rows, _BATCH)):
            cells = {
                column: [None if (cell := row.get(column)) is None else kind(cell) for row in batch]
                for column, kind in columns.items()
            }
            writer.write_table(pa.table(cells, schema=schema))


def escape_cell(cell: Any, delimiter: str = ",", *, decimal_comma: bool = False) -> Any:
    """Return a cell for a CSV or TSV file, a text so that no spreadsheet runs it; `unescape_cell` restores it."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    if isinstance(cell, float) and decimal_comma:
        return repr(cell).replace(".", ",")
    if isinstance(cell, str) and not _NUMBER.fullmatch(cell):
        return _UNSAFE[delimiter not in _OTHERS].sub("'", cell)
    return cell


def unescape_cell(cell: str, delimiter: str) -> str:
    """Return the text that `escape_cell` made a cell from."""
    return _ESCAPED[delimiter not in _OTHERS].sub("", cell) if "'" in cell else cell


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as the text of a CSV file."""
    lines = io.StringIO()
    csv.writer(lines).writerows([escape_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return lines.getvalue()


def write_text_cell(sheet: Any, row: int, place: int, text: str) -> None:
    """Write a text of at most `MAX_EXCEL_CELL_LENGTH` UTF-16 units to a cell of an xlsxwriter sheet, as text.

    The writer takes a string between `<r>` and `</r>` for a rich string of its own and copies it as XML into the file,
    formulas included: such a text is given to it as a rich string with the text in it.
    """
    if text.startswith("<r>") and text.endswith("</r>"):
        text = f'<r><t xml:space="preserve">{html.escape(text, quote=False)}</t></r>'
        sheet.xls_strmax = 6 * MAX_EXCEL_CELL_LENGTH
    if sheet.write_string(row, place, text) != 0:
        raise ValueError(f"expected a text that fits into a cell, got {excel_length(text)} UTF-16 units")


def excel_length(text: str) -> int:
    """Return the length of a text as Excel counts it, in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def data_frame(rows: Iterable[dict[str, Any]]) -> Any:
    """Return rows as a pandas data frame; a `UserError` if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise UserError(
            "A data frame needs pandas, which is not installed.", "Install it: pip install 'rubriclab[pandas]'."
        ) from None
    return pandas.DataFrame(list(rows))
