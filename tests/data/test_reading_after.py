"""Reading after a row gives the rows that follow it, as reading from the beginning does, and leaves the others out."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow import parquet

from rubriclab.data.formats import BLOCK
from rubriclab.data.parquet import parquet_rows
from rubriclab.data.raw_rows import raw_rows
from rubriclab.data.reading import ReadingOptions
from rubriclab.errors import DataError

ROW = b'{"id": "a", "output": "A text."}\n'
LONG = b'{"output": "%s"}\n' % (b"word " * BLOCK)
JSON_LINES = [ROW, b"\n", b"no JSON\n", LONG, b" \r\n", ROW * 3, b"\n" * 9, ROW[:-1]]
RECORDS = ['1,"Two\nlines, ""quoted"""', "", '2,"never closed', "3,plain", "4,one,too many", '5,"last\n\n"']


def after(path: Path, line: int = 0) -> list[tuple[int, Any]]:
    return list(raw_rows(path, ReadingOptions(), line).numbered)


def check_every_row(path: Path) -> None:
    every = after(path)
    assert len(every) > 3
    for place, (line, _) in enumerate(every, start=1):
        assert after(path, line) == every[place:], f"after line {line}"


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "utf-16.jsonl", "byte-order-mark.jsonl"])
def test_json_lines_are_read_after_any_row(tmp_path: Path, name: str) -> None:
    content = b"".join(JSON_LINES)
    if name.endswith(".gz"):
        content = gzip.compress(content)
    elif name.startswith("utf-16"):
        content = content.decode().encode("utf-16")
    elif name.startswith("byte"):
        content = b"\xef\xbb\xbf" + content
    (tmp_path / name).write_bytes(content)
    check_every_row(tmp_path / name)


@given(content=st.lists(st.sampled_from(JSON_LINES), max_size=6).map(b"".join), line=st.integers(0, 40))
@settings(max_examples=40, deadline=None)
def test_json_lines_are_read_after_any_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, line: int
) -> None:
    path = tmp_path_factory.mktemp("after", numbered=True) / "t.jsonl"
    path.write_bytes(content)
    assert after(path, line) == [row for row in after(path) if row[0] > line]


@pytest.mark.parametrize("before", ["id,output", "sep=,\nid,output", '"id\n",output', "\n\nid,output"])
@pytest.mark.parametrize("packed", [False, True])
def test_records_of_several_lines_and_broken_ones_are_read_after_any_row(
    tmp_path: Path, before: str, packed: bool
) -> None:
    content = "\n".join([before, *RECORDS]).encode()
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    check_every_row(path)


def test_a_long_table_is_read_after_any_row(tmp_path: Path) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([["id", "output"], *([number, f"Text,\n{number}" * 50] for number in range(300))])
    (tmp_path / "t.csv").write_text(text.getvalue(), newline="")
    every = after(tmp_path / "t.csv")
    for place in (1, 150, 299, 300):
        assert after(tmp_path / "t.csv", every[place - 1][0]) == every[place:]


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    """A Parquet file of 23 rows in row groups of 8, 0, 8 and 7 rows, whose pages are neither packed nor encoded."""
    schema = pa.schema([("output", pa.string())])
    with parquet.ParquetWriter(tmp_path / "t.parquet", schema, compression="none", use_dictionary=False) as writer:
        for start, count in ((0, 8), (8, 0), (8, 8), (16, 7)):
            texts = [f"Text {number}." for number in range(start, start + count)]
            writer.write_table(pa.table({"output": texts}, schema))
    return tmp_path / "t.parquet"


def test_parquet_is_read_after_any_row_of_any_row_group(groups: Path) -> None:
    check_every_row(groups)
    second = list(parquet_rows(groups, row_groups=[2, 3], before=8))
    for line in range(25):
        assert list(parquet_rows(groups, row_groups=[2, 3], before=8, after=line)) == [
            row for row in second if row[0] > line
        ]


def test_row_groups_before_the_rows_that_are_wanted_are_not_read(groups: Path) -> None:
    every = after(groups)
    chunk = parquet.ParquetFile(groups).metadata.row_group(0).column(0)
    content = bytearray(groups.read_bytes())
    start = chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    groups.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read"):
        list(parquet_rows(groups))
    assert list(parquet_rows(groups, after=8)) == every[8:]
    assert list(parquet_rows(groups, after=20)) == every[20:]
