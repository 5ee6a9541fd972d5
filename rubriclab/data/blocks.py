"""Files of rows as blocks that several machines read: byte ranges of JSON Lines, row groups of Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rubriclab.data.formats import Numbered, bounded_lines, json_lines
from rubriclab.data.parquet import parquet_rows
from rubriclab.data.raw_rows import JSON_LINES, PARQUET
from rubriclab.data.row import RowError
from rubriclab.errors import DataError, SettingsError

# Bytes of a block of JSON Lines, which is extended to the end of its last line.
BLOCK = 2**22


@dataclass(frozen=True, slots=True)
class FileBlock:
    """Consecutive rows of a file.

    Attributes:
        path: the file.
        before: lines (JSON Lines) or rows (Parquet) before the block.
        start, stop: its bytes (JSON Lines) or row groups (Parquet), from `start` up to but not including `stop`.
    """

    path: str
    before: int
    start: int
    stop: int


def check_blocks(path: Path, encoding: str | None) -> None:
    """Check that a file can be read by block.

    Raises:
        SettingsError: unless it is a Parquet file, or a file of JSON Lines in UTF-8 that is not compressed.
    """
    name = path.name.lower()
    if not path.is_file() or not name.endswith((*JSON_LINES, PARQUET)) or encoding not in (None, "utf-8"):
        raise SettingsError(
            f"{path} cannot be read by block, by several machines at once;",
            "give a .parquet file, or a .jsonl file in UTF-8 that is not compressed.",
        )


def file_blocks(path: Path, size: int = BLOCK) -> Iterator[FileBlock]:
    """Yield the blocks of a file, in order, which together have each of its rows once; see `check_blocks`.

    A file of JSON Lines is read once to count its lines. Of a damaged Parquet file, row groups after the damage are
    read too, which `raw_rows` does not reach.

    Raises:
        DataError: if a Parquet file cannot be read.
    """
    return _row_groups(path) if path.name.lower().endswith(PARQUET) else _byte_ranges(path, size)


def block_rows(block: FileBlock, where: str, longest: int) -> Numbered:
    """Yield the rows of a block, each with its line (JSON Lines) or number (Parquet) in the file.

    Args:
        where: what the file is called in faults.
        longest: the most bytes of a row.

    Raises:
        DataError: if the file cannot be read, or for a row of more than `longest` bytes.
    """
    path = Path(block.path)
    if path.name.lower().endswith(PARQUET):
        row_groups = list(range(block.start, block.stop))
        for number, row in parquet_rows(path, longest, row_groups=row_groups, before=block.before):
            yield number, replace(row, where=where) if isinstance(row, RowError) else row
    else:
        lines = bounded_lines(where, _lines(block, longest), longest, block.before)
        yield from json_lines(where, lines, block.before)


def _byte_ranges(path: Path, size: int) -> Iterator[FileBlock]:
    start = before = 0
    with path.open("rb") as file:
        while content := file.read(size):
            stop, lines = start + len(content), content.count(b"\n")
            # By pieces: a line may be longer than the memory.
            while not content.endswith(b"\n") and (content := file.readline(size)):
                stop, lines = stop + len(content), lines + content.count(b"\n")
            yield FileBlock(str(path), before, start, stop)
            start, before = stop, before + lines


def _lines(block: FileBlock, longest: int) -> Iterator[bytes]:
    with Path(block.path).open("rb") as file:
        file.seek(block.start)
        left = block.stop - block.start
        while left > 0 and (line := file.readline(longest + 1)):
            left -= len(line)
            yield line


def _row_groups(path: Path) -> Iterator[FileBlock]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        hint = "install it with: pip install 'rubriclab[parquet]'"
        raise DataError(f"{path}: reading Parquet needs pyarrow;", hint) from None
    try:
        with ParquetFile(path) as file:
            sizes = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
    except (ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read: {' '.join(str(error).split())}.") from error
    before = 0
    for number, size in enumerate(sizes):
        yield FileBlock(str(path), before, number, number + 1)
        before += size
