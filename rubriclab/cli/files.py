"""Where a command's rows go: a file, or standard output for `-`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from rubriclab.errors import DataError, SettingsError

if TYPE_CHECKING:
    from rubriclab.data.mapping import ReadingOptions
    from rubriclab.data.write import CsvDialect, WriteRow
    from rubriclab.report.render import View


def check_place(output: str) -> None:
    """Return if there is a folder for `output`.

    Raises:
        SettingsError: otherwise.
    """
    if output != "-" and not Path(output).absolute().parent.is_dir():
        raise SettingsError(f"{output} cannot be written: No such file or directory.")


def check_rows_place(output: str) -> None:
    """Return if rows can be written to `output`, in the format that its name says; errors as of `check_place`."""
    from rubriclab.data.write import check_writable

    check_place(output)
    if output != "-":
        check_writable(output)


EXPORTS = ("html", "markdown", "csv")


@contextmanager
def writing(output: str, after: int = 0) -> Iterator[Callable[[bytes], object]]:
    """Yield what writes to `output`.

    A file is opened with the first that is written: a run that is refused from the start leaves an earlier one as it
    was. Each content is written at once and as a whole, so that a process that is killed leaves no half of it behind.

    Args:
        after: bytes at the beginning of the file that are kept; what follows them is replaced.

    Raises:
        DataError: if the file cannot be opened or written, as on a full disk.
    """
    opened: list[IO[bytes]] = []

    def write(content: bytes) -> None:
        with _naming(output):
            if not opened:
                opened.append(sys.stdout.buffer if output == "-" else _opened(output, after))
            _write_whole(opened[0], content)

    try:
        yield write
    finally:
        with _naming(output):
            for file in opened:
                file.flush() if output == "-" else file.close()


def _opened(output: str, after: int) -> IO[bytes]:
    file = cast(IO[bytes], Path(output).open("r+b" if after else "wb", buffering=0))  # noqa: SIM115
    if after:
        file.truncate(after)
        file.seek(after)
    return file


def _write_whole(file: IO[bytes], content: bytes) -> None:
    """Write all of `content`, or, on a full disk, nothing of it."""
    left, start = memoryview(content), file.tell() if isinstance(file, FileIO) and file.seekable() else None
    try:
        while left:
            left = left[file.write(left) :]
    except OSError:
        if start is not None:
            with suppress(OSError):
                file.truncate(start)
        raise


@contextmanager
def writing_rows(
    output: str,
    *,
    always: bool = False,
    after: int = 0,
    dialect: CsvDialect | None = None,
    legend: Sequence[Mapping[str, Any]] = (),
) -> Iterator[WriteRow]:
    """Yield a function that writes a row in the format that the name of the file says: a table, or JSON Lines.

    JSON Lines are written as rows come, a table at the end, also if that is an error. With `always`, a file is written
    if there are no rows too, so that those of an earlier run do not stay. `after` is as in `writing`,
    `dialect` and `legend` are as in `rubriclab.data.write.writing_table`.

    Raises:
        DataError: if the file cannot be opened or written.
    """
    from rubriclab.data.write import COMMAS, json_line, table_kind, table_writer

    if output != "-" and table_kind(output):
        with table_writer(output, always=always, dialect=dialect or COMMAS, legend=legend) as write_row:
            yield write_row
        return
    with writing(output, after) as write:
        yield lambda row: write(json_line(row))
        if always:
            write(b"")


def dialect_of(texts: str, options: ReadingOptions) -> CsvDialect:
    """Return how a .csv file with the rows of `texts` is written: as `texts`, if that is one with semicolons."""
    from rubriclab.data.readers import raw_rows
    from rubriclab.data.write import COMMAS, dialect_like, table_kind

    is_csv = Path(texts).is_file() and table_kind(texts) == ".csv"
    return dialect_like(raw_rows(texts, options).source) if is_csv else COMMAS


@contextmanager
def _naming(output: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        # Whoever read our output has gone, which is no fault.
        raise
    except OSError as error:
        place = "standard output" if output == "-" else output
        raise DataError(f"{place} cannot be written: {error.strerror}.") from None


def check_exports(values: Mapping[str, Any]) -> None:
    """Return if there are folders for the exports that the options ask for.

    Raises:
        SettingsError: otherwise.
    """
    for name in EXPORTS:
        check_place(values.get(name) or "-")


def write_exports(view: View, values: Mapping[str, Any], *, page: View | None = None) -> None:
    """Write a view in each form that the options ask for; the HTML page shows `page`, if that is given.

    Raises:
        DataError: if a file cannot be written.
    """
    if path := values.get("html"):
        write_text(path, (page or view).page())
    for name, form in (("markdown", view.markdown), ("csv", view.csv)):
        if path := values.get(name):
            write_text(path, form())


def write_csv(path: str | None, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as CSV, if a path is given: a line each, with a column for every name that occurs.

    Raises:
        DataError: if the file cannot be written.
    """
    from rubriclab.data.write import csv_text, flatten

    if path:
        cells = [flatten(row) for row in rows]
        columns = list(dict.fromkeys(name for row in cells for name in row))
        write_text(path, csv_text([columns, *([row.get(name) for name in columns] for row in cells)]))


def write_text(path: str, text: str) -> None:
    """Write a file, and say so.

    Raises:
        DataError: if it cannot be written.
    """
    from rubriclab.cli.printing import note

    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}.") from None
    note(f"{path} written")
