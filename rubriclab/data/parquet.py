"""Rows of Parquet files, read in batches of limited size, so that a small file cannot fill the memory.

Parquet compresses well: a text that a million rows share is stored once. The unpacked size of each row and of each
batch is limited. The size of a page is not: pyarrow unpacks a page at once, and the format allows 2 GB.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from rubriclab.data.formats import LONGEST_ROW, Numbered, broken_off
from rubriclab.data.row import RowError
from rubriclab.errors import DataError
from rubriclab.option_names import option

MOST_ROWS = 1024


def parquet_rows(
    path: Path,
    longest: int = LONGEST_ROW,
    *,
    row_groups: list[int] | None = None,
    before: int = 0,
    after: int = 0,
) -> Numbered:
    """Yield the rows of a Parquet file, counted from 1, or those of some row groups, with `before` rows before them.

    Only rows after the row `after` are yielded; row groups without such rows are not read.

    A text that many rows share stays packed until its row is read. As many rows are read at once as fit into
    `longest` bytes, according to the sizes in the file's metadata.

    Raises:
        DataError: if pyarrow is not installed, the file is not Parquet, or a row takes more than `longest` bytes.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        hint = "install it with: pip install 'rubriclab[parquet]'"
        raise DataError(f"{path}: reading Parquet needs pyarrow;", hint) from None
    number = before
    try:
        # With `pre_buffer`, pyarrow's default, what was read of the file stays in memory until the file is closed.
        with ParquetFile(path, read_dictionary=_packed_columns(path), pre_buffer=False) as file:
            size = _batch_size(path, file.metadata, longest)
            groups, number = _row_groups_after(after, file.metadata, row_groups, before)
            # Older pyarrow refuses an empty list of row groups.
            for batch in file.iter_batches(batch_size=size, row_groups=groups) if groups else ():
                left_out = min(max(after - number, 0), len(batch))
                number += left_out
                if left_out == len(batch):
                    continue
                for rows in _fitting_slices(str(path), number, batch.slice(left_out), longest):
                    for row in _batch_rows(str(path), number, rows):
                        number += 1
                        yield number, row
    except (ArrowException, OSError) as error:
        yield number + 1, broken_off(str(path), number, error)


def _row_groups_after(after: int, metadata: Any, row_groups: list[int] | None, before: int) -> tuple[list[int], int]:
    """Return the row groups from the first with a row after the row `after`, and the number of rows before them."""
    groups = list(range(metadata.num_row_groups)) if row_groups is None else row_groups
    sizes = [metadata.row_group(group).num_rows for group in groups]
    ends = list(accumulate(sizes, initial=before))
    read = bisect_right(ends, after, lo=1) - 1
    return groups[read:], ends[read]


def _batch_rows(where: str, before: int, batch: Any) -> list[Any]:
    """Return the rows of a batch; a row that cannot be converted to Python values becomes a fault."""
    try:
        rows: list[Any] = batch.to_pylist()
    except (ValueError, OverflowError) as error:  # text that is not UTF-8, dates beyond Python's calendar
        if len(batch) > 1:
            return [row for i in range(len(batch)) for row in _batch_rows(where, before + i, batch.slice(i, 1))]
        reason = " ".join(str(error).split())
        return [
            RowError(where, before + 1, None, f"a row that cannot be read ({reason})", "values that fit their type")
        ]
    return rows


def _packed_columns(path: Path) -> list[str]:
    """Return the text columns, which can be read as dictionaries of distinct texts."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        columns = (file.schema.column(number) for number in range(len(file.schema)))
        return [column.path for column in columns if column.physical_type == "BYTE_ARRAY" and "." not in column.path]


def _batch_size(path: Path, metadata: Any, longest: int) -> int:
    """Return the number of rows to read at once, based on the unpacked sizes of row groups in the metadata.

    Raises:
        DataError: if a column of lists has more than `longest` values in one row group.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    for group in groups:
        for number in range(group.num_columns):
            column = group.column(number)
            if column.num_values > max(longest, group.num_rows):
                raise DataError(
                    f"{path}: the column {column.path_in_schema!r} has {column.num_values:,} values in "
                    f"{group.num_rows:,} rows, more than {longest:,}.",
                    f"Write smaller row groups, or raise the limit: "
                    f"{option('max_line_bytes', str(column.num_values))}.",
                )
    average = max((group.total_byte_size / max(group.num_rows, 1) for group in groups), default=0)
    return max(1, min(MOST_ROWS, int(longest / max(average, 1))))


def _fitting_slices(where: str, before: int, batch: Any, longest: int) -> Iterator[Any]:
    """Yield the rows of a batch in slices of at most `longest` bytes each as Python values.

    Raises:
        DataError: for a single row that takes more; `before` is the number of rows before this batch.
    """
    sizes = _row_sizes(batch)
    start, size = 0, 0
    for row, row_size in enumerate(sizes):
        if row_size > longest:
            raise DataError(
                f"{where}: row {before + row + 1} has more than {longest:,} bytes, the limit of a row.",
                f"Raise the limit: {option('max_line_bytes', str(2 * row_size))}.",
            )
        if size + row_size > longest:
            yield batch.slice(start, row - start)
            start, size = row, 0
        size += row_size
    if start < len(batch):
        yield batch.slice(start)


def _row_sizes(batch: Any) -> list[int]:
    """Return the bytes of each row: the exact size of its texts, and the mean size of its other columns."""
    sizes, other = [0] * len(batch), 0
    for column in batch.columns:
        lengths = _lengths(column)
        if lengths is None:
            other += column.nbytes // max(len(batch), 1)
        else:
            sizes = [size + (length or 0) for size, length in zip(sizes, lengths.to_pylist(), strict=True)]
    return [size + other for size in sizes]


def _lengths(column: Any) -> Any:
    """Return the bytes of each text of a column, as an array of pyarrow; `None` for a column of another type."""
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        lengths = _lengths(column.dictionary)
        # Not by way of Python values: the dictionary may hold as many texts as the row group.
        return None if lengths is None else lengths.take(column.indices)
    if not (types.is_binary(column.type) or types.is_string(column.type) or types.is_large_string(column.type)):
        return None
    return compute.binary_length(column)
