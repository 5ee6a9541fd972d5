"""Blocks of a file together have the rows of the file, with the same lines and faults, wherever the blocks end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow import parquet

from rubriclab.data.blocks import block_rows, check_blocks, file_blocks
from rubriclab.data.raw_rows import raw_rows
from rubriclab.data.reading import ReadingOptions
from rubriclab.errors import DataError, SettingsError

ROWS = [b'{"id": "a", "output": "A text."}', b'{"id": "b"}', b"no JSON", '{"output": "Zürich"}'.encode(), b"[1]"]
LONG = b'{"output": "%s"}' % (b"word " * 100)


def by_block(path: Path, size: int, longest: int = 2**20) -> list[tuple[int, Any]]:
    return [row for block in file_blocks(path, size) for row in block_rows(block, str(path), longest)]


def at_once(path: Path, longest: int = 2**20) -> list[tuple[int, Any]]:
    return list(raw_rows(path, ReadingOptions(max_line_bytes=longest)).numbered)


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [b"", b"line end"])
@pytest.mark.parametrize(
    "lines",
    [
        ROWS,
        [b"", *ROWS[:2], b"", b"  \t", b"", *ROWS[2:], b"", b""],
        [b"\xef\xbb\xbf" + ROWS[0], *ROWS],
        [ROWS[0], LONG, ROWS[1], LONG],
        [],
        [b""],
    ],
    ids=["rows", "blank lines", "byte order mark", "rows longer than a block", "empty", "a blank line"],
)
def test_blocks_of_json_lines_of_any_size_have_the_rows_of_the_file(
    tmp_path: Path, lines: list[bytes], last: bytes, line_end: bytes
) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_bytes(line_end.join(lines) + (line_end if last else b""))
    expected = at_once(path)
    for size in range(1, path.stat().st_size + 2):
        assert by_block(path, size) == expected, f"blocks of {size} bytes"


@given(content=st.lists(st.sampled_from([*ROWS, b"\n", b"\r\n", b"\r", b" "]), max_size=20).map(b"".join))
@settings(max_examples=50, deadline=None)
def test_blocks_of_any_bytes_have_the_rows_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("blocks", numbered=True) / "texts.jsonl"
    path.write_bytes(content)
    expected = at_once(path)
    for size in (1, 7, 32, len(content) + 1):
        assert by_block(path, size) == expected, f"blocks of {size} bytes"


def test_a_file_is_cut_into_consecutive_blocks_that_end_with_lines(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_bytes(b"\n".join([LONG, *ROWS, LONG, *ROWS]))
    blocks = list(file_blocks(path, 64))
    assert len(blocks) > 4
    assert [block.start for block in blocks] == [0, *(block.stop for block in blocks[:-1])]
    assert blocks[-1].stop == path.stat().st_size
    content = path.read_bytes()
    assert all(content[block.stop - 1 : block.stop] == b"\n" for block in blocks[:-1])
    assert [block.before for block in blocks] == [content[: block.start].count(b"\n") for block in blocks]


def test_a_row_of_more_than_the_limit_ends_reading_with_the_same_error(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_bytes(b"\n".join([*ROWS, LONG, *ROWS]))

    def error(read: Callable[[], object]) -> str:
        with pytest.raises(DataError) as raised:
            read()
        return str(raised.value)

    expected = error(lambda: at_once(path, longest=200))
    assert "line 6 has more than 200 bytes" in expected
    for size in (1, 50, 300, 2000):
        assert error(lambda size=size: by_block(path, size, longest=200)) == expected  # type: ignore[misc]


def write_parquet(path: Path, row_group_size: int) -> None:
    rows = [{"id": f"t{n}", "output": None if n == 3 else f"Text {n % 4}.", "scores": [n, 0.5]} for n in range(23)]
    parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=row_group_size)


@pytest.mark.parametrize("row_group_size", [1, 5, 23])
def test_row_groups_of_parquet_have_the_rows_of_the_file(tmp_path: Path, row_group_size: int) -> None:
    path = tmp_path / "texts.parquet"
    write_parquet(path, row_group_size)
    rows = by_block(path, 1)
    assert rows == at_once(path)
    assert [number for number, _ in rows] == list(range(1, 24))
    assert len(list(file_blocks(path))) == -(-23 // row_group_size)


@pytest.mark.parametrize("name", ["texts.csv", "texts.jsonl.gz", "texts.xlsx", "folder.jsonl"])
def test_what_cannot_be_read_by_block_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.mkdir() if name.startswith("folder") else path.write_bytes(b"")
    with pytest.raises(SettingsError, match="cannot be read by block"):
        check_blocks(path, None)


def test_json_lines_in_another_encoding_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_bytes(ROWS[0])
    check_blocks(path, "utf-8")
    with pytest.raises(SettingsError, match="in UTF-8"):
        check_blocks(path, "utf-16")
