"""Rows of Excel workbooks (.xlsx).

Cells have the values that the sheet shows: formulas are not evaluated, their stored results are used; one without a
result, such as `#DIV/0!`, is a `CellError`, which is a fault where a score or text is read. Every cell of a
merged range has the value of the range.
"""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from rubriclab.data.cells import CellError
from rubriclab.data.delimited import RECORDS_SEARCHED, check_header, joined_header
from rubriclab.data.fields import EXACT_DECIMAL
from rubriclab.data.formats import Numbered
from rubriclab.data.reading import DEFAULTS, ReadingOptions
from rubriclab.errors import DataError, SettingsError
from rubriclab.option_names import option

EXTRA = "install it with: pip install 'rubriclab[xlsx]'"
# Bytes of all unpacked parts.
MOST_UNPACKED = 2**29
# Cells of a sheet up to the last used row and column, including empty ones: a small file can use two cells a million
# rows apart, and all cells between them are held in memory.
MOST_CELLS = 5_000_000
# What a damaged archive or a damaged part raises.
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError, expat.ExpatError)
_BLOCK = 2**20
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_MAIN = "xl/workbook.xml"
# Parts of other formats in a zip archive, which are not checked here.
_OTHER_FORMATS = ("xl/workbook.bin", "content.xml")


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
    _check_format(path)
    try:
        with (
            zipfile.ZipFile(path) as archive,
            path.open("rb") as file,
            calamine.CalamineWorkbook.from_filelike(file) as workbook,
        ):
            sheets = tuple(workbook.sheet_names)
            name = _chosen(path, sheets, options.sheet)
            error_cells = _SheetScan(path, name).error_cells(archive)
            worksheet = workbook.get_sheet_by_name(name)
            cells: list[list[Any]] = worksheet.to_python(skip_empty_area=False)
            for (line, place), text in error_cells.items():
                if line <= len(cells) and place <= len(cells[line - 1]):
                    cells[line - 1][place - 1] = CellError(text)
            merged = _fill_merged(cells, worksheet.merged_cell_ranges or ())
    except (calamine.CalamineError, OSError, *DAMAGED) as error:
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


def _check_format(path: Path) -> None:
    """Check that a file is an Excel workbook of limited size, and not protected by a password."""
    with path.open("rb") as file:
        start = file.read(_BLOCK)
        file.seek(max(0, path.stat().st_size - _BLOCK))
        if start.startswith(_OLD_EXCEL) and (_ENCRYPTED in start or _ENCRYPTED in file.read(_BLOCK)):
            raise DataError(f"{path} is protected by a password.", "Save it without one.")
    if start.startswith(_OLD_EXCEL):
        raise DataError(f"{path} has the format of Excel before 2007 (.xls).", "Save it as .xlsx.")
    try:
        with zipfile.ZipFile(path) as archive:
            names, unpacked = set(archive.namelist()), sum(part.file_size for part in archive.infolist())
    except DAMAGED as error:
        raise DataError(
            f"{path} is not an Excel workbook, or is damaged: {str(error).rstrip('.')}.", "Save it as .xlsx again."
        ) from None
    if _MAIN not in names or names.intersection(_OTHER_FORMATS):
        raise DataError(f"{path} is a zip archive but not an Excel workbook.", "Save the table as .xlsx.")
    if unpacked > MOST_UNPACKED:
        raise DataError(
            f"{path} unpacks to {unpacked:,} bytes; at most {MOST_UNPACKED:,} are read.", "Save the table as CSV."
        )


class _SheetScan:
    """Finds the cells of a sheet that hold errors, which python-calamine reads as empty, and checks its size.

    The size is that of the used area, and of the texts: python-calamine copies a text that many cells share to each.
    """

    def __init__(self, path: Path, sheet: str) -> None:
        self.path, self.sheet = path, sheet
        self.row = self.column = self.rows = self.columns = 0
        self.errors: dict[tuple[int, int], str] = {}
        self.kind, self.value, self.in_value, self.characters = "", "", False, 0
        self.shared: list[int] = []

    def error_cells(self, archive: zipfile.ZipFile) -> dict[tuple[int, int], str]:
        """Return the errors, such as `#DIV/0!`, by row and column, counted from 1."""
        self.shared = _lengths_of_shared_texts(archive)
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        with archive.open(self._part(archive)) as stream:
            parser.ParseFile(stream)
        return self.errors

    def _part(self, archive: zipfile.ZipFile) -> str:
        """Return the name of the sheet's part of the archive; KeyError if there is none."""
        sheets = ElementTree.fromstring(archive.read(_MAIN)).iter()
        attributes = next(
            sheet.attrib for sheet in sheets if sheet.get("name") == self.sheet and "sheetId" in sheet.attrib
        )
        relation = next(value for key, value in attributes.items() if key.endswith("}id"))
        relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
        targets = {each.get("Id"): each.get("Target", "") for each in relations}
        part = posixpath.join("/xl", targets[relation]).removeprefix("/")
        return {name.casefold(): name for name in archive.namelist()}[part.casefold()]

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "row":
            self.row, self.column = int(attributes.get("r", self.row + 1)), 0
        elif name == "c":
            place = attributes.get("r", "")
            letters = place.rstrip("0123456789")
            self.column = _number(letters) if letters else self.column + 1
            self.row = int(place[len(letters) :] or self.row)
            self.kind = attributes.get("t", "")
        elif name in ("v", "is"):
            self.in_value, self.value = name == "v", ""
            self.rows, self.columns = max(self.rows, self.row), max(self.columns, self.column)
            if self.rows * self.columns > MOST_CELLS:
                raise DataError(
                    f"{self.path}: the used area of the sheet {self.sheet!r} has {self.rows:,} rows and "
                    f"{self.columns:,} columns; at most {MOST_CELLS:,} cells are read.",
                    "Delete cells far away from the table, or save the table as CSV.",
                )

    def _end(self, tag: str) -> None:
        if not self.in_value or tag.rpartition(":")[2] != "v":
            return
        self.in_value = False
        if self.kind == "e":
            self.errors[self.row, self.column] = self.value
        elif self.kind == "s" and self.value.isdecimal() and int(self.value) < len(self.shared):
            self.characters += self.shared[int(self.value)]
            if self.characters > MOST_UNPACKED:
                raise DataError(
                    f"{self.path}: the texts of the sheet {self.sheet!r} have more than {MOST_UNPACKED:,} characters.",
                    "Divide the table, or save it as CSV.",
                )

    def _text(self, text: str) -> None:
        if self.in_value:
            self.value += text


def _lengths_of_shared_texts(archive: zipfile.ZipFile) -> list[int]:
    """Return the number of characters of each text that cells refer to by its number."""
    part = {name.casefold(): name for name in archive.namelist()}.get("xl/sharedstrings.xml")
    lengths: list[int] = []
    if part is None:
        return lengths

    def start(tag: str, _attributes: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "si":
            lengths.append(0)

    def text(content: str) -> None:
        if lengths:
            lengths[-1] += len(content)

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.CharacterDataHandler = start, text
    with archive.open(part) as stream:
        parser.ParseFile(stream)
    return lengths


def _number(letters: str) -> int:
    """Return the number of a column, counted from 1: 28 for `AB`."""
    number = 0
    for letter in letters[:4]:
        number = number * 26 + ord(letter.upper()) - 64
    return number
