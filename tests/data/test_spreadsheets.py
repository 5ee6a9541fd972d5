"""Spreadsheets as people export them: delimiters, encodings, decimal commas, words for levels, workbooks."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import given, settings, strategies as st

from rubriclab.data.check import fault_hints
from rubriclab.data.readers import read
from rubriclab.data.rows import RowError
from rubriclab.data.text_files import detect_encoding
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.text import Example

# Written by hand as Excel saves "CSV (delimited)" on a German Windows.
GERMAN = (
    "Nr;Gruppe;Zusammenfassung;Kohärenz;Bemerkung\r\n"
    '1;A;"Größe; Maß – „gut“";3,5;5 € wären schön\r\n'
    "2;A;Äpfel, Öl und Übung;4;\r\n"
    '3;B;"Zwei Zeilen\r\nin einer Zelle";2,25;k.A.\r\n'
)
MAPPING = "id=Nr,group=Gruppe,output=Zusammenfassung,scores.coherence=Kohärenz"


def written(path: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def texts(path: Path, **options: Any) -> list[Example]:
    rows = list(read(path, **options))
    assert all(isinstance(row, Example) for row in rows), rows
    return [row for row in rows if isinstance(row, Example)]


@pytest.mark.parametrize(
    ("encoding", "name"), [("cp1252", "Windows-1252"), ("utf-8", None), ("utf-8-sig", None), ("utf-16", "UTF-16")]
)
def test_a_german_excel_export_is_read_in_any_encoding_with_a_note(
    tmp_path: Path, encoding: str, name: str | None
) -> None:
    path = written(tmp_path / "umfrage.csv", GERMAN, encoding)
    rows = read(path, mapping=MAPPING)
    found = [row for row in rows if isinstance(row, Example)]
    outputs = ["Größe; Maß – „gut“", "Äpfel, Öl und Übung", "Zwei Zeilen\r\nin einer Zelle"]
    assert [row.output for row in found] == outputs
    assert [row.scores["coherence"] for row in found] == [3.5, 4, 2.25]
    assert [row.group for row in found] == ["A", "A", "B"]
    assert rows.source.encoding_name == (name or "UTF-8")
    note = str(rows.source.note())
    assert "separated by semicolon" in note
    assert "decimal comma" in note
    assert (name is None) == ("encoding" not in note.replace("(encoding", "("))


def test_what_is_neither_utf_8_nor_western_european_text_needs_its_encoding(tmp_path: Path) -> None:
    assert detect_encoding("f", "Größe – 5 €".encode("cp1252"), is_complete=True) == "cp1252"
    assert detect_encoding("f", "Größe".encode() + b"\xff", is_complete=True) == "utf-8"
    assert detect_encoding("f", "Größ".encode()[:-1], is_complete=False) == "utf-8"
    russian = written(tmp_path / "r.csv", "output\nПривет мир\n", "cp1251")
    with pytest.raises(DataError, match='Name its encoding, such as `encoding="cp1251"`'):
        read(russian)
    assert texts(russian, encoding="cp1251")[0].output == "Привет мир"


# What begins a character in UTF-8 is left out: two accents in a row can be valid UTF-8 by chance.
CHARACTERS = bytes([*range(0x20, 0x7F), *range(0x80, 0xC2), *range(0xF5, 0x100)]).decode("cp1252", "ignore")
CELLS = st.text(CHARACTERS, min_size=1, max_size=12).filter(str.strip)
# At least one accent, so that the encoding matters, among enough plain letters to be Western European.
ROW = st.tuples(CELLS.map(lambda cell: f"plain words é {cell}"), st.integers(-500, 500).map(lambda n: n / 4))


@settings(deadline=None, max_examples=30)
@given(
    st.lists(ROW, min_size=1, max_size=5),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    st.booleans(),
)
def test_tables_read_back_through_every_delimiter_encoding_and_decimal_mark(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float]], mark: str, encoding: str, comma: bool
) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=mark)
    writer.writerow(["id", "output", "scores.x"])
    for number, (text, score) in enumerate(rows):
        # One score with a decimal mark shows which it is, unless it could be a thousand.
        shown = f"{score + 0.0625:.4f}" if number == 0 else f"{score:.2f}"
        writer.writerow([number, text, shown.replace(".", ",") if comma else shown])
    path = written(tmp_path_factory.mktemp("t") / "t.csv", out.getvalue(), encoding)
    found = texts(path)
    assert [row.output for row in found] == [text for text, _ in rows]
    assert [row.scores["x"] for row in found[1:]] == [score for _, score in rows[1:]]
    assert found[0].scores["x"] == rows[0][1] + 0.0625


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("id;output;scores.x\n1;Eins, zwei, drei;3,5\n", ";"),
        ("id,output\n1,a;b;c\n2,d;e;f\n", ","),
        ("output\nOne column, with commas, unquoted\n", ","),
        ('id\toutput\n1\t"a, b; c | d"\n', "\t"),
        ("id;output;scores.x\n" + "".join(f"{i};Two, or, three;{i}\n" for i in range(20)), ";"),
        ("sep=|\nid|output\n1|A;B;C\n", "|"),
        ("id|output\n1|A text.\n", "|"),
    ],
)
def test_the_delimiter_gives_all_records_the_same_number_of_cells(tmp_path: Path, content: str, delimiter: str) -> None:
    assert read(written(tmp_path / "t.csv", content)).source.delimiter == delimiter


def test_a_named_delimiter_encoding_and_decimal_mark_are_not_guessed(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "id~output~annotations.x\n1~A~4,5\n")
    assert texts(path, delimiter="~")[0].annotations == {"x": (4, 5)}
    assert texts(path, delimiter="~", decimal="comma")[0].annotations == {"x": (4.5,)}
    for values in ({"delimiter": "ab"}, {"encoding": "klingon"}, {"header_rows": 0}, {"level_scores": "good"}):
        with pytest.raises(SettingsError, match=next(iter(values))):
            read(path, **values)
    with pytest.raises(SettingsError, match=r"`sheet` does not apply to .*t\.csv"):
        read(path, sheet=2)
    with pytest.raises(DataError, match="the header has no ',' but ';'; leave `delimiter` out"):
        read(written(tmp_path / "t.csv", "id;output\n1;A, b\n2;C, d\n"), delimiter=",")


LIKERT = "strongly disagree=1,disagree=2,neither agree nor disagree=3,agree=4,strongly agree=5"


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("Agree; strongly agree", (4, 5)),
        ("[strongly agree, 3]", (5, 3)),
        ("agree disagree", (4, 2)),
        ("4 n/a agree", (4, 4)),
        ("4;5 3", (4, 5, 3)),
    ],
)
def test_lists_have_words_for_levels_numbers_and_missing_values(
    tmp_path: Path, cell: str, expected: tuple[float, ...]
) -> None:
    content = f'output,annotations.q\nA,"{cell}"\n'
    (row,) = texts(written(tmp_path / "t.csv", content), level_scores=LIKERT, missing="n/a")
    assert row.annotations == {"q": expected}


def test_several_header_rows_are_joined_and_empty_cells_repeat_the_one_before(tmp_path: Path) -> None:
    content = "id,output,annotations.x,\n,,anna,ben\n1,A,4,5\n"
    (row,) = texts(written(tmp_path / "t.csv", content), header_rows=2)
    assert row.annotations == {"x": (4, 5)}
    assert row.raters == {"x": ("anna", "ben")}


def test_a_workbook_is_read_with_merged_cells_numbers_as_text_and_row_numbers_of_excel(tmp_path: Path) -> None:
    path = tmp_path / "ratings.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("Notes").write(0, 0, "nothing here")
        sheet = book.add_worksheet("Ratings")
        sheet.write_row(0, 0, ["group", "output", "scores.x", ""])
        sheet.merge_range(1, 0, 2, 0, "g1")
        sheet.write_row(1, 1, ["one", 4, "unnamed"])
        sheet.write_row(2, 1, ["two", "3,5"])
        sheet.write_row(4, 1, ["three", "=1+1"])
        sheet.write_datetime(5, 2, date(2024, 5, 3), book.add_format({"num_format": "d mmm"}))
        sheet.write(5, 1, "four")
    rows = read(path, sheet="Ratings")
    one, two, three, four = rows
    assert isinstance(one, Example)
    assert isinstance(two, Example)
    assert (one.group, two.group, one.scores, two.scores) == ("g1", "g1", {"x": 4}, {"x": 3.5})
    assert isinstance(three, Example)
    assert isinstance(four, RowError)
    assert str(four).endswith(
        "ratings.xlsx:6: field 'scores.x': got the date 2024-05-03 (a spreadsheet may have made it from a number, "
        "such as 3.5), expected a finite number"
    )
    assert "sheet 'Ratings' of 2" in str(rows.source.note())
    assert "1 merged cells" in str(rows.source.note())
    assert len(list(read(path, sheet=2))) == 4
    with pytest.raises(SettingsError, match="'Notes', 'Ratings'"):
        read(path, sheet=3)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_title_above_the_header_is_named_and_can_be_skipped(tmp_path: Path, kind: str) -> None:
    rows: list[list[Any]] = [["id", "output", "scores.x"], *([n, f"Text {n}", n % 5] for n in range(9))]
    if kind == "xlsx":
        path = tmp_path / "t.xlsx"
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            sheet.merge_range("A1:C1", "Ratings of the third quarter")
            for number, row in enumerate(rows, start=2):
                sheet.write_row(number, 0, row)
    else:
        content = "\n".join(["Ratings of the third quarter", "", *(";".join(map(str, row)) for row in rows)])
        path = written(tmp_path / "t.csv", content)
    with pytest.raises(DataError, match="row 3 looks like the header") as error:
        texts(path)
    assert "skip_rows=2" in str(error.value)
    assert ("If row 1 is the header, put texts with ';' in quotation marks." in str(error.value)) == (kind == "csv")
    found = texts(path, skip_rows=2)
    assert [(each.id, each.scores["x"]) for each in found] == [(str(n), n % 5) for n in range(9)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("output;Anna\na;1,5\nb;4\nc;\n", [(1.5,), (4,), None]),
        ('output,Anna\na,"1,5"\nb,"4,3"\n', [(1, 5), (4, 3)]),
        ("output;Anna\na;1,5,2\nb;4,3,1\n", [(1, 5, 2), (4, 3, 1)]),
    ],
    ids=["semicolons", "two raters", "three raters"],
)
def test_a_decimal_comma_in_a_column_of_annotations_is_not_read_as_two_raters(
    tmp_path: Path, content: str, expected: list[tuple[float, ...] | None]
) -> None:
    path = written(tmp_path / "t.csv", content)
    found = texts(path, mapping="annotations.quality=Anna")
    assert [each.annotations.get("quality") for each in found] == expected
    decimals = expected[0] == (1.5,)
    assert ("decimal comma" in str(read(path, mapping="annotations.quality=Anna").source.note())) == decimals


def scores_of(path: Path, **options: Any) -> list[float]:
    return [each.scores["x"] for each in texts(path, **options)]


@pytest.mark.parametrize(
    ("mark", "cells", "expected"),
    [
        (",", ['"1,250"', '"1,250,000"'], [1250, 1250000]),
        (";", ["1.250", "1.250.000", "3,5"], [1250, 1250000, 3.5]),
        (",", ['"1,250"', '"1,250.5"'], [1250, 1250.5]),
        (",", ['"1,250"', "3.5"], [1250, 3.5]),
        (",", ["3.667", "4", "2"], [3.667, 4, 2]),
        (";", ["3,667", "4", "2"], [3.667, 4, 2]),
        (",", ["3.667", "4.333"], [3.667, 4.333]),
        (";", ["3,667", "0,333"], [3.667, 0.333]),
        (";", ["3,667", "4", "5", "999"], [3.667, 4, 5, 999]),
    ],
)
def test_other_scores_show_whether_a_score_is_a_decimal_or_a_thousand(
    tmp_path: Path, mark: str, cells: list[str], expected: list[float]
) -> None:
    lines = [f"output{mark}scores.x", *(f"Text {n}{mark}{cell}" for n, cell in enumerate(cells))]
    assert scores_of(written(tmp_path / "t.csv", "\n".join(lines))) == expected


@pytest.mark.parametrize(
    ("mark", "cells"),
    [(",", ['"1,250"', '"1,100"']), (";", ["1.250", "900"]), (",", ['"1,250"', "4"]), ("\t", ["1,250", "1.100"])],
)
def test_a_score_that_may_be_a_decimal_or_a_thousand_is_an_error_if_nothing_decides(
    tmp_path: Path, mark: str, cells: list[str]
) -> None:
    lines = [f"output{mark}rating", *(f"Text {n}{mark}{cell}" for n, cell in enumerate(cells))]
    path = written(tmp_path / "t.csv", "\n".join(lines))
    mapping = "scores.x=rating"
    with pytest.raises(DataError) as caught:
        read(path, mapping=mapping)
    named = ("column 'rating'", "1250 with", "1.25 with", '`decimal="point"` or `decimal="comma"`')
    assert all(said in str(caught.value) for said in (":2: the score '1", *named))
    first = {decimal: scores_of(path, mapping=mapping, decimal=decimal)[0] for decimal in ("point", "comma")}
    comma = "," in cells[0]
    assert first == {"point": 1250 if comma else 1.25, "comma": 1.25 if comma else 1250}


def test_a_formula_without_a_stored_result_is_a_fault_and_an_empty_result_is_none(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["output", "source", "scores.x"])
        for number, result in enumerate(("", 4), start=1):
            sheet.write_row(number, 0, [f"Text {number}"])
            sheet.write_formula(number, 2, "=1+3", None, result)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    part = "xl/worksheets/sheet1.xml"
    empty = b"><f>1+3</f><v></v>"
    assert parts[part].count(empty) == 1

    def rows_with(element: bytes) -> list[Example | RowError]:
        changed = parts[part].replace(empty, element)
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in parts.items():
                archive.writestr(name, changed if name == part else content)
        return list(read(path))

    for element in (b"><f>1+3</f>", b"><f>1+3</f><v/>", empty):
        fault, stored = rows_with(element)
        assert isinstance(fault, RowError)
        assert (fault.line, fault.field) == (2, "scores.x")
        assert "without a stored result" in fault.got
        (hint,) = fault_hints([fault])
        assert "open the workbook in a spreadsheet program and save it" in hint
        assert isinstance(stored, Example)
        assert stored.scores == {"x": 4}
    assert all(isinstance(row, Example) for row in rows_with(b' t="str"' + empty))
