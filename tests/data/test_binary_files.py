"""Parquet files and workbooks: what is read of them, and limits of rows before they fill the memory."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from pyarrow import parquet

from rubriclab.data.binary_files import parquet_rows
from rubriclab.data.readers import read
from rubriclab.errors import DataError


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
        list(read(io.BufferedReader(endless), max_line_bytes=2000))
    assert endless.taken < 100_000


def test_parquet_reads_back_nested_and_flat(tmp_path):
    rows = [
        {"id": 1, "output": "A", "scores": {"x": 4.0, "y": None}, "annotations": {"x": [3, 5]}, "scores.z": 1},
        {"id": 2, "output": "B", "scores": None, "annotations": None, "scores.z": None},
        {"id": 3, "output": None, "scores": {"x": 2.0, "y": 1.0}, "annotations": None, "scores.z": None},
    ]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    first, second, fault = read(tmp_path / "t.parquet")
    assert (first.id, first.scores, first.annotations) == ("1", {"x": 4.0, "z": 1.0}, {"x": (3.0, 5.0)})
    assert (second.scores, second.annotations) == ({}, {})
    assert (fault.line, fault.field, fault.id) == (3, "output", "3")


def test_what_was_read_of_a_parquet_file_does_not_stay_in_memory(tmp_path):
    path = tmp_path / "many.parquet"
    schema = pa.schema([("output", pa.string())])
    with parquet.ParquetWriter(path, schema, compression="none") as writer:
        for group in range(20):
            texts = [f"{group} {number} {'word ' * 100}" for number in range(500)]
            writer.write_table(pa.table({"output": texts}, schema))
    before, most = pa.total_allocated_bytes(), 0
    for _ in parquet_rows(path):
        most = max(most, pa.total_allocated_bytes() - before)
    assert 0 < most < path.stat().st_size / 2


def test_a_parquet_row_that_has_no_value_in_python_costs_only_itself(tmp_path):
    texts = pa.Array.from_buffers(
        pa.string(), 3, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0"), pa.py_buffer(b"A\xffB")]
    )
    parquet.write_table(pa.table({"output": texts}), tmp_path / "t.parquet")
    first, fault, third = read(tmp_path / "t.parquet")
    assert (first.output, third.output) == ("A", "B")
    assert fault.line == 2
    assert "utf-8" in fault.got


def test_what_is_not_parquet_or_has_no_rows_is_said(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(DataError, match=r"cannot be read.*Parquet"):
        list(read(tmp_path / "t.parquet"))
    parquet.write_table(pa.table({"output": pa.array([], pa.string())}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="has no rows"):
        list(read(tmp_path / "t.parquet"))


def test_parquet_that_is_damaged_further_on_gives_the_rows_before(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"output": [f"Text {i}." for i in range(5000)]})
    parquet.write_table(table, path, row_group_size=2048, compression="zstd", use_dictionary=False)
    start = parquet.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 200] = bytes(200)
    path.write_bytes(bytes(content))
    *rows, fault = read(path)
    assert [row.output for row in rows] == [f"Text {i}." for i in range(2048)]
    assert fault.line == 2049
    assert "damaged" in fault.got
