"""Data as users have it, to rows: a path, rows, a data frame, an Arrow table, a Hugging Face data set, examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rubriclab.data import Example, Rows, parse_mapping, read
from rubriclab.data.fitted import about, comparison_faults, fit_scores
from rubriclab.data.formats import LONGEST_ROW
from rubriclab.data.mapping import NATIVE
from rubriclab.data.readers import from_rows
from rubriclab.data.scale import Scale
from rubriclab.errors import DataError
from rubriclab.services.base import RowOptions
from rubriclab.services.workspace import Notify

# A path or `-`, rows as mappings, texts, examples, or a table of one of the well-known libraries.
Data = Any

# Bytes read at once.
BLOCK = 2**20
EXPECTED = (
    "expected a path, rows as mappings, texts, Example objects, a pandas, polars or pyarrow table, or a Hugging Face "
    "data set"
)


def rows_of(data: Data, options: RowOptions) -> Rows:
    """Return the rows of `data` as examples and faults, read as they are asked for.

    Raises:
        DataError: if `data` is nothing that has rows, or a file that cannot be read.
        SettingsError: for a mapping that is not understood.
    """
    mapping = parse_mapping(options.mapping) if options.mapping else NATIVE
    if isinstance(data, str | Path):
        return read(data, mapping, longest=options.max_line_bytes or LONGEST_ROW)
    if isinstance(data, Rows):
        return data
    if hasattr(data, "to_batches"):  # pyarrow
        data = (row for batch in data.to_batches() for row in batch.to_pylist())
    elif hasattr(data, "collect_schema") and not hasattr(data, "iter_rows"):  # polars.LazyFrame
        data = data.collect()
    if isinstance(data, bytes) or not _has_rows(data):
        raise DataError(f"Data of the type {type(data).__name__} has no rows;", f"{EXPECTED}.")
    return from_rows(data if _is_table(data) or isinstance(data, Mapping) else _as_mappings(data), mapping=mapping)


def can_be_read_again(data: Data) -> bool:
    """Return whether the rows can be read more than once: not those of standard input or of an iterator."""
    return data != "-" if isinstance(data, str | Path) else not isinstance(data, Iterator)


def row_count(data: Data) -> int:
    """Return how many rows there are, for showing progress; 0 where that is not known without reading them."""
    if not isinstance(data, str | Path):
        return len(data) if hasattr(data, "__len__") else 0
    path = Path(data)
    if path.suffix not in (".jsonl", ".ndjson") or not path.is_file():
        return 0
    with path.open("rb") as file:
        # By blocks: a line may be longer than the memory.
        return sum(block.count(b"\n") for block in iter(lambda: file.read(BLOCK), b""))


def describe(data: Data) -> str:
    """Return what data is called in messages: its path, or else `the data`."""
    return str(data) if isinstance(data, str | Path) else "the data"


def usable_texts(
    data: Data, options: RowOptions, aspects: Iterable[tuple[str, Scale]], notify: Notify
) -> tuple[Example, ...]:
    """Return the texts of `data`; those that people only compared with others get labels for the aspects too.

    Rows that cannot be used are left out, and `notify` is told which and why.
    """
    rows = rows_of(data, options)
    read_rows = list(rows)
    for row in read_rows:
        if not isinstance(row, Example):
            notify(f"left out: {row}")
    examples = tuple(row for row in read_rows if isinstance(row, Example))
    return _with_compared(examples, rows, aspects, notify)


def notify_comparisons(rows: Rows, notify: Notify) -> None:
    """Say how many rows compared texts, where nothing is made of comparisons."""
    if rows.comparisons:
        count = len({line for line, _ in rows.comparisons})
        notify(f"{count} {'row' if count == 1 else 'rows'} left out that hold no text, but compare others")


def _with_compared(
    examples: tuple[Example, ...], rows: Rows, aspects: Iterable[tuple[str, Scale]], notify: Notify
) -> tuple[Example, ...]:
    faults = list(comparison_faults(rows.where, rows.comparisons, examples))
    for fault in faults:
        notify(f"left out: {fault}")
    faulty = {fault.line for fault in faults}
    usable = [comparison for comparison in rows.comparisons if comparison[0] not in faulty]
    for aspect, scale in aspects:
        compared = [comparison for _, comparison in about(usable, examples, aspect)]
        fitted = fit_scores(examples, compared, aspect, scale)
        examples = fitted.examples
        for line in fitted.notes:
            notify(line)
    return examples


def _has_rows(data: Data) -> bool:
    return _is_table(data) or isinstance(data, Iterable)


def _is_table(data: Data) -> bool:
    return hasattr(data, "itertuples") or hasattr(data, "iter_rows") or hasattr(data, "column_names")


def _as_mappings(rows: Iterable[Any]) -> Iterator[Any]:
    return ({"output": row} if isinstance(row, str) else row for row in rows)
