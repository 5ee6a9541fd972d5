"""No text in a table acts as a formula, and every text is read back as it was."""

from __future__ import annotations

import csv
import io
import re
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet
import pytest
from hypothesis import given, settings, strategies as st
from python_calamine import CalamineWorkbook

from rubriclab.data.readers import read
from rubriclab.data.write import FORMATS, csv_text, escape_cell, partial_path, replace_file, unescape_cell, write_rows
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.text import Example

SPREADSHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
BEGINNINGS = ("", " ", "\u00a0", "\u200b", "\ufeff", "\U000e0041")
RUNS = [*(f"{before}{sign}1+1" for before in BEGINNINGS for sign in "=+-@＝＋－＠"), "\tx", "\rx", "'=1+1", "''=1"]
TEXTS = st.one_of(
    st.text(alphabet=st.sampled_from("=+-@'; \t\r\n\u200b＝a1"), max_size=12),
    st.text(alphabet=st.characters(exclude_categories=["Cs"])),
)
MARKUP = st.lists(st.sampled_from(["<r>", "</r>", "<t>", "</t>", "<f>1+1</f>", "</c>", "&lt;", "_x0041_", "\x01", " "]))


@pytest.mark.parametrize("text", RUNS)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_text_that_a_spreadsheet_would_run_is_preceded_by_an_apostrophe(text: str, delimiter: str) -> None:
    assert escape_cell(text, delimiter).startswith("'")
    assert escape_cell(text, "\t") == f"'{text}"


@pytest.mark.parametrize("cell", ["plain", "1.5", "-1.5", "+3", "-1,5", "a - b", "x=1", "it's", "'quoted'", ""])
def test_numbers_and_other_texts_stay_as_they_are(cell: str) -> None:
    assert escape_cell(cell) == cell


@given(TEXTS, st.sampled_from([",", ";", "\t"]))
def test_reading_restores_every_text(text: str, delimiter: str) -> None:
    assert unescape_cell(escape_cell(text, delimiter), delimiter) == text


@given(TEXTS)
def test_no_cell_begins_a_formula_also_where_a_file_with_commas_is_divided_at_semicolons(text: str) -> None:
    content = csv_text([["before", text, "after"]])
    (row,) = csv.reader(io.StringIO(content, newline=""))
    assert escape_cell(row[1], "\t") == row[1] or row[1].startswith("'")
    for piece in content.split(";")[1:]:
        line = piece.splitlines()[0] if piece else ""
        assert escape_cell(line.lstrip('"'), "\t") == line.lstrip('"') or line.lstrip('" ')[:1] in ("'", "\t", "")


@settings(deadline=None, max_examples=50)
@given(st.lists(TEXTS, min_size=1, max_size=5), MARKUP)
def test_a_workbook_holds_the_texts_and_no_formula(texts: list[str], markup: list[str]) -> None:
    kept = [text for text in (*texts, f"<r>{''.join(markup)}</r>", "=1+1", "{=1}", "https://a.b/c") if text]
    with tempfile.TemporaryDirectory() as folder:
        write_rows([{"text": text} for text in kept], Path(folder) / "table.xlsx")
        with zipfile.ZipFile(Path(folder) / "table.xlsx") as book:
            sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    assert [pane.get("ySplit") for pane in sheet.iter(f"{SPREADSHEET}pane")] == ["1"]
    cells = list(sheet.iter(f"{SPREADSHEET}c"))
    tags = {element.tag for cell in cells for element in cell.iter()}
    assert tags <= {f"{SPREADSHEET}{name}" for name in ("c", "is", "r", "t")}
    written = ["".join(part.text or "" for part in cell.iter(f"{SPREADSHEET}t")) for cell in cells]
    assert [restored(text) for text in written] == ["text", *kept]


def restored(text: str) -> str:
    """Return a text in which `_x0009_` and the like stand for characters, as the format says."""
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), text)


@pytest.mark.parametrize(
    "text", ["<r>\x01 _x0041_ &amp; </r>", f"<r>{'&' * 32_000}</r>", f"<r>{'😀' * 16_000}</r>", "😀" * 16_383], ids=len
)
def test_a_text_is_read_back_from_a_workbook_as_it_was(tmp_path: Path, text: str) -> None:
    write_rows([{"text": text}], tmp_path / "table.xlsx")
    sheet = CalamineWorkbook.from_path(str(tmp_path / "table.xlsx")).get_sheet_by_index(0)
    assert sheet.to_python()[1:] == [[text]]


def test_a_text_that_is_too_long_for_a_cell_is_refused_and_never_cut(tmp_path: Path) -> None:
    long = "😀" * 16_384
    for text in (long, f"<r>{long}</r>"):
        with pytest.raises(DataError, match=r"row 2, column 'text' has 32,7\d\d UTF-16 units.*32,767"):
            write_rows([{"text": text}], tmp_path / "long.xlsx")


NAMES = ("t.csv.gz", "t.jsonl", *(f"t{each.ending}" for each in FORMATS))
# Characters that XML and Excel hold as they are.
CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Co", "Cn"], exclude_characters="_")
PLAIN_TEXTS = st.text(CHARACTERS, min_size=1, max_size=10) | st.sampled_from(
    ["=1+1", "+49 30", "-5 degrees", "@name", "'=x", "''-x", "- a list\n- of items", "-5", "1e5", "007"]
)


@settings(deadline=None, max_examples=40)
@given(st.lists(PLAIN_TEXTS.filter(lambda text: bool(text.strip())), min_size=1, max_size=4), st.sampled_from(NAMES))
def test_texts_ids_and_scores_read_back_from_every_format(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], name: str
) -> None:
    path = tmp_path_factory.mktemp("t") / name
    rows = [
        {"id": f"n{number}", "output": f"{text} x", "source": text, "scores": {"x": number / 4}, "group": "g"}
        for number, text in enumerate(texts)
    ]
    write_rows(rows, path)
    found = list(read(path))
    assert [row.output for row in found if isinstance(row, Example)] == [row["output"] for row in rows]
    assert [row.scores for row in found if isinstance(row, Example)] == [row["scores"] for row in rows]


def test_columns_of_all_rows_are_there_nested_values_as_columns_and_lists_as_json(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": {"c": "x", "d": [1, 2]}}, {"e": True, "a": 2.5}, {"a": None}]
    write_rows(rows, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text("utf-8") == 'a,b.c,b.d,e\n1,x,"[1,2]",\n2.5,,,True\n,,,\n'
    write_rows(rows, tmp_path / "t.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    assert [str(kind) for kind in table.schema.types] == ["double", "string", "string", "bool"]


def test_formats_and_places_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"\.xls is not a format that can be written"):
        write_rows([{"output": "x"}], tmp_path / "t.xls")
    with pytest.raises(DataError, match="cannot be written"):
        write_rows([{"output": "x"}], tmp_path / "none" / "t.csv")
    (tmp_path / "t.jsonl").write_bytes(b"SQLite format 3\0")
    with pytest.raises(SettingsError, match="database"):
        write_rows([{"output": "x"}], tmp_path / "t.jsonl")
    assert (tmp_path / "t.jsonl").read_bytes()[:6] == b"SQLite"


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "T.XLSX", "t.parquet"])
def test_an_interrupted_table_has_a_name_of_its_own_until_all_rows_are_written(tmp_path: Path, name: str) -> None:
    path, rows = tmp_path / name, [{"output": "first"}, {"output": "second"}]

    def interrupted() -> Iterator[dict[str, str]]:
        yield rows[0]
        raise KeyboardInterrupt

    write_rows(rows[1:], path)
    path.chmod(0o600)
    with pytest.raises(KeyboardInterrupt):
        write_rows(interrupted(), path)
    for place, written in ((path, rows[1:]), (partial_path(path), rows[:1])):
        assert [row.output for row in read(place) if isinstance(row, Example)] == [row["output"] for row in written]
        assert place.stat().st_mode & 0o777 == 0o600
    write_rows(rows, path)
    assert len(list(read(path))) == 2
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_with_a_second_name_is_written_in_place(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    replace_file(tmp_path / "a", "new")
    assert (tmp_path / "b").read_text() == "new"
