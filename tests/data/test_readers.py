"""Reading: where rows may come from, that it is lazy, and that nothing is lost on the way."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pandas as pd
import pytest
import xlsxwriter
from hypothesis import given, settings, strategies as st

from rubriclab.data.mapping import ABSENT, look_up
from rubriclab.data.readers import from_rows, read
from rubriclab.data.rows import RowError, drop_placeholder
from rubriclab.data.write import check_writable
from rubriclab.errors import DataError
from rubriclab.models.characters import is_blank
from rubriclab.models.text import Example

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda text: not is_blank(text)
)
BESIDE = st.none() | TEXTS.filter(drop_placeholder)
SCORES = st.floats(allow_nan=False, allow_infinity=False)
EXAMPLES = st.builds(
    Example,
    id=TEXTS,
    output=TEXTS,
    group=TEXTS,
    source=BESIDE,
    context=BESIDE,
    reference=BESIDE,
    system=st.none() | TEXTS,
    scores=st.dictionaries(TEXTS, SCORES, max_size=3),
    annotations=st.dictionaries(TEXTS, st.lists(SCORES, min_size=1, max_size=3).map(tuple), max_size=2),
)
ROWS = [
    {"id": "a", "output": "First.", "source": "S", "scores": {"coherence": 4.0}},
    {"id": "b", "output": "Second.", "source": "S", "scores": {"coherence": 2.0}},
]


def in_lines(rows):
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


@settings(deadline=None, max_examples=40)
@given(st.lists(EXAMPLES, min_size=1, max_size=5))
def test_examples_read_back_as_written(examples):
    assert list(read(io.BytesIO(in_lines(map(asdict, examples))))) == examples
    assert list(from_rows(map(asdict, examples))) == examples


@pytest.mark.parametrize("name", ["texts", "texts.txt", "texts.gz", "texts.parquet.gz", "texts.xls"])
def test_a_name_that_says_no_known_format_is_refused_with_those_that_are(tmp_path, name):
    (tmp_path / name).write_bytes(in_lines(ROWS))
    with pytest.raises(DataError, match=r"\.jsonl, \.csv, .* \.xlsx or \.parquet"):
        read(tmp_path / name)


def test_what_cannot_be_opened_is_refused_before_reading(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "missing.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(DataError, match="folder"):
        read(tmp_path / "folder.jsonl")
    (tmp_path / "secret.jsonl").write_bytes(in_lines(ROWS))
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(DataError, match="permission denied"):
        read(tmp_path / "secret.jsonl")


def test_reading_is_lazy_to_the_row():
    taken = 0

    def lines():
        nonlocal taken
        for taken in range(1, 2_001):
            yield b'{"output": "A text."}\n' if taken % 100 else b"broken\n"

    examples = faults = 0
    for row in read(lines()):
        examples += isinstance(row, Example)
        faults += isinstance(row, RowError)
        assert taken == examples + faults
    assert (examples, faults) == (1_980, 20)


def test_a_pandas_frame_gives_its_rows_with_missing_values_as_none_given():
    frame = pd.DataFrame(
        {
            "id": [1, None, 3],
            "output": ["A", "B", None],
            "source": ["S", None, np.nan],
            "scores.x": [4, np.nan, 1],
            "annotations.x": [np.array([3, 5]), None, None],
            "system": pd.array(["s", pd.NA, pd.NA], dtype="string"),
            "scores.y": pd.array([1, pd.NA, 2], dtype="Int64"),
            7: [1, 2, 3],
        }
    )
    first, second, fault = from_rows(frame, where="frame")
    assert first == Example(
        id="1",
        output="A",
        group=first.group,
        source="S",
        system="s",
        scores={"x": 4.0, "y": 1.0},
        annotations={"x": (3.0, 5.0)},
    )
    assert (second.source, second.scores, second.group) == (None, {}, second.id)
    assert str(fault) == "frame:3: field 'output': got null, expected a non-empty text"


SENTENCES = ["The ferry was late.", "The bridge was closed.", "The café was open."]
RATED: list[dict[str, Any]] = [
    {"output": text, "scores": {"tone": score}} for text, score in zip(SENTENCES, (1, 2, 4), strict=True)
]
TONES = {text: float(row["scores"]["tone"]) for text, row in zip(SENTENCES, RATED, strict=True)}
CSV = "\n".join(["output,scores.tone", *(f"{text},{score:g}" for text, score in TONES.items())])
DOCCANO = [
    {"id": n, "text": text, "label": [f"{score:g}"], "Comments": []} for n, (text, score) in enumerate(TONES.items())
]


def lines(rows: list[Any]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def means(examples: list[Example]) -> dict[str, float]:
    return {
        each.output: each.scores["tone"] if each.scores else sum(ratings) / len(ratings)
        for each in examples
        for ratings in [each.annotations.get("tone", ())]
    }


def read_all(path: Path, **options: Any) -> tuple[list[Example], list[RowError]]:
    rows = list(read(path, **options))
    return [row for row in rows if isinstance(row, Example)], [row for row in rows if isinstance(row, RowError)]


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("list.json", json.dumps(RATED), {}),
        ("indented-list.json", json.dumps(RATED, indent=2), {}),
        ("columns.json", json.dumps({"output": SENTENCES, "scores.tone": list(TONES.values())}, indent=1), {}),
        (
            "indexed-columns.json",
            json.dumps({name: {str(n): row[name] for n, row in enumerate(RATED)} for name in RATED[0]}),
            {},
        ),
        ("carriage-returns.csv", CSV.replace("\n", "\r"), {}),
        ("carriage-returns.jsonl", lines(RATED).replace("\n", "\r"), {}),
        ("doccano.jsonl", lines(DOCCANO), {"mapping": "output=text,scores.tone=label"}),
        (
            "nested-lists.jsonl",
            lines([{"output": t, "by": [{"tone": s - 1}, {"tone": s + 1}, {}]} for t, s in TONES.items()]),
            {"mapping": "annotations.tone=by[].tone"},
        ),
    ],
)
def test_a_file_of_this_kind_gives_every_text_its_score(
    name: str, content: str, options: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content.encode())
    examples, faults = read_all(tmp_path / name, **options)
    assert not faults
    assert means(examples) == TONES


@pytest.mark.parametrize("name", ["damaged.csv", "damaged.jsonl", "damaged.json"])
def test_one_wrong_byte_in_a_utf_8_file_is_a_fault_of_its_row_alone(name: str, tmp_path: Path) -> None:
    written = json.dumps(RATED, ensure_ascii=False)
    contents = {"damaged.csv": CSV, "damaged.jsonl": lines(RATED), "damaged.json": written}
    (tmp_path / name).write_bytes(contents[name].encode().replace(b"ferry", b"f\xe9rry"))
    examples, (fault,) = read_all(tmp_path / name)
    assert fault.line == (2 if name == "damaged.csv" else 1)
    assert "bytes that are not UTF-8" in fault.got
    assert [each.output for each in examples] == SENTENCES[1:]
    rows = read(tmp_path / name, skip_faulty=True)
    assert (len(list(rows)), rows.skipped) == (2, 1)


def test_a_damaged_document_is_refused_with_its_place(tmp_path: Path) -> None:
    for document in (RATED, {"output": SENTENCES}):
        (tmp_path / "cut.json").write_text(json.dumps(document, indent=1)[:-9], "utf-8")
        with pytest.raises(DataError, match=r"one JSON document that ends early or is damaged: .*, in line \d+"):
            read(tmp_path / "cut.json")


@pytest.mark.parametrize(
    ("row", "path", "found"),
    [
        ({"a": [{"b": 1}, {"b": None}, {}, {"b": 2}]}, "a[].b", [1, 2]),
        ({"a": {"b": [1, None, 2]}}, "a.b[]", [1, 2]),
        ({"a": None}, "a[].b", None),
        ({"a": "text"}, "a[].b", ABSENT),
        ({"a[].b": 5, "a": []}, "a[].b", 5),
    ],
)
def test_a_path_through_a_list_gives_the_values_of_its_elements(row: dict[str, Any], path: str, found: Any) -> None:
    assert look_up(row, path) == found


def sheet(path: Path, hide: Callable[[Any, Any], object]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        lists, ratings = book.add_worksheet("lists"), book.add_worksheet("Ratings")
        lists.write_row(0, 0, ["Good", "Bad"])
        for place, row in enumerate([("output", "note", "scores.tone"), *((t, "n", s) for t, s in TONES.items())]):
            ratings.write_row(place, 0, row)
        ratings.activate()
        hide(lists, ratings)
    return path


@pytest.mark.parametrize(
    ("hide", "said", "columns"),
    [
        (lambda _, sheet: sheet.set_row(2, None, None, {"hidden": True}), "hidden rows read (see `skip_hidden`): 3", 3),
        (
            lambda _, sheet: sheet.set_column(1, 1, None, None, {"hidden": True}),
            "hidden columns read (see `skip_hidden`): 'note'",
            2,
        ),
    ],
)
def test_hidden_rows_and_columns_are_named_and_left_out_if_wanted(
    hide: Callable[[Any, Any], object], said: str, columns: int, tmp_path: Path
) -> None:
    file = sheet(tmp_path / "t.xlsx", hide)
    rows = read(file, sheet="Ratings")
    assert means([row for row in rows if isinstance(row, Example)]) == TONES
    assert said in str(rows.source.note())
    shown = read(file, sheet="Ratings", skip_hidden=True)
    texts = [row.output for row in shown if isinstance(row, Example)]
    assert texts == (SENTENCES if columns == 2 else [SENTENCES[0], SENTENCES[2]])
    assert len(shown.raw_row) == columns
    assert "left out" in str(shown.source.note())


def test_a_form_with_a_column_for_each_text_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "form.csv").write_text("Timestamp,How good? [A text.],How good? [Another.]\n2024-05-01,4,2\n", "utf-8")
    with pytest.raises(DataError, match=r"form's questions.*write a row for each rating"):
        read_all(tmp_path / "form.csv")


def packed(path: Path, sheet: str) -> Path:
    xlsxwriter.Workbook(path.with_suffix(".template")).close()
    with zipfile.ZipFile(path.with_suffix(".template")) as template, zipfile.ZipFile(path, "w") as archive:
        for name in template.namelist():
            archive.writestr(name, sheet if name == "xl/worksheets/sheet1.xml" else template.read(name))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as refused:
        list(read(path))
    return str(refused.value)


def test_blank_cells_beyond_the_header_are_ignored_and_other_texts_need_quotation_marks(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("output;x\nFine, yes;3;; \nSo, so;4;;\nIt is; I think, well;4\n")
    examples, faults = read_all(tmp_path / "t.csv")
    assert [example.output for example in examples] == ["Fine, yes", "So, so"]
    assert "put texts with ';' in quotation marks" in faults[0].expected


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubriclab.data.binary_files.MAX_UNPACKED_BYTES", 2**24)
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        with archive.open("xl/worksheets/sheet1.xml", "w") as part:
            for _ in range(20):
                part.write(b" " * 2**20)
    assert path.stat().st_size < 1_000_000
    assert "unpacks to 20,971," in refusal(path)


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


def test_other_archives_and_damaged_sheets_are_no_workbooks(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        archive.writestr("texts.csv", "id,output\n1,A\n")
    assert "a zip archive but not an Excel workbook" in refusal(tmp_path / "t.xlsx")
    assert "cannot be read" in refusal(packed(tmp_path / "u.xlsx", "<worksheet><row"))
