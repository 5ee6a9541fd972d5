"""Rows of Parquet files, read in batches of limited size, so that a small file cannot fill the memory.

Parquet compresses well: a text that a million rows share is stored once. The unpacked size of each row and of each
batch is limited. pyarrow unpacks a page at once, and the format allows 2 GB, so a column that is packed more tightly
than texts can be is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.data.formats import Numbered, broken_off
from rubriclab.data.reading import LONGEST_ROW
from rubriclab.data.row import RowError
from rubriclab.errors import DataError
from rubriclab.option_names import option

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Sizes = npt.NDArray[np.int64]

MOST_ROWS = 1024
# Bytes that count for a value besides those of its text, as a Python value and in a row group.
VALUE_BYTES = 16
LEAST_BYTES = 4
# How many times as large as in the file a column of a row group may be, once it has more bytes than a row may have.
# Texts are packed to a third or a fifth.
MOST_UNPACKED = 100
# The encoding that stores of a text only how it differs from the one before. pyarrow cannot read it as a dictionary.
DIFFERENCES = "DELTA_BYTE_ARRAY"


def parquet_rows(path: Path, longest: int = LONGEST_ROW) -> Numbered:
    """Yield the rows of a Parquet file, counted from 1.

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
    number = 0
    try:
        # With `pre_buffer`, pyarrow's default, what was read of the file stays in memory until the file is closed.
        with ParquetFile(path, read_dictionary=_packed_columns(path), pre_buffer=False) as file:
            size = _batch_size(path, file.metadata, longest)
            for batch in file.iter_batches(batch_size=size):
                for rows in _fitting_slices(str(path), number, batch, longest):
                    for row in _batch_rows(str(path), number, rows):
                        number += 1
                        yield number, row
    except (ArrowException, OSError) as error:
        yield number + 1, broken_off(str(path), number, error)


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
    """Return the text columns that can be read as dictionaries of distinct texts."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        columns = [column for group in _groups(file.metadata) for column in _columns(group)]
    texts = {column.path_in_schema for column in columns if column.physical_type == "BYTE_ARRAY"}
    return sorted(texts - {column.path_in_schema for column in columns if DIFFERENCES in column.encodings})


def _groups(metadata: Any) -> list[Any]:
    return [metadata.row_group(number) for number in range(metadata.num_row_groups)]


def _columns(group: Any) -> list[Any]:
    return [group.column(number) for number in range(group.num_columns)]


def _batch_size(path: Path, metadata: Any, longest: int) -> int:
    """Return the number of rows to read at once, based on the unpacked sizes of row groups in the metadata.

    Raises:
        DataError: if a column has too many values in one row group, or unpacks to too many bytes.
    """
    most = MOST_ROWS
    for group in _groups(metadata):
        most = min(most, int(longest / max(group.total_byte_size / max(group.num_rows, 1), 1)))
        for column in _columns(group):
            _check_size(path, column, group.num_rows, longest)
            if DIFFERENCES in column.encodings:
                # Each text may be as long as all that is stored of the column.
                most = min(most, longest // max(column.total_uncompressed_size, 1))
    return max(1, most)


def _check_size(path: Path, column: Any, rows: int, longest: int) -> None:
    unpacked, values = column.total_uncompressed_size, column.num_values
    where = f"{path}: the column {column.path_in_schema!r}"
    if values * LEAST_BYTES > longest and values > rows:
        raise DataError(
            f"{where} has {values:,} values in {rows:,} rows, more than {longest // LEAST_BYTES:,}.",
            f"Write smaller row groups, or raise the limit: {option('max_line_bytes', str(values * LEAST_BYTES))}.",
        )
    if unpacked > max(longest, MOST_UNPACKED * column.total_compressed_size):
        raise DataError(
            f"{where} unpacks from {column.total_compressed_size:,} to {unpacked:,} bytes, more than {longest:,} and "
            f"than {MOST_UNPACKED} times as many.",
            f"Write smaller row groups, or raise the limit: {option('max_line_bytes', str(unpacked))}.",
        )


def _fitting_slices(where: str, before: int, batch: Any, longest: int) -> Iterator[Any]:
    """Yield the rows of a batch in slices of at most `longest` bytes each as Python values.

    Raises:
        DataError: for a single row that takes more; `before` is the number of rows before this batch.
    """
    sizes: list[int] = _total(batch.columns, len(batch)).tolist()
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


def _sizes(array: Any) -> Sizes:
    """Return the bytes of each value of an array of pyarrow, where a text in a dictionary counts wherever it is used.

    Not by way of Python values: a dictionary may hold as many texts as the row group.
    """
    import numpy as np
    from pyarrow import compute, list_, types

    kind = array.type
    if types.is_dictionary(kind):
        used = array.indices.fill_null(len(array.dictionary)).to_numpy(zero_copy_only=False)
        sizes: Sizes = np.append(_sizes(array.dictionary), 0)[used]
        return sizes
    if types.is_struct(kind):
        return _total(array.flatten(), len(array))
    if types.is_fixed_size_list(kind):
        return _sizes(array.cast(list_(kind.value_field)))
    if types.is_map(kind) or types.is_list(kind) or types.is_large_list(kind):
        values = (array.keys, array.items) if types.is_map(kind) else (array.values,)
        return _sums(_total(values, len(values[0])), array.offsets)
    if types.is_binary(kind) or types.is_string(kind) or types.is_large_string(kind) or types.is_large_binary(kind):
        lengths: Sizes = compute.binary_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        return lengths.astype(np.int64)
    return np.full(len(array), VALUE_BYTES, np.int64)


def _total(columns: Iterable[Any], rows: int) -> Sizes:
    import numpy as np

    return sum(map(_sizes, columns), np.zeros(rows, np.int64))


def _sums(sizes: Sizes, offsets: Any) -> Sizes:
    """Return the bytes of each list, from those of its values."""
    import numpy as np

    until = np.concatenate([[0], np.cumsum(sizes + VALUE_BYTES)])
    lists: Sizes = np.diff(until[offsets.to_numpy()])
    return lists
