"""How much of a Parquet file is read at once, so that a small file cannot fill the memory when it is unpacked.

Parquet packs well: a text that a million rows share is stored once. What is bounded is the size of each row once it is
unpacked, and of the rows that are unpacked together. What is not bounded is one page of one column, which pyarrow
unpacks whole; the format allows it 2 GB.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rubriclab.errors import DataError
from rubriclab.option_names import option

MOST_ROWS = 1024


def packed_columns(path: Path) -> list[str]:
    """Return the columns of texts, which can be read with equal texts stored once."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        columns = (file.schema.column(number) for number in range(len(file.schema)))
        return [each.path for each in columns if each.physical_type == "BYTE_ARRAY" and "." not in each.path]


def batch_size(path: Path, metadata: Any, longest: int) -> int:
    """Return how many rows to read at once, by the unpacked sizes that the file states for its row groups.

    Raises:
        DataError: if a column holds lists and states more than `longest` values in them in one row group.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    for group in groups:
        for number in range(group.num_columns):
            column = group.column(number)
            if column.num_values > max(longest, group.num_rows):
                raise DataError(
                    f"{path}: the column {column.path_in_schema!r} has {column.num_values:,} values in "
                    f"{group.num_rows:,} rows, more than {longest:,}.",
                    f"Raise the limit with {option('max_line_bytes')}, or write smaller row groups.",
                )
    average = max((group.total_byte_size / max(group.num_rows, 1) for group in groups), default=0)
    return max(1, min(MOST_ROWS, int(longest / max(average, 1))))


def fitting_slices(where: str, before: int, batch: Any, longest: int) -> Iterator[Any]:
    """Yield the rows of a batch in slices that take at most `longest` bytes each once they are Python values.

    Raises:
        DataError: for a row that takes more by itself; `before` rows came before this batch.
    """
    sizes = _row_sizes(batch)
    start, size = 0, 0
    for row, own in enumerate(sizes):
        if own > longest:
            raise DataError(
                f"{where}: row {before + row + 1} has more than {longest:,} bytes, the limit of a row.",
                f"Raise the limit with {option('max_line_bytes')}.",
            )
        if size + own > longest:
            yield batch.slice(start, row - start)
            start, size = row, 0
        size += own
    if start < len(batch):
        yield batch.slice(start)


def _row_sizes(batch: Any) -> list[int]:
    """Return the bytes of each row: of its texts as they are, and of other columns as if all rows were alike."""
    sizes, rest = [0] * len(batch), 0
    for column in batch.columns:
        lengths = _lengths(column)
        if lengths is None:
            rest += column.nbytes // max(len(batch), 1)
        else:
            sizes = [size + (length or 0) for size, length in zip(sizes, lengths, strict=True)]
    return [size + rest for size in sizes]


def _lengths(column: Any) -> list[int | None] | None:
    """Return the bytes of each text of a column; `None` for a column of anything else."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        lengths = _lengths(column.dictionary)
        if lengths is None:
            return None
        shared: list[int | None] = pyarrow.array(lengths, pyarrow.int64()).take(column.indices).to_pylist()
        return shared
    if not (types.is_binary(column.type) or types.is_string(column.type) or types.is_large_string(column.type)):
        return None
    found: list[int | None] = compute.binary_length(column).to_pylist()
    return found
