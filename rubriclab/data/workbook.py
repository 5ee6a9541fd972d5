"""Rows of Excel workbooks (.xlsx).

Cells have the values that the sheet shows: formulas are not evaluated, their stored results are used; one without a
result, such as `#DIV/0!`, is a `CellError`, which is a fault where a score or text is read. Every cell of a
merged range has the value of the range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubriclab.data.cells import CellError
from rubriclab.data.delimited import RECORDS_SEARCHED, check_header, joined_header
from rubriclab.data.fields import EXACT_DECIMAL
from rubriclab.data.formats import Numbered
from rubriclab.data.reading import DEFAULTS, ReadingOptions
from rubriclab.data.workbook_parts import MOST_CELLS, check_parts
from rubriclab.errors import DataError, SettingsError
from rubriclab.option_names import option

EXTRA = "install it with: pip install 'rubriclab[xlsx]'"


# First and last row and column, counted from 0.
Range = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of a workbook.

    Attributes:
        name: of the sheet.
        sheets: the names of all sheets, in order.
        columns: the names of the columns; empty for an empty sheet.
        rows: the cells below the header, with row numbers as Excel shows them.
        merged: the number of cells that have the value of a merged range.
    """

    name: str
    sheets: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[Any, ...]], ...]
    merged: int = 0


def read_sheet(path: Path, options: ReadingOptions = DEFAULTS) -> Sheet:
    """Return the sheet of a workbook that the options name, by default the first.

    Raises:
        DataError: if python-calamine is not installed, or the file is not a workbook, is protected by a password,
            unpacks to more than 512 MB, or has more than 5 million cells, a row of more than `options.longest` bytes or
            no usable header.
        SettingsError: if there is no such sheet.
    """
    try:
        import python_calamine as calamine
    except ImportError:
        raise DataError(f"{path}: reading Excel workbooks needs python-calamine;", EXTRA) from None
    error_cells = check_parts(path)
    try:
        with path.open("rb") as file, calamine.CalamineWorkbook.from_filelike(file) as workbook:
            name = _chosen(path, workbook.sheet_names, options.sheet)
            worksheet = workbook.get_sheet_by_name(name)
            cells: list[list[Any]] = worksheet.to_python(skip_empty_area=False)
            for (line, place), text in error_cells.get(name, {}).items():
                if line <= len(cells) and place <= len(cells[line - 1]):
                    cells[line - 1][place - 1] = CellError(text)
            merged = _fill_merged(cells, worksheet.merged_cell_ranges or ())
            sheets = tuple(workbook.sheet_names)
    except (calamine.CalamineError, OSError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"{path} cannot be read: {reason}.", "Check that it is a complete Excel workbook.") from None
    longest, header_rows = options.longest, options.header_rows
    below = list(enumerate(cells, start=1))[options.skip_rows :]
    numbered = [(number, tuple(row)) for number, row in below if any(map(_is_filled, row))]
    for number, row in numbered:
        if sum(len(cell.encode(errors="replace")) for cell in row if isinstance(cell, str)) > longest:
            raise DataError(
                f"{path}: row {number} has more than {longest:,} bytes, the limit of a row.",
                f"Raise the limit: {option('max_line_bytes', str(2 * longest))}.",
            )
    where = f"{path}, sheet {name!r}"
    check_header(where, numbered[:RECORDS_SEARCHED], options)
    columns = joined_header(where, [row for _, row in numbered[:header_rows]])
    return Sheet(name, sheets, tuple(columns), tuple(numbered[header_rows:]), merged)


def sheet_rows(sheet: Sheet) -> Numbered:
    """Yield the rows of a sheet by column; columns without a name are left out."""
    for number, cells in sheet.rows:
        pairs = zip(sheet.columns, cells, strict=True)
        yield number, {column: _value(cell) for column, cell in pairs if column}


def _value(cell: Any) -> Any:
    """Return the value of a cell: Excel stores whole numbers as floats."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < EXACT_DECIMAL:
        return int(cell)
    return None if cell == "" else cell


def _is_filled(cell: Any) -> bool:
    return not (cell is None or (isinstance(cell, str) and not cell.strip()))


def _chosen(path: Path, names: Sequence[str], sheet: str | int | None) -> str:
    if not names:
        raise DataError(f"{path} has no sheets.", "Give a workbook with a table.")
    if sheet is None:
        return names[0]
    if isinstance(sheet, str) and sheet in names:
        return sheet
    number = int(sheet) if str(sheet).isdecimal() else 0
    if not 1 <= number <= len(names):
        listed = ", ".join(repr(name) for name in names)
        raise SettingsError(f"{option('sheet', str(sheet))}: {path} has no such sheet;", f"it has {listed}.")
    return names[number - 1]


def _fill_merged(cells: list[list[Any]], ranges: Sequence[Range]) -> int:
    """Give the cells of each merged range its value, and return the number of these cells."""
    width = len(cells[0]) if cells else 0
    filled, left_to_visit = 0, MOST_CELLS
    for (top, left), (bottom, right) in ranges:
        if top >= len(cells) or left >= width or not _is_filled(cells[top][left]):
            continue
        rows, columns = range(top, min(bottom + 1, len(cells))), range(left, min(right + 1, width))
        # Overlapping ranges, which Excel does not allow, could take forever.
        left_to_visit -= len(rows) * len(columns)
        if left_to_visit < 0:
            break
        for row in rows:
            for column in columns:
                if not _is_filled(cells[row][column]):
                    cells[row][column] = cells[top][left]
                    filled += 1
    return filled
