"""Reading: where rows may come from, that it is lazy, and that nothing is lost on the way."""

import gzip
import io
import os
import sys
from dataclasses import asdict

import numpy as np
import orjson
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.data.readers import from_rows, read
from rubriclab.data.rows import RowError, without_placeholder
from rubriclab.errors import DataError
from rubriclab.models.characters import is_blank
from rubriclab.models.text import Example

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda text: not is_blank(text)
)
BESIDE = st.none() | TEXTS.filter(without_placeholder)
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


@settings(deadline=None, max_examples=80)
@given(st.lists(EXAMPLES, min_size=1, max_size=5))
def test_examples_read_back_as_written(examples):
    assert list(read(io.BytesIO(in_lines(map(asdict, examples))))) == examples
    assert list(from_rows(map(asdict, examples))) == examples


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.json", "T.JSONL", "t.v1.jsonl", "t.jsonl.gz", "t.json.gz"])
def test_the_name_says_the_format(tmp_path, name):
    content = in_lines(ROWS)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert [row.id for row in read(tmp_path / name)] == ["a", "b"]
    assert [row.id for row in read(str(tmp_path / name))] == ["a", "b"]


def test_every_format_gives_the_same_examples(tmp_path):
    frame = pd.json_normalize(ROWS)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_bytes(in_lines(ROWS))
    expected = list(from_rows(ROWS))
    assert expected[0].group == expected[1].group
    assert all(list(read(tmp_path / name)) == expected for name in ("t.csv", "t.parquet", "t.jsonl"))
    assert list(from_rows(frame)) == expected


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(in_lines([*ROWS, {"id": "c"}]))))
    *rows, fault = read("-")
    assert [row.id for row in rows] == ["a", "b"]
    assert str(fault).startswith("stdin:3: field 'output'")


@pytest.mark.parametrize("name", ["texts", "texts.txt", "texts.gz", "texts.parquet.gz", "texts.xls"])
def test_a_name_that_says_no_known_format_is_refused_with_those_that_are(tmp_path, name):
    (tmp_path / name).write_bytes(in_lines(ROWS))
    with pytest.raises(DataError, match=r"\.jsonl, \.csv .* \.xlsx or \.parquet"):
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


@pytest.mark.parametrize("content", [b"", b"\n \n\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_a_file_without_rows_is_an_error(tmp_path, content):
    (tmp_path / "t.jsonl").write_bytes(content)
    with pytest.raises(DataError, match="has no rows"):
        list(read(tmp_path / "t.jsonl"))


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


def test_a_row_arrives_while_the_pipe_is_still_open():
    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream, os.fdopen(into, "wb", buffering=0) as pipe:
        rows = read(stream)
        for row in ROWS:
            pipe.write(in_lines([row]))
            assert next(rows).id == row["id"]


def test_the_place_of_a_row_is_known_while_it_is_the_last_one_read(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join([b"", in_lines(ROWS[:1]), in_lines(ROWS[1:])]))
    rows = read(path)
    assert (rows.where, rows.line) == (str(path), 0)
    assert [rows.line for _ in rows] == [2, 4]


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


def test_a_data_set_that_gives_arrays_is_read_like_one_that_gives_lists():
    class DataSet:
        def __iter__(self):
            yield {"output": np.str_("A"), "scores": {"x": np.float32(4)}, "annotations": {"x": np.array([3, 5])}}

    (example,) = from_rows(DataSet())
    assert (example.output, example.scores, example.annotations) == ("A", {"x": 4.0}, {"x": (3.0, 5.0)})
