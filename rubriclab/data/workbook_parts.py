"""Checks, by reading it as a stream, whether an Excel workbook fits into memory when it is unpacked.

A workbook is a zip archive of XML. A small file can unpack to any size, use two cells a million rows apart, so that all
cells between them are held in memory, or repeat a long text in every cell.
"""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.parsers import expat

from rubriclab.errors import DataError

# Bytes of all unpacked parts, and characters of all texts, counting repetitions.
MOST_UNPACKED = 2**29
# Cells of a sheet up to the last used row and column, including empty ones.
MOST_CELLS = 5_000_000
_BLOCK = 2**20
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_MAIN = "xl/workbook.xml"
_RELATIONS = "xl/_rels/workbook.xml.rels"
# Parts of other formats in a zip archive, which are not checked here.
_OTHER_FORMATS = ("xl/workbook.bin", "content.xml")


# The row and column of a cell, counted from 1.
Place = tuple[int, int]


def check_parts(path: Path) -> dict[str, dict[Place, str]]:
    """Check that a file is an Excel workbook that fits into memory when it is unpacked, and return its error cells.

    These are cells such as `#DIV/0!`, by sheet, row and column.

    Raises:
        DataError: if it has another format, is damaged or protected by a password, or is too large.
    """
    with path.open("rb") as file:
        if file.read(len(_OLD_EXCEL)) == _OLD_EXCEL:
            raise _old_excel(path, file)
    try:
        with zipfile.ZipFile(path) as archive:
            return _check(path, archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, expat.ExpatError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        message = f"{path} is not an Excel workbook, or is damaged: {reason}."
        raise DataError(message, "Save it as .xlsx again.") from None


def _old_excel(path: Path, file: IO[bytes]) -> DataError:
    start = file.read(_BLOCK)
    file.seek(max(0, path.stat().st_size - _BLOCK))
    if _ENCRYPTED in start or _ENCRYPTED in file.read(_BLOCK):
        return DataError(f"{path} is protected by a password.", "Save it without one.")
    return DataError(f"{path} has the format of Excel before 2007 (.xls).", "Save it as .xlsx.")


def _check(path: Path, archive: zipfile.ZipFile) -> dict[str, dict[Place, str]]:
    names = set(archive.namelist())
    if _MAIN not in names or names.intersection(_OTHER_FORMATS):
        raise DataError(f"{path} is a zip archive but not an Excel workbook.", "Save the table as .xlsx.")
    unpacked = sum(part.file_size for part in archive.infolist())
    if unpacked > MOST_UNPACKED:
        raise DataError(
            f"{path} unpacks to {unpacked:,} bytes; at most {MOST_UNPACKED:,} are read.", "Save the table as CSV."
        )
    contents = _Contents(path)
    for part in archive.infolist():
        with archive.open(part) as stream:
            contents.read(part.filename, stream)
    contents.check_texts()
    return contents.error_cells()


class _Contents:
    """The used area and error cells of each sheet of a workbook, and how often each shared text is used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lengths: list[int] = []
        self.uses: Counter[int] = Counter()
        self.errors: dict[str, dict[Place, str]] = {}
        self.sheets: dict[str, str] = {}
        self.targets: dict[str, str] = {}

    def read(self, name: str, stream: IO[bytes]) -> None:
        """Read a part to its end, which also checks its length against the archive's directory."""
        blocks = _blocks(stream)
        first = next(blocks, b"")
        if b"<" not in first[:8]:
            for _ in blocks:
                pass
            return
        part = _Part(self, name)
        part.parse(first, blocks)

    def error_cells(self) -> dict[str, dict[Place, str]]:
        """Return the error cells by the names of the sheets."""
        parts = {name: self.targets.get(relation, "").rpartition("/")[2] for name, relation in self.sheets.items()}
        by_file = {part.rpartition("/")[2]: cells for part, cells in self.errors.items()}
        return {name: by_file[file] for name, file in parts.items() if file in by_file}

    def check_texts(self) -> None:
        """Check that the texts fit into memory when every cell has its own copy."""
        characters = sum(self.lengths[text] * count for text, count in self.uses.items() if text < len(self.lengths))
        if characters > MOST_UNPACKED:
            raise DataError(
                f"{self.path}: the texts of its cells have {characters:,} characters; at most {MOST_UNPACKED:,} are "
                "read.",
                "Save the table as CSV.",
            )


class _Part:
    """The parser of one part of a workbook."""

    def __init__(self, contents: _Contents, name: str) -> None:
        self.contents, self.name = contents, name
        self.row = self.column = self.rows = self.columns = 0
        self.shared = self.is_error = self.in_value = self.in_shared_text = False
        self.value = ""

    def parse(self, first: bytes, rest: Iterator[bytes]) -> None:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.Parse(first, False)
        for block in rest:
            parser.Parse(block, False)
        parser.Parse(b"", True)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "c":
            self._cell(attributes.get("r", ""))
            self.shared, self.is_error = attributes.get("t") == "s", attributes.get("t") == "e"
        elif name in ("v", "is"):
            self.in_value, self.value = name == "v", ""
            self.rows, self.columns = max(self.rows, self.row), max(self.columns, self.column)
            self._check_area()
        elif name == "row":
            written = attributes.get("r", "")
            self.row, self.column = int(written) if written.isdecimal() else self.row + 1, 0
        elif name == "si":
            self.in_shared_text = True
            self.contents.lengths.append(0)
        elif name == "sheet" and self.name == _MAIN:
            relation = next((value for key, value in attributes.items() if key.endswith(":id")), "")
            self.contents.sheets[attributes.get("name", "")] = relation
        elif name == "Relationship" and self.name == _RELATIONS:
            self.contents.targets[attributes.get("Id", "")] = attributes.get("Target", "")

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name == "v":
            if self.shared and self.value.strip().isdecimal():
                self.contents.uses[int(self.value)] += 1
            if self.is_error:
                self.contents.errors.setdefault(self.name, {})[self.row, self.column] = self.value
            self.in_value = False
        elif name == "si":
            self.in_shared_text = False

    def _text(self, text: str) -> None:
        if self.in_shared_text:
            self.contents.lengths[-1] += len(text)
        elif self.in_value and len(self.value) < 20:
            self.value += text

    def _cell(self, place: str) -> None:
        """Move to the cell at `place`, such as `B7`, or to the next cell if it is empty."""
        letters = place.rstrip("0123456789")
        row = place[len(letters) :]
        self.column = _number(letters) if letters else self.column + 1
        self.row = int(row) if row else self.row

    def _check_area(self) -> None:
        if self.rows * self.columns > MOST_CELLS:
            raise DataError(
                f"{self.contents.path}: the used area of {self.name} has {self.rows:,} rows and {self.columns:,} "
                f"columns; at most {MOST_CELLS:,} cells are read.",
                "Delete cells far away from the table, or save the table as CSV.",
            )

    def _refuse_doctype(self, *_declaration: object) -> None:
        raise DataError(f"{self.contents.path}: {self.name} declares a document type.", "Save it as .xlsx again.")


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: stream.read(_BLOCK), b"")


def _number(letters: str) -> int:
    """Return the number of a column, counted from 1: 28 for `AB`."""
    number = 0
    for letter in letters[:4]:
        number = number * 26 + ord(letter.upper()) - 64
    return number
