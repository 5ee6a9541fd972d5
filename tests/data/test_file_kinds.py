"""Files as people have them: each kind is read as it is, or refused with what to do."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rubriclab.data.mapping import ABSENT, look_up
from rubriclab.data.readers import read
from rubriclab.data.rows import RowError
from rubriclab.data.write import write_rows
from rubriclab.errors import DataError
from rubriclab.models.text import Example
from rubriclab.option_names import in_python

TEXTS = ["The ferry was late.", "The bridge was closed.", "The café was open."]
ROWS: list[dict[str, Any]] = [
    {"output": text, "scores": {"tone": score}} for text, score in zip(TEXTS, (1, 2, 4), strict=True)
]
SCORES = {text: float(row["scores"]["tone"]) for text, row in zip(TEXTS, ROWS, strict=True)}
CSV = "\n".join(["output,scores.tone", *(f"{text},{score:g}" for text, score in SCORES.items())])
ARGILLA_1 = [
    {
        "text": text,
        "tone": [
            {"user_id": "u-1", "value": score, "status": "submitted"},
            {"user_id": "u-2", "value": 5, "status": "discarded"},
        ],
        "tone-suggestion": 3,
        "tone-suggestion-metadata": {"type": "model"},
    }
    for text, score in SCORES.items()
]
DOCCANO = [
    {"id": n, "text": text, "label": [f"{score:g}"], "Comments": []} for n, (text, score) in enumerate(SCORES.items())
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
        ("list.json", json.dumps(ROWS), {}),
        ("indented-list.json", json.dumps(ROWS, indent=2), {}),
        ("columns.json", json.dumps({"output": TEXTS, "scores.tone": list(SCORES.values())}, indent=1), {}),
        (
            "indexed-columns.json",
            json.dumps({name: {str(n): row[name] for n, row in enumerate(ROWS)} for name in ROWS[0]}),
            {},
        ),
        ("carriage-returns.csv", CSV.replace("\n", "\r"), {}),
        ("carriage-returns.jsonl", lines(ROWS).replace("\n", "\r"), {}),
        ("argilla-1.jsonl", lines(ARGILLA_1), {"mapping": "output=text"}),
        ("doccano.jsonl", lines(DOCCANO), {"mapping": "output=text,scores.tone=label"}),
        (
            "nested-lists.jsonl",
            lines([{"output": t, "by": [{"tone": s - 1}, {"tone": s + 1}, {}]} for t, s in SCORES.items()]),
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
    assert means(examples) == SCORES


def test_one_indented_object_is_one_row_and_one_of_lists_on_one_line_may_be_a_ranking(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps(ROWS[0], indent=2), "utf-8")
    assert means(read_all(file)[0]) == {TEXTS[0]: 1}
    file.write_text('{"ranking": ["a", "b"]}', "utf-8")
    rows = read(file)
    assert not list(rows)
    assert len(rows.comparisons) == 1


@pytest.mark.parametrize("name", ["damaged.csv", "damaged.jsonl", "damaged.json"])
def test_one_wrong_byte_in_a_utf_8_file_is_a_fault_of_its_row_alone(name: str, tmp_path: Path) -> None:
    contents = {"damaged.csv": CSV, "damaged.jsonl": lines(ROWS), "damaged.json": json.dumps(ROWS, ensure_ascii=False)}
    (tmp_path / name).write_bytes(contents[name].encode().replace(b"ferry", b"f\xe9rry"))
    examples, (fault,) = read_all(tmp_path / name)
    assert fault.line == (2 if name == "damaged.csv" else 1)
    assert "bytes that are not UTF-8" in fault.got
    assert [each.output for each in examples] == TEXTS[1:]
    rows = read(tmp_path / name, skip_faulty=True)
    assert (len(list(rows)), rows.skipped) == (2, 1)


def test_a_damaged_document_is_refused_with_its_place(tmp_path: Path) -> None:
    for document in (ROWS, {"output": TEXTS}):
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


def test_argilla_1_in_parquet_is_read_and_a_sheet_with_such_names_is_no_export(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(ARGILLA_1), tmp_path / "t.parquet")
    examples, _ = read_all(tmp_path / "t.parquet", mapping="output=text")
    assert means(examples) == SCORES
    write_rows([{"output": text, "tone": None, "tone-suggestion": 3} for text in TEXTS], tmp_path / "t.xlsx")
    rows = read(tmp_path / "t.xlsx")
    assert len(list(rows)) == len(TEXTS)
    assert rows.source.tool is None


def sheet(path: Path, hide: Callable[[Any, Any], object]) -> Path:
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        lists, ratings = book.add_worksheet("lists"), book.add_worksheet("Ratings")
        lists.write_row(0, 0, ["Good", "Bad"])
        for place, row in enumerate([("output", "note", "scores.tone"), *((t, "n", s) for t, s in SCORES.items())]):
            ratings.write_row(place, 0, row)
        ratings.activate()
        hide(lists, ratings)
    return path


@pytest.mark.parametrize(
    ("hide", "said", "columns"),
    [
        (lambda _, sheet: sheet.set_row(2, None, None, {"hidden": True}), "hidden rows read (skip_hidden): 3", 3),
        (
            lambda _, sheet: sheet.set_column(1, 1, None, None, {"hidden": True}),
            "hidden columns read (skip_hidden): 'note'",
            2,
        ),
    ],
)
def test_hidden_rows_and_columns_are_named_and_left_out_if_wanted(
    hide: Callable[[Any, Any], object], said: str, columns: int, tmp_path: Path
) -> None:
    file = sheet(tmp_path / "t.xlsx", hide)
    rows = read(file, sheet="Ratings")
    assert means([row for row in rows if isinstance(row, Example)]) == SCORES
    assert said in in_python(str(rows.source.note()))
    shown = read(file, sheet="Ratings", skip_hidden=True)
    texts = [row.output for row in shown if isinstance(row, Example)]
    assert texts == (TEXTS if columns == 2 else [TEXTS[0], TEXTS[2]])
    assert len(shown.row) == columns
    assert "left out" in str(shown.source.note())


@pytest.mark.parametrize("hidden", ['min="x" max="2"', 'max="2"', 'min="1" max="999999999999"', 'min="1"'])
def test_columns_hidden_in_a_damaged_way_are_one_error_or_no_columns_at_all(hidden: str, tmp_path: Path) -> None:
    file, changed = sheet(tmp_path / "t.xlsx", lambda _, sheet: sheet.set_column(1, 1, 9)), tmp_path / "changed.xlsx"
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, part.replace(b'<col min="2" max="2"', f'<col hidden="1" {hidden}'.encode()))
    try:
        rows = list(read(changed, sheet="Ratings", skip_hidden=True))
    except DataError:
        return
    assert all(isinstance(row, RowError) for row in rows) or len(rows) == len(TEXTS)


def test_a_gzipped_document_that_ends_early_is_refused_and_a_short_one_has_only_faults(tmp_path: Path) -> None:
    for count in (3, 20_000):
        document = json.dumps([{"output": f"Text {n * n}."} for n in range(count)], indent=1)
        (tmp_path / f"{count}.json.gz").write_bytes(gzip.compress(document.encode())[:-20])
    with pytest.raises(DataError, match="ends early or is damaged"):
        read(tmp_path / "20000.json.gz")
    examples, faults = read_all(tmp_path / "3.json.gz")
    assert not examples
    assert "data that ends early" in faults[-1].got


def test_a_form_with_a_column_for_each_text_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "form.csv").write_text("Timestamp,How good? [A text.],How good? [Another.]\n2024-05-01,4,2\n", "utf-8")
    with pytest.raises(DataError, match=r"form's questions.*write a row for each rating"):
        read_all(tmp_path / "form.csv")


def test_a_hidden_sheet_is_read_only_if_it_is_named(tmp_path: Path) -> None:
    file = sheet(tmp_path / "t.xlsx", lambda lists, _: lists.hide())
    rows = read(file)
    assert means([row for row in rows if isinstance(row, Example)]) == SCORES
    assert "hidden sheets not read: 'lists'" in str(rows.source.note())
    assert read(file, sheet="lists", mapping="output=Good").source.sheet == "lists"
