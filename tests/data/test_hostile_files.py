"""Files made to exhaust memory or to mislead: each is refused with what is wrong, and quickly."""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

import pytest
import xlsxwriter

from rubriclab.data.readers import read
from rubriclab.data.write import check_writable
from rubriclab.errors import DataError


def packed(path: Path, sheet: str) -> Path:
    """Write a workbook whose only sheet has this content."""
    xlsxwriter.Workbook(path.with_suffix(".template")).close()
    with zipfile.ZipFile(path.with_suffix(".template")) as template, zipfile.ZipFile(path, "w") as archive:
        for name in template.namelist():
            archive.writestr(name, sheet if name == "xl/worksheets/sheet1.xml" else template.read(name))
    return path


def refusal(path: Path) -> str:
    """Return the message that a file is refused with."""
    with pytest.raises(DataError) as refused:
        list(read(path))
    return str(refused.value)


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        with archive.open("xl/worksheets/sheet1.xml", "w") as part:
            for _ in range(600):
                part.write(b" " * 2**20)
    assert path.stat().st_size < 10_000_000
    assert "unpacks to 629,145," in refusal(path)


@pytest.mark.parametrize(
    "cells",
    [
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        "<row r='1'><c r='XFD1'><v>1</v></c></row><row r='1048576'><c><v>1</v></c></row>",
    ],
)
def test_a_cell_far_away_does_not_make_a_table_of_billions(tmp_path: Path, cells: str) -> None:
    path = packed(tmp_path / "t.xlsx", f"<worksheet><sheetData>{cells}</sheetData></worksheet>")
    assert "1,048,576 rows and 16,384 columns; at most 5,000,000 cells" in refusal(path)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"\xd0\xcf\x11\xe0" + bytes(600) + "EncryptedPackage".encode("utf-16-le"), "protected by a password"),
        (b"\xd0\xcf\x11\xe0" + bytes(600), "before 2007"),
        (b"<html><table></table></html>", "is not an Excel workbook, or is damaged"),
        (b"id,output\n1,A\n", "is not an Excel workbook, or is damaged"),
        (b"PK\x03\x04broken", "is not an Excel workbook, or is damaged"),
        (b"", "is not an Excel workbook, or is damaged"),
    ],
)
def test_what_is_named_like_a_workbook_and_is_none_says_what_it_is(tmp_path: Path, content: bytes, match: str) -> None:
    (tmp_path / "t.xlsx").write_bytes(content)
    assert re.search(match, refusal(tmp_path / "t.xlsx"))


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.xlsx").write_bytes(b"")
    for name in ("python_calamine", "xlsxwriter"):
        monkeypatch.setitem(sys.modules, name, None)
    assert re.search(
        r"needs python-calamine; install it with: pip install 'rubriclab\[xlsx\]'", refusal(tmp_path / "t.xlsx")
    )
    with pytest.raises(DataError, match=r"pip install 'rubriclab\[xlsx\]'"):
        check_writable("scores.xlsx")


def test_other_archives_are_no_workbooks(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        archive.writestr("texts.csv", "id,output\n1,A\n")
    assert "a zip archive but not an Excel workbook" in refusal(tmp_path / "t.xlsx")
    assert "cannot be read" in refusal(packed(tmp_path / "u.xlsx", "<worksheet><row"))


def test_a_line_of_200_mb_is_refused_without_being_held(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-16"):
        path = tmp_path / f"{encoding}.csv"
        with path.open("wb") as file:
            file.write("output\n".encode(encoding))
            block = ("x" * 2**20).encode("utf-16-le" if encoding == "utf-16" else encoding)
            for _ in range(200):
                file.write(block)
        assert "line 2 has more than 64,000,000 bytes" in refusal(path)
        path.unlink()
