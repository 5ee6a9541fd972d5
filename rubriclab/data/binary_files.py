"""Rows of Parquet files and Excel workbooks (.xlsx), of limited size, so that a small file cannot fill the memory.

Cells of a workbook have the values that the sheet shows. Formulas are not evaluated; their stored results are used. A
formula that shows an error such as `#DIV/0!`, or was never calculated, becomes a `CellError`, which is a fault of the
row only where a score or a text is expected. Every cell of a merged range has the value of the range.
"""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rubriclab.data import text_files
from rubriclab.data.cells import UNCALCULATED, CellError, is_empty
from rubriclab.data.reading_options import DEFAULTS, MAX_ROW_BYTES, ReadingOptions, SourceFormat
from rubriclab.data.rows import FIRST_INEXACT_FLOAT, RowError
from rubriclab.errors import DataError, SettingsError

MAX_PARQUET_BATCH_ROWS = 1024


def parquet_rows(path: Path, max_bytes: int = MAX_ROW_BYTES) -> text_files.RowStream:
    """Yield the rows of a Parquet file, counted from 1; a row of more than `max_bytes` bytes is a `DataError`."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        hint = "install it with: pip install 'rubriclab[parquet]'"
        raise DataError(f"{path}: reading Parquet needs pyarrow;", hint) from None
    row_number = 0  # of the latest row
    try:
        # With `pre_buffer`, pyarrow's default, all that was read stays in memory until the file is closed.
        with ParquetFile(path, pre_buffer=False) as file:
            groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
            row_bytes = max((group.total_byte_size / max(group.num_rows, 1) for group in groups), default=1)
            batch_size = max(1, min(MAX_PARQUET_BATCH_ROWS, int(max_bytes / max(row_bytes, 1))))
            for batch in file.iter_batches(batch_size=batch_size):
                for row in _batch_rows(str(path), row_number, batch):
                    row_number += 1
                    if len(repr(row)) > max_bytes:
                        raise text_files.row_limit_error(str(path), f"row {row_number}", max_bytes)
                    yield row_number, row
    except (ArrowException, OSError) as error:
        yield row_number + 1, text_files.damage_fault(str(path), row_number, error)


def _batch_rows(where: str, rows_before: int, batch: Any) -> list[Any]:
    rows: list[Any]
    try:
        rows = batch.to_pylist()
    except (ValueError, OverflowError) as error:  # text that is not UTF-8, dates beyond Python's calendar
        if len(batch) == 1:
            got = f"a row that cannot be read ({' '.join(str(error).split())})"
            return [RowError(where, rows_before + 1, None, got, "values that fit their type")]
        rows = []
        for index in range(len(batch)):  # each row by itself, to find the faulty ones
            rows += _batch_rows(where, rows_before + index, batch.slice(index, 1))
    return rows


# Maximum size in bytes of all files in a workbook's archive, unpacked.
MAX_UNPACKED_BYTES = 2**29
# Maximum number of cells, filled or empty, up to the last used row and column: all of them are held in memory, and a
# small file can use two cells that are a million rows apart.
MAX_CELLS = 5_000_000
_XML_ERRORS = (ElementTree.ParseError, StopIteration)  # `StopIteration` if an expected element is absent
# Errors from a damaged archive, and from a damaged file in it.
DAMAGE_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError, *_XML_ERRORS)
_BLOCK_BYTES = 2**20
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_ENCRYPTED_MARK = "EncryptedPackage".encode("utf-16-le")
_WORKBOOK_PART = "xl/workbook.xml"
# Files that only the archives of other formats hold: a binary workbook, an OpenDocument file.
_OTHER_FORMATS = ("xl/workbook.bin", "content.xml")
MAX_HIDDEN_LISTED = 5


def read_sheet(path: Path, options: ReadingOptions = DEFAULTS) -> tuple[SourceFormat, list[tuple[int, dict[str, Any]]]]:
    """Return the sheet of a workbook that the options name, by default the first that is not hidden.

    The rows below the header have the row numbers that Excel shows; columns without a name are left out. Raises
    DataError if the file is no workbook, is protected or is too large, and SettingsError if there is no such sheet.
    """
    try:
        import python_calamine as calamine
    except ImportError:
        hint = "install it with: pip install 'rubriclab[xlsx]'"
        raise DataError(f"{path}: reading Excel workbooks needs python-calamine;", hint) from None
    _check_format(path)
    try:
        with (
            zipfile.ZipFile(path) as archive,
            path.open("rb") as file,
            calamine.CalamineWorkbook.from_filelike(file) as workbook,
        ):
            sheets = tuple(workbook.sheet_names)
            visible = calamine.SheetVisibleEnum.Visible
            hidden_sheets = [sheet.name for sheet in workbook.sheets_metadata if sheet.visible != visible]
            name = _choose_sheet(path, sheets, options.sheet, hidden_sheets)
            errors, hidden = _read_errors_and_hidden(path, archive, name)
            worksheet = workbook.get_sheet_by_name(name)
            cells: list[list[Any]] = worksheet.to_python(skip_empty_area=False)
            for (row_number, column_number), text in errors.items():
                if row_number <= len(cells) and column_number <= len(cells[row_number - 1]):
                    cells[row_number - 1][column_number - 1] = CellError(text)
            n_filled = _fill_merged(cells, worksheet.merged_cell_ranges or ())
    except (DataError, SettingsError):
        raise
    except (calamine.CalamineError, OSError, ValueError, *DAMAGE_ERRORS) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"{path} cannot be read: {reason}.", "Check that it is a complete Excel workbook.") from None
    columns, table = _columns_and_rows(path, f"{path}, sheet {name!r}", cells, options)
    hidden_rows = [number for number, _ in table if number in hidden["row"]]
    hidden_columns = [column for number, column in enumerate(columns, start=1) if column and number in hidden["col"]]
    if options.skip_hidden:
        table = [(number, row) for number, row in table if number not in hidden["row"]]
        columns = ["" if column in hidden_columns else column for column in columns]
    rows = [(number, {name: cell for name, cell in zip(columns, row, strict=True) if name}) for number, row in table]
    treatment = "left out" if options.skip_hidden else "read (see `skip_hidden`)"
    hidden_parts: dict[str, Sequence[Any]] = {f"rows {treatment}": hidden_rows, f"columns {treatment}": hidden_columns}
    hidden_parts["sheets not read"] = [sheet for sheet in hidden_sheets if sheet != name]
    notes = list[str]()
    for description, parts in hidden_parts.items():  # the parts are row numbers or names
        more = f" and {len(parts) - MAX_HIDDEN_LISTED:,} more" if len(parts) > MAX_HIDDEN_LISTED else ""
        if parts:
            notes.append(f"hidden {description}: {', '.join(map(repr, parts[:MAX_HIDDEN_LISTED]))}{more}")
    source = SourceFormat(str(path), "Excel workbook", sheet=name, sheets=sheets, merged=n_filled, hidden=tuple(notes))
    return source, rows


def _columns_and_rows(
    path: Path, where: str, cells: Sequence[Sequence[Any]], options: ReadingOptions
) -> tuple[list[str], list[tuple[int, list[Any]]]]:
    """Return the names of the columns, and the numbered rows below the header, without blank rows."""
    numbered_rows = list(enumerate(cells, start=1))[options.skip_rows :]
    filled_rows = [(number, row) for number, row in numbered_rows if not all(map(is_empty, row))]
    for number, row in filled_rows:
        if sum(len(cell.encode(errors="replace")) for cell in row if isinstance(cell, str)) > options.max_row_bytes:
            raise text_files.row_limit_error(str(path), f"row {number}", options.max_row_bytes)
    text_files.check_header(where, filled_rows[: text_files.MAX_RECORDS_SEARCHED], options)
    columns = text_files.join_header(where, [row for _, row in filled_rows[: options.header_rows]])
    rows = []
    for number, row in filled_rows[options.header_rows :]:
        values = [None if cell == "" else cell for cell in row]
        for index, value in enumerate(values):
            # A workbook stores whole numbers as floats.
            if isinstance(value, float) and value.is_integer() and abs(value) < FIRST_INEXACT_FLOAT:
                values[index] = int(value)
        rows.append((number, values))
    return columns, rows


def _choose_sheet(path: Path, names: Sequence[str], sheet: str | int | None, hidden_sheets: Sequence[str]) -> str:
    if not names:
        raise DataError(f"{path} has no sheets.", "Give a workbook with a table.")
    if sheet is None:
        return next((name for name in names if name not in hidden_sheets), names[0])
    if isinstance(sheet, str) and sheet in names:
        return sheet
    number = int(sheet) if str(sheet).isdecimal() else 0
    if not 1 <= number <= len(names):
        raise SettingsError(f"`sheet={sheet}`: {path} has no such sheet;", f"it has {', '.join(map(repr, names))}.")
    return names[number - 1]


def _fill_merged(cells: list[list[Any]], ranges: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> int:
    """Copy the value of each merged range to its empty cells and return their number; positions count from 0."""
    width = len(cells[0]) if cells else 0
    n_filled = 0
    for (top, left), (bottom, right) in ranges:
        if top >= len(cells) or left >= width or is_empty(cells[top][left]):
            continue
        rows, columns = range(top, min(bottom + 1, len(cells))), range(left, min(right + 1, width))
        for row in rows:
            for column in columns:
                if is_empty(cells[row][column]):
                    cells[row][column] = cells[top][left]
                    n_filled += 1
    return n_filled


def _check_format(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(_BLOCK_BYTES)
        file.seek(max(0, path.stat().st_size - _BLOCK_BYTES))
        end = file.read(_BLOCK_BYTES)
        if start.startswith(_OLD_EXCEL) and (_ENCRYPTED_MARK in start or _ENCRYPTED_MARK in end):
            raise DataError(f"{path} is protected by a password.", "Save it without one.")
    if start.startswith(_OLD_EXCEL):
        raise DataError(f"{path} has the format of Excel before 2007 (.xls).", "Save it as .xlsx.")
    try:
        with zipfile.ZipFile(path) as archive:
            names, unpacked_bytes = set(archive.namelist()), sum(part.file_size for part in archive.infolist())
    except DAMAGE_ERRORS as error:
        hint = "Save it as .xlsx again."
        raise DataError(f"{path} is not an Excel workbook, or is damaged: {str(error).rstrip('.')}.", hint) from None
    if _WORKBOOK_PART not in names or names.intersection(_OTHER_FORMATS):
        raise DataError(f"{path} is a zip archive but not an Excel workbook.", "Save the table as .xlsx.")
    if unpacked_bytes > MAX_UNPACKED_BYTES:
        hint = "Save the table as CSV."
        raise DataError(f"{path} unpacks to {unpacked_bytes:,} bytes; at most {MAX_UNPACKED_BYTES:,} are read.", hint)


def _read_errors_and_hidden(
    path: Path, archive: zipfile.ZipFile, sheet: str
) -> tuple[dict[tuple[int, int], str], dict[str, set[int]]]:
    """Return a sheet's errors by row and column, and the numbers of its hidden rows (`row`) and columns (`col`).

    All numbers count from 1. Errors are read here, since python-calamine gives empty cells for them.
    """
    paths = {name.casefold(): name for name in archive.namelist()}
    errors: dict[tuple[int, int], str] = {}
    hidden: dict[str, set[int]] = {"row": set(), "col": set()}
    row = column = last_row = last_column = 0
    cell_type = ""
    lacks_result = False
    # `/name` is the end of an element. A row holds cells (`c`), a cell its formula (`f`) and its value (`v` or `is`).
    for event, attributes, text in _xml_events(archive, paths[_path_of_sheet(archive, sheet)]):
        if event == "row":
            row, column = int(attributes.get("r", row + 1)), 0
        elif event == "c":
            letters = attributes.get("r", "").rstrip("0123456789")
            column = 0 if letters else column + 1
            # Column `AB` is 28. Excel's last column is `XFD`: a fourth letter is already beyond it.
            for letter in letters[:4]:
                column = column * 26 + ord(letter.upper()) - ord("A") + 1
            row = int(attributes["r"][len(letters) :]) if letters else row
            cell_type, lacks_result = attributes.get("t", ""), False
        elif event == "f":
            lacks_result = True
        elif event in ("v", "is"):
            last_row, last_column = max(last_row, row), max(last_column, column)
            if last_row * last_column > MAX_CELLS:
                area = f"the used area of the sheet {sheet!r} has {last_row:,} rows and {last_column:,} columns"
                hint = "Delete cells far away from the table, or save the table as CSV."
                raise DataError(f"{path}: {area}; at most {MAX_CELLS:,} cells are read.", hint)
        elif event == "/c" and lacks_result and cell_type != "str":
            # A result of the type "str" without a text is an empty text, not a missing result.
            errors[row, column] = UNCALCULATED
        elif event == "/v":
            if cell_type == "e":
                errors[row, column] = text
            if text or cell_type == "e":
                lacks_result = False
        if event in hidden and attributes.get("hidden") in ("1", "true"):
            # A `col` element has the numbers of its first and last column; a `row` element is a single row.
            first = int(attributes.get("min", row))
            last = min(int(attributes.get("max", row)), MAX_CELLS)
            hidden[event].update(range(first, last + 1))
    return errors, hidden


def _path_of_sheet(archive: zipfile.ZipFile, sheet: str) -> str:
    sheets = [attributes for event, attributes, _ in _xml_events(archive, _WORKBOOK_PART) if event == "sheet"]
    sheet_attributes = next(attributes for attributes in sheets if attributes["name"] == sheet)
    relation_id = next(value for key, value in sheet_attributes.items() if key.endswith("}id"))
    relations = _xml_events(archive, "xl/_rels/workbook.xml.rels")
    target = next(attributes["Target"] for _, attributes, _ in relations if attributes.get("Id") == relation_id)
    return posixpath.join("/xl", target).removeprefix("/").casefold()


def _xml_events(archive: zipfile.ZipFile, part: str) -> Iterator[tuple[str, Mapping[str, str], str]]:
    """Yield each element's name and attributes where it begins, and `/name` and its text where it ends."""
    with archive.open(part) as stream:
        for event, element in ElementTree.iterparse(stream, ("start", "end")):
            name = element.tag.rpartition("}")[2]
            if event == "start":
                yield name, element.attrib, ""
            else:
                yield f"/{name}", {}, element.text or ""
                element.clear()
