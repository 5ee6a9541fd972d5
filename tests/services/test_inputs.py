"""Data as users have it: every form gives the same examples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest

from rubriclab import Example
from rubriclab.data.mapping import ReadingOptions
from rubriclab.errors import DataError
from rubriclab.ops.inputs import can_be_read_again, row_count, rows_of

ROWS: list[dict[str, Any]] = [
    {"id": "a", "output": "one text", "group": "g", "scores": {"coherence": 3.0}},
    {"id": "b", "output": "another text", "group": "g", "scores": {"coherence": 4.5}},
]


class DataSet:
    """Stands in for `datasets.Dataset`: column names, a length, and rows as dictionaries."""

    column_names = ("id", "output", "group", "scores")

    def __len__(self) -> int:
        return len(ROWS)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(ROWS)


def examples(data: Any, **options: Any) -> list[Any]:
    return list(rows_of(data, ReadingOptions(**options)))


@pytest.fixture(
    params=[
        "path",
        "text path",
        "rows",
        "generator",
        "pandas",
        "polars",
        "lazy polars",
        "pyarrow",
        "data set",
        "examples",
    ]
)
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    forms: dict[str, Any] = {
        "path": path,
        "text path": str(path),
        "rows": ROWS,
        "generator": (row for row in ROWS),
        "pandas": pandas.DataFrame(ROWS),
        "polars": polars.DataFrame(ROWS),
        "lazy polars": polars.LazyFrame(ROWS),
        "pyarrow": pyarrow.Table.from_pylist(ROWS),
        "data set": DataSet(),
        "examples": [Example("a", "one text", "g", scores={"coherence": 3.0}),
                     Example("b", "another text", "g", scores={"coherence": 4.5})],
    }  # fmt: skip
    return forms[request.param]


def test_every_form_of_data_gives_the_same_examples(data: Any) -> None:
    assert examples(data) == [
        Example("a", "one text", "g", scores={"coherence": 3.0}),
        Example("b", "another text", "g", scores={"coherence": 4.5}),
    ]


def test_columns_of_another_name_are_mapped_by_text_or_by_a_mapping() -> None:
    frame = pandas.DataFrame({"summary": ["a text"], "coh": [2]})
    for mapping in ("output=summary,scores.coherence=coh", {"output": "summary", "scores.coherence": "coh"}):
        (example,) = examples(frame, mapping=mapping)
        assert (example.output, example.scores) == ("a text", {"coherence": 2.0})


def test_a_list_of_strings_are_texts() -> None:
    assert [example.output for example in examples(["one text", "another"])] == ["one text", "another"]


@pytest.mark.parametrize("data", [5, None, b"bytes", object()], ids=["number", "none", "bytes", "object"])
def test_what_has_no_rows_is_refused_with_what_is_expected(data: Any) -> None:
    with pytest.raises(DataError, match="has no rows; expected a path, rows as mappings"):
        examples(data)


def test_a_data_set_with_splits_is_refused_with_their_names() -> None:
    with pytest.raises(DataError, match=r"is a mapping with 'train', 'test'\. Give one of its values"):
        examples({"train": ROWS, "test": ROWS})


def test_a_faulty_row_is_a_fault_in_its_place() -> None:
    first, second = examples([ROWS[0], {"id": "x"}])
    assert (first.id, second.id, second.field) == ("a", "x", "output")


def test_iterators_and_standard_input_are_read_once() -> None:
    assert can_be_read_again(ROWS)
    assert can_be_read_again("rows.jsonl")
    assert not can_be_read_again("-")
    assert not can_be_read_again(iter(ROWS))


def test_rows_are_counted_where_that_takes_no_reading(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("{}\n{}\n")
    assert (row_count(ROWS), row_count(path), row_count("-"), row_count(iter(ROWS))) == (2, 2, 0, 0)


TABLES = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "lazy polars": polars.LazyFrame,
    "pyarrow": pyarrow.Table.from_pylist,
}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_without_the_named_column_is_one_error_as_a_file_is(table: str) -> None:
    rows = [{"summary": "one text"}, {"summary": "another"}]
    with pytest.raises(DataError, match=r"field 'output': got nothing.*`mapping=output=summary`\.$"):
        examples(TABLES[table](rows))
    with pytest.raises(DataError, match=r"field 'source': got nothing, expected a column 'article'"):
        examples(TABLES[table](rows), mapping="output=summary,source=article")


def test_texts_are_read_whatever_the_mapping() -> None:
    mapping = {"output": "summary", "source": "article", "scores.coherence": "coh"}
    assert [example.output for example in examples(["one text", "another"], mapping=mapping)] == ["one text", "another"]


def test_a_text_in_place_of_a_path_is_answered_with_a_list_of_strings() -> None:
    with pytest.raises(DataError, match=r"There is no file 'The council.* in Python the texts as a list of strings"):
        examples("The council met on Monday and spoke about rain.")
