"""Writing of rows as a table. The ending of the file's name tells the format: one of `FORMATS`, or JSON Lines.

Nested values become columns with dotted names; lists become JSON. The columns are only known after the last row, so
rows are kept in a temporary file until then.

A spreadsheet reads a text in a CSV file as a formula if it begins with `=`, `+`, `-` or `@` (also in full width), with
a tab or with a line break, perhaps after blanks and invisible characters. Against such formulas (CSV injection), an
apostrophe is written before them, which `unescape_cell` removes. Some spreadsheets begin a new cell at a semicolon even
if commas delimit the cells, so a formula after a semicolon gets an apostrophe too. Workbooks need none.
"""

from __future__ import annotations

import csv
import fcntl
import gzip
import html
import io
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import orjson

from rubriclab.errors import DataError, SettingsError, UserError
from rubriclab.models.base import is_sqlite_file

# Endings of files that are written as JSON Lines, even `.json`.
JSON_ENDINGS = (".jsonl", ".ndjson", ".json")
# Limits of the Excel format; the length of a cell is in UTF-16 units.
MAX_EXCEL_ROWS = 1_048_576
MAX_EXCEL_COLUMNS = 16_384
MAX_EXCEL_CELL_LENGTH = 32_767
PARQUET_BATCH_ROWS = 1000
# Blanks, control characters and invisible characters, which a spreadsheet may ignore before a formula.
_IGNORED = (
    r"\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_SIGN = r"[=+\-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b]"
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)
_FORMULA = rf"(?:[{_IGNORED}]*+{_SIGN}|[\t\r\n])"
# In a cell that begins after a semicolon, the sign may follow a quotation mark, but no line break, which ends the cell.
_FORMULA_AFTER_SEMICOLON = rf"(?:(?![\r\n])[\"{_IGNORED}])*+{_SIGN}"


@cache
def _before_formula(delimiter: str, apostrophe: str = "") -> re.Pattern[str]:
    """Return a pattern of the places where a formula begins or, given `apostrophe`, of apostrophes before formulas."""
    pattern = rf"\A{apostrophe}(?='*+{_FORMULA})"
    may_semicolons_divide = delimiter not in (";", "\t")
    if may_semicolons_divide:
        pattern += rf"|(?<=;){apostrophe}(?='*+{_FORMULA_AFTER_SEMICOLON})"
    return re.compile(pattern)


def escape_cell(cell: Any, delimiter: str = ",", *, decimal_comma: bool = False) -> Any:
    """Return a cell for a CSV or TSV file: whole floats as integers, texts escaped; `unescape_cell` restores texts."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    if isinstance(cell, float) and decimal_comma:
        return repr(cell).replace(".", ",")
    if isinstance(cell, str) and not _NUMBER.fullmatch(cell):
        return _before_formula(delimiter).sub("'", cell)
    return cell


def unescape_cell(cell: str, delimiter: str) -> str:
    return _before_formula(delimiter, "'").sub("", cell) if "'" in cell else cell


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    lines = io.StringIO()
    csv.writer(lines).writerows([escape_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return lines.getvalue()


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a text file is written; `.tsv` and `.tab` files have tabs. Excel recognizes UTF-8 by a byte order mark."""

    delimiter: str = ","
    decimal_comma: bool = False
    byte_order_mark: bool = False


COMMAS = CsvDialect()
CellType = type[bool] | type[int] | type[float] | type[str]
WriteRow = Callable[[Mapping[str, Any]], object]


@dataclass(frozen=True, slots=True)
class Table:
    columns: Mapping[str, CellType]
    rows: Iterator[Mapping[str, Any]]
    dialect: CsvDialect
    legend: Sequence[Mapping[str, Any]]  # rows of a second sheet, in a workbook


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format of tables.

    Attributes:
        ending: the ending of file names; text formats may add `.gz`.
        delimiter: the delimiter of a text format, for writing and reading.
        library: the module that writes the format; an extra of rubriclab installs it, `xlsx` for `.xlsx`.
        is_alias: whether another ending stands for the same format; help texts name only the other one.
    """

    ending: str
    write: Callable[[Path, Table], None]
    delimiter: str | None = None
    library: str | None = None
    is_alias: bool = False


def table_ending(path: str | Path, endings: Collection[str] = ()) -> str | None:
    """Return the first of `endings` (default: the endings of `FORMATS`) that a file's name has, also before `.gz`."""
    for ending in endings or [table_format.ending for table_format in FORMATS]:
        is_binary = ending in (".xlsx", ".xlsm", ".parquet")
        if str(path).lower().endswith(ending if is_binary else (ending, f"{ending}.gz")):
            return ending
    return None


def check_writable(path: str | Path) -> None:
    """Raise `SettingsError` if rows cannot be written to a file of this name, `DataError` if a library is missing."""
    ending = Path(path).suffix.lower()
    if is_sqlite_file(Path(path)):
        raise SettingsError(f"{path} is a database, and would be overwritten;", "give another name.")
    table_format = _FORMAT_BY_ENDING.get(table_ending(path) or "")
    is_known = table_format is not None or ending in ("", *JSON_ENDINGS)
    if not is_known and not is_pipe_or_device(path):
        raise SettingsError(f"{path}: {ending} is not a format that can be written;", f"name it {WRITABLE_ENDINGS}.")
    if table_format and table_format.library and not find_spec(table_format.library):
        hint = f"install it with: pip install 'rubriclab[{ending[1:]}]'"
        raise DataError(f"{path}: writing {ending[1:]} files needs a library that is not installed;", hint)


def is_pipe_or_device(path: str | Path) -> bool:
    return Path(path).exists() and not Path(path).is_file()


@contextmanager
def table_writer(
    path: str | Path, *, empty_too: bool = False, dialect: CsvDialect = COMMAS, legend: Sequence[Mapping[str, Any]] = ()
) -> Iterator[WriteRow]:
    """Yield a function that adds a row; on exit, the table is written to `path`.

    After an error or interruption it is written to `partial_path`, so that a file at `path` is always complete. Without
    rows, a table is written only with `empty_too`. `legend` is the content of a second sheet of a workbook.
    """
    with tempfile.TemporaryFile() as rows_file:
        types: dict[str, CellType | None] = {}
        is_complete = False

        def add(row: Mapping[str, Any]) -> None:
            flat_row = flatten(row)
            for column, cell in flat_row.items():
                earlier_type = types.setdefault(column, None)
                cell_type: CellType = next((scalar for scalar in (bool, int, float) if isinstance(cell, scalar)), str)
                if cell is not None and earlier_type is None:
                    types[column] = cell_type
                elif cell is not None and earlier_type is not cell_type:
                    types[column] = float if {earlier_type, cell_type} == {int, float} else str
            rows_file.write(orjson.dumps(flat_row, default=str, option=orjson.OPT_APPEND_NEWLINE))

        try:
            yield add
            is_complete = True
        finally:
            if types or empty_too:
                rows_file.seek(0)
                columns = {column: cell_type or str for column, cell_type in types.items()}
                table = Table(columns, map(orjson.loads, rows_file), dialect, legend)
                _write_table(Path(path), table, is_complete=is_complete)


def partial_path(path: str | Path) -> Path:
    """Return where the rows of an incomplete table are: `scores.partial.csv` for `scores.csv`."""
    start, ending = split_ending(str(path))
    return Path(f"{start}.partial{ending}")


def split_ending(name: str) -> tuple[str, str]:
    """Return a file's name without its ending, and the ending, which has two parts in `.csv.gz`."""
    path = Path(name)
    ending = "".join(path.suffixes[-2:]) if path.suffix.lower() == ".gz" else path.suffix
    return name.removesuffix(ending), ending


def _write_table(path: Path, table: Table, *, is_complete: bool) -> None:
    table_format = _FORMAT_BY_ENDING[table_ending(path) or ""]
    if table_format.delimiter and table_format.ending != ".csv":
        table = replace(table, dialect=replace(table.dialect, delimiter=table_format.delimiter))
    with name_in_errors(path), replacing(path, partial_path(path), is_complete=is_complete) as file:
        table_format.write(file, table)


@contextmanager
def replacing(path: Path, draft: Path | None = None, *, is_complete: bool = True) -> Iterator[Path]:
    """Yield a new file to write, which replaces the file at `path` in one step; after an error, `path` is unchanged.

    No other process replaces the file during the `with` block, which may read `path` and write a changed copy. A new
    file at a given `draft` stays after an error or if incomplete. A file that cannot be replaced is written directly.
    """
    if is_pipe_or_device(path) or (draft is None and _cannot_be_replaced(path)):
        yield path
        return
    target = path.resolve()
    new_file = draft or target.with_name(f".{target.name[:40]}.rubriclab")
    with _locked(new_file) as file:
        try:
            if target.exists():
                shutil.copymode(target, new_file)
            yield new_file
            os.fsync(file)  # a network file system may only now find that its disk is full
            if is_complete:
                shutil.move(new_file, target)
        except BaseException:
            if draft is None:
                new_file.unlink(missing_ok=True)
            raise


def _cannot_be_replaced(path: Path) -> bool:
    """Return whether replacing a file is impossible, or would lose the owner of the file or its hard links."""
    with suppress(FileNotFoundError):
        is_shared = path.stat().st_nlink > 1 or path.stat().st_uid != os.geteuid()
        return is_shared or not os.access(path.resolve().parent, os.W_OK) or str(path).startswith(("/dev/", "/proc/"))
    return False


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that no other process has locked."""
    is_locked = False
    while not is_locked:
        with path.open("ab") as file:
            with suppress(OSError):  # some network file systems have no locks
                fcntl.flock(file, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):  # moved by the process that had locked it
                is_locked = os.path.samestat(path.stat(), os.fstat(file.fileno()))
            if is_locked:
                yield file


def replace_file(path: str | Path, content: str | bytes) -> None:
    with name_in_errors(path), replacing(Path(path)) as file:
        file.write_bytes(content.encode() if isinstance(content, str) else content)


def append_whole(file: IO[bytes], content: bytes) -> None:
    """Write all of `content`, or none of it if the disk is full."""
    unwritten = memoryview(content)
    start = file.tell() if isinstance(file, io.FileIO) and file.seekable() else None
    try:
        while unwritten:
            unwritten = unwritten[file.write(unwritten) :]
    except OSError:
        if start is not None:
            with suppress(OSError):
                file.truncate(start)
        raise


@contextmanager
def name_in_errors(path: str | Path) -> Iterator[None]:
    """Raise a DataError that names the file, or standard output for `-`, if it cannot be written."""
    try:
        yield
    except BrokenPipeError:  # not an error: the reader of the output has closed it
        raise
    except OSError as error:
        target = "standard output" if path == "-" else path
        raise DataError(f"{target} cannot be written: {error.strerror or error}.") from None


def flatten(row: Mapping[str, Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            cells |= {f"{name}.{inner_name}": cell for inner_name, cell in flatten(value).items()}
        elif isinstance(value, list | tuple):
            cells[str(name)] = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        else:
            cells[str(name)] = replace_surrogates(value)
    return cells


def replace_surrogates(value: Any) -> Any:
    """Return a JSON value whose texts and field names are valid UTF-8; invalid bytes become question marks."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {replace_surrogates(name): replace_surrogates(inner) for name, inner in value.items()}
    return [replace_surrogates(inner) for inner in value] if isinstance(value, list | tuple) else value


def write_rows(rows: Iterable[Mapping[str, Any]], path: str | Path, *, dialect: CsvDialect = COMMAS) -> None:
    """Write rows in the format of the name's ending, or else as JSON Lines; raise what `check_writable` raises."""
    check_writable(path)
    if table_ending(path):
        with table_writer(path, empty_too=True, dialect=dialect) as add:
            for row in rows:
                add(row)
        return
    replace_file(path, b"".join(json_line(row) for row in rows))


def json_line(row: Mapping[str, Any]) -> bytes:
    # The row may repeat columns of the user's file that were not needed, and not checked to be valid UTF-8.
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(replace_surrogates(row), default=str, option=options)


def _write_delimited(path: Path, table: Table) -> None:
    dialect = table.dialect
    open_text = gzip.open if path.suffix.lower() == ".gz" else open
    encoding = "utf-8-sig" if dialect.byte_order_mark else "utf-8"
    with open_text(path, "wt", encoding=encoding, newline="") as file:
        escape = partial(escape_cell, delimiter=dialect.delimiter, decimal_comma=dialect.decimal_comma)
        writer = csv.writer(file, delimiter=dialect.delimiter)
        writer.writerow(map(escape, table.columns))
        writer.writerows([escape(row.get(column)) for column in table.columns] for row in table.rows)


def _write_excel(path: Path, table: Table) -> None:
    import xlsxwriter
    from xlsxwriter.exceptions import XlsxWriterException

    if len(table.columns) > MAX_EXCEL_COLUMNS:
        raise DataError(f"{path}: Excel does not allow {len(table.columns):,} columns.", "Write .csv or .parquet.")
    book = xlsxwriter.Workbook(path, {"constant_memory": True, "strings_to_urls": False})
    try:
        _write_excel_sheet(path, book.add_worksheet(), table.columns, table.rows)
        if table.legend:
            _write_excel_sheet(path, book.add_worksheet("legend"), tuple(table.legend[0]), table.legend)
    finally:
        try:
            book.close()
        except XlsxWriterException as error:
            raise DataError(f"{path} cannot be written: {error}.") from None


def _write_excel_sheet(path: Path, sheet: Any, columns: Collection[str], rows: Iterable[Mapping[str, Any]]) -> None:
    sheet.freeze_panes(1, 0)
    header = dict(zip(columns, columns, strict=True))
    for row_number, row in enumerate(chain([header], rows)):
        if row_number >= MAX_EXCEL_ROWS:
            raise DataError(f"{path}: more rows than Excel allows.", "Write .csv or .parquet.")
        for column_number, column in enumerate(columns):
            cell = row.get(column)
            length = len(str(cell).encode("utf-16-le", "surrogatepass")) // 2
            if length > MAX_EXCEL_CELL_LENGTH:
                problem = f"{path}: row {row_number + 1}, column {column!r} has {length:,} UTF-16 units;"
                hint = "Write .csv or .parquet; if you run it again, the judge's answers come from the cache."
                raise DataError(f"{problem} Excel allows {MAX_EXCEL_CELL_LENGTH:,}.", hint)
            if isinstance(cell, bool):
                sheet.write_boolean(row_number, column_number, cell)
            elif isinstance(cell, int | float) and abs(cell) < 2**53:
                sheet.write_number(row_number, column_number, cell)
            elif cell not in (None, ""):
                text = str(cell)
                # xlsxwriter does not escape a text that begins with `<r>` and ends with `</r>`: it could put a formula
                # into the XML of the sheet. Such a text is therefore escaped here and written as a rich string.
                if text.startswith("<r>") and text.endswith("</r>"):
                    text = f'<r><t xml:space="preserve">{html.escape(text, quote=False)}</t></r>'
                    # Escaping makes a text at most five times as long (`&amp;`); the rest of the limit is for the tags.
                    sheet.xls_strmax = 6 * MAX_EXCEL_CELL_LENGTH
                if sheet.write_string(row_number, column_number, text) != 0:
                    raise ValueError(f"expected a text that fits into a cell, got {len(text)} characters")


def _write_parquet(path: Path, table: Table) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    schema = pa.schema([(column, types[cell_type]) for column, cell_type in table.columns.items()])
    with parquet.ParquetWriter(path, schema) as writer:
        while batch := list(islice(table.rows, PARQUET_BATCH_ROWS)):
            cells: dict[str, list[Any]] = {}
            for column, cell_type in table.columns.items():
                values = (row.get(column) for row in batch)
                cells[column] = [None if value is None else cell_type(value) for value in values]
            writer.write_table(pa.table(cells, schema=schema))


FORMATS = (
    TableFormat(".csv", _write_delimited, delimiter=","),
    TableFormat(".tsv", _write_delimited, delimiter="\t"),
    TableFormat(".tab", _write_delimited, delimiter="\t", is_alias=True),
    TableFormat(".xlsx", _write_excel, library="xlsxwriter"),
    TableFormat(".parquet", _write_parquet, library="pyarrow"),
)
_FORMAT_BY_ENDING = {table_format.ending: table_format for table_format in FORMATS}
_ENDINGS = [JSON_ENDINGS[0], *(table_format.ending for table_format in FORMATS if not table_format.is_alias)]
WRITABLE_ENDINGS = f"{', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}"
OUTPUT_HELP = f"Write the rows to this file: {WRITABLE_ENDINGS}."


def data_frame(rows: Iterable[dict[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError:
        hint = "Install it: pip install 'rubriclab[pandas]'."
        raise UserError("A data frame needs pandas, which is not installed.", hint) from None
    return pandas.DataFrame(list(rows))
