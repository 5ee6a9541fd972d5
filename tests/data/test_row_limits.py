"""Rows that are too long: refused with file, line and limit, before they fill the memory."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from rubriclab.data import Example, RowError, read
from rubriclab.errors import DataError

SHORT = 2000


class Endless(io.RawIOBase):
    """A stream of one line without an end, which counts what is read of it."""

    def __init__(self) -> None:
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        buffer[:] = b"0" * len(buffer)
        self.taken += len(buffer)
        return len(buffer)


def test_no_more_is_read_of_a_line_without_an_end_than_its_limit() -> None:
    endless = Endless()
    with pytest.raises(DataError, match=r"stream: line 1 has more than 2,000 bytes.*max_line_bytes=4000"):
        list(read(io.BufferedReader(endless), max_line_bytes=SHORT))
    assert endless.taken < 100_000


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.csv", "rows.csv.gz"])
def test_a_long_line_is_named_by_file_and_number(tmp_path: Path, name: str) -> None:
    first = b"output\n" if ".csv" in name else b'{"output": "A"}\n'
    content = first + b'{"output": "' + b"x" * SHORT + b'"}\n'
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(DataError, match=rf"{name}: line 2 has more than 2,000 bytes"):
        list(read(path, max_line_bytes=SHORT))
    assert list(read(path))


def test_a_quoted_cell_that_never_ends_is_refused_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b'output\nA\n"' + b"\n" * 100_000)
    with pytest.raises(DataError, match="the CSV row that begins in line 3 has more than 2,000 bytes"):
        list(read(path, max_line_bytes=SHORT))


def test_a_long_row_of_a_table_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    texts = ["A", "B", "x" * (SHORT + 1), "C"]
    pyarrow.parquet.write_table(pyarrow.table({"output": texts}), path)
    with pytest.raises(DataError, match=r"rows\.parquet: row 3 has more than 2,000 bytes"):
        list(read(path, max_line_bytes=SHORT))
    assert [row.output for row in read(path) if isinstance(row, Example)] == texts


def test_texts_that_many_rows_share_are_unpacked_a_few_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table = pyarrow.table({"output": ["x" * 1500] * 3000, "id": [str(number) for number in range(3000)]})
    pyarrow.parquet.write_table(table, path)
    rows = list(read(path, max_line_bytes=SHORT))
    assert [row.id for row in rows] == [str(number) for number in range(3000)]
    assert all(isinstance(row, Example) and row.output == "x" * 1500 for row in rows)


@pytest.mark.parametrize("row", ['{"output": "A", "output": "B"}', '{"output": "A", "id": "1", "id": "1"}'])
def test_a_key_given_twice_at_the_top_of_a_row_is_a_fault(row: str) -> None:
    (found,) = read([row.encode()])
    assert isinstance(found, RowError)
    assert "twice in one object" in str(found)


@pytest.mark.parametrize("text", ["\u200b\u200d", "\u3164", "\u2800", "\ufe0f"])
def test_a_text_of_invisible_characters_is_no_text(text: str) -> None:
    rows = [json.dumps({"output": text}), json.dumps({"output": "A", "source": text, "id": text})]
    empty, other = read([row.encode() for row in rows])
    assert str(empty).endswith("got only invisible characters, expected a non-empty text")
    assert isinstance(other, Example)
    assert other.source is None
    assert other.id.startswith("text-")


def test_an_id_longer_than_versions_hold_is_a_fault() -> None:
    (found,) = read([json.dumps({"output": "A", "id": "x" * 1001}).encode()])
    assert "got a text of 1,001 characters, expected at most 1,000 characters" in str(found)
