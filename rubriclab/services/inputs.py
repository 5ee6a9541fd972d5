"""Data as users have it, to rows: a path, rows, a data frame, an Arrow table, a Hugging Face data set, examples."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from rubriclab.data import Example, Rows, read
from rubriclab.data.check import not_assessed
from rubriclab.data.comparisons import about, comparison_faults, fit_scores
from rubriclab.data.mapping import ABSENT, FIELDS, TABLES, FieldMap, look_up
from rubriclab.data.readers import from_rows
from rubriclab.data.reading import ReadingOptions
from rubriclab.data.row import RowError
from rubriclab.data.scale import Scale
from rubriclab.errors import DataError
from rubriclab.option_names import option
from rubriclab.report.wording import count
from rubriclab.services.workspace import Notify

# A path or `-`, rows as mappings, texts, examples, or a table of one of the well-known libraries.
Data = Any

# Bytes read at once.
BLOCK = 2**20


def rows_of(data: Data, options: ReadingOptions, notify: Notify = lambda _text: None) -> Rows:
    """Return the rows of `data` as examples and faults, read as they are asked for.

    `notify` is told what a file is taken for, where its content was decisive.

    Raises:
        DataError: if `data` is nothing that has rows, or a file that cannot be read.
        SettingsError: for an option that does not apply to the file.
    """
    if isinstance(data, str | Path):
        rows = read(data, options)
        if note := rows.source.note():
            notify(note)
        return rows
    if isinstance(data, Rows):
        return data
    return from_rows(data, options=options)


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


def repeated_id(ids: Iterable[str | None]) -> tuple[int, int] | None:
    """Return the places, from 0, of an id that is given twice; `None` if there is none."""
    places: dict[str, int] = {}
    for place, given in enumerate(ids):
        if given is not None and (first := places.setdefault(given, place)) != place:
            return first, place
    return None


def describe(data: Data) -> str:
    """Return what data is called in messages: its path, or else `the data`."""
    return str(data) if isinstance(data, str | Path) else "the data"


def usable_texts(
    data: Data, options: ReadingOptions, aspects: Iterable[tuple[str, Scale]], notify: Notify
) -> tuple[Example, ...]:
    """Return the texts of `data`; those that people only compared with others get labels for the aspects too.

    Rows that cannot be used are left out, and `notify` is told which and why.
    """
    rows = rows_of(data, options, notify)
    read_rows = list(rows)
    notify_skipped(rows, notify)
    for row in read_rows:
        if not isinstance(row, Example):
            notify(f"left out: {row}")
    examples, aspects = tuple(row for row in read_rows if isinstance(row, Example)), tuple(aspects)
    for note in chain.from_iterable(
        not_assessed(rows, aspect) for aspect in dict.fromkeys(name for name, _ in aspects)
    ):
        notify(note)
    return _with_compared(examples, rows, aspects, notify)


def usable_examples(rows: Rows, notify: Notify, name: str = "") -> Iterator[Example]:
    """Yield the texts as they are read, and say which rows, of the set with this name, cannot be used.

    Raises:
        DataError: if no row can be used.
    """
    usable = total = 0
    for row in rows:
        total += 1
        if isinstance(row, Example):
            usable += 1
            yield row
        else:
            notify(f"left out of {name}: {row}" if name else f"left out: {row}")
    notify_left_out(rows, notify)
    if not usable:
        raise DataError(f"None of the {total} rows of {name or rows.where} can be used.", "Fix the rows named above.")


def notify_skipped(rows: Rows, notify: Notify) -> None:
    """Say how many faulty rows, and faulty scores of other rows, were left out as asked for."""
    found = {"faulty row": rows.skipped, "faulty score": rows.skipped_scores}
    left_out = [count(number, what) for what, number in found.items() if number]
    if left_out:
        notify(f"left out: {' and '.join(left_out)} ({option('skip_faulty')}); the first: {rows.first_skipped}")


def notify_left_out(rows: Rows, notify: Notify) -> None:
    """Say how many faulty rows were left out as asked for, and how many rows compared texts without use."""
    notify_skipped(rows, notify)
    if rows.comparisons:
        lines = len({line for line, _ in rows.comparisons})
        notify(f"{count(lines, 'row')} left out that hold no text, but compare others")


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


class ReadRow(NamedTuple):
    """A row as it came, and its text unless it is faulty."""

    row: Any
    example: Example | None


def remembered(rows: Rows, ahead: deque[ReadRow]) -> Iterator[Example | RowError]:
    """Yield the rows, keeping each as it came until its score is here."""
    for row in rows:
        ahead.append(ReadRow(rows.row, row if isinstance(row, Example) else None))
        yield row


def cell_of(row: Any, column: str) -> Any:
    """Return the cell of a row in a column or under a dotted path; `None` if there is none."""
    cells = {name: getattr(row, name) for name in FIELDS} if isinstance(row, Example) else row
    found = look_up(cells, column) if isinstance(cells, Mapping) else None
    return None if found is ABSENT else found


def own_columns(row: Any, mapping: FieldMap) -> dict[str, Any]:
    """Return the columns of a user's row that are no fields and are not mapped to any."""
    used = {*FIELDS, *(column.partition(".")[0] for column in mapping.columns.values()), *mapping.columns.values()}
    columns = row.items() if isinstance(row, Mapping) else ()
    return {str(name): cell for name, cell in columns if name not in used and str(name).partition(".")[0] not in TABLES}
