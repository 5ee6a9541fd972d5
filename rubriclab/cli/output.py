"""Types of options whose values hold a path, so that a relative path in a configuration file can be resolved.

On the command line and in the environment a relative path is relative to the working folder. In a configuration file it
is relative to the folder of the file: the working folder may be somebody else's.
"""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from io import FileIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

import click
import orjson

from rubriclab.errors import DataError, SettingsError
from rubriclab.models.characters import plain, with_flags

if TYPE_CHECKING:
    from rubriclab.base_options import Options
    from rubriclab.data.mapping import ReadingOptions
    from rubriclab.data.write import CsvDialect, WriteRow
    from rubriclab.learning.estimate import DryRun
    from rubriclab.models.version import Effort
    from rubriclab.ops.workspace import Job, Workspace
    from rubriclab.report.render import View


class PlaceType(click.ParamType):  # type: ignore[type-arg]
    """Base of the types of options whose values hold a path."""

    name = "text"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value as a string, as click's own type for text does."""
        return str(click.STRING.convert(value, param, ctx))

    def resolved(self, value: object, folder: Path) -> str:
        """Return `value` with a relative path taken from `folder`, unchanged if that is the working folder."""
        written = str(value)
        return written if folder == Path.cwd() else self._moved(written, folder)

    @abstractmethod
    def _moved(self, written: str, folder: Path) -> str: ...


class FileType(PlaceType):
    """A file or folder, or `-` for a standard stream."""

    def _moved(self, written: str, folder: Path) -> str:
        return written if written == "-" else str(folder / written)


class OutputType(FileType):
    """A file that a command writes, or `-`: none that it reads, no other output and no database."""


class StoreType(PlaceType):
    """A store: a path or a URL."""

    def _moved(self, written: str, folder: Path) -> str:
        from rubriclab.store.tables import resolve_store

        return resolve_store(written, folder)


class JudgeType(PlaceType):
    """A judge, which may be a recording: `recorded:PATH` or `recorded:PATH#JUDGE`."""

    def _moved(self, written: str, folder: Path) -> str:
        from rubriclab.judges.stack import PREFIX

        return PREFIX + str(folder / written.removeprefix(PREFIX)) if written.startswith(PREFIX) else written


FILE = FileType()
OUTPUT = OutputType()
STORE = StoreType()
JUDGE = JudgeType()


# What SQLite keeps beside a database while it is open.
COMPANIONS = ("", "-wal", "-shm", "-journal")


def check_outputs(context: click.Context) -> None:
    """Return if no output of a command would overwrite its store, an input, another output or any database.

    Raises:
        SettingsError: otherwise.
    """
    given = [(param, value) for each in (context.find_root(), context) for param, value in _given(each)]
    outputs = [(param, value) for param, value in given if isinstance(param.type, OutputType) and value != "-"]
    if not outputs:
        return
    inputs = list(_inputs(context, given))
    for place, (param, path) in enumerate(outputs):
        check_output(path, _flag(param), inputs)
        for other, other_path in outputs[:place]:
            if same_file(path, other_path):
                raise SettingsError(
                    f"{_flag(other)} and {_flag(param)} would both be written to {path}.", "Give each its own PATH."
                )


def check_output(path: str, name: str, inputs: list[str]) -> None:
    """Return if `path` is none of the inputs and no database.

    Raises:
        SettingsError: otherwise.
    """
    from rubriclab.models.base import is_database

    for read in inputs:
        if same_file(path, read):
            raise SettingsError(f"{name} would overwrite {read}, which this command uses.", "Give another PATH.")
    if is_database(Path(path)):
        raise SettingsError(f"{name} would overwrite {path}, which is a database.", "Give another PATH.")


def same_file(one: str, other: str) -> bool:
    """Return whether two paths lead to one file, by links too and before there is any file; devices never do."""
    first, second = Path(one), Path(other)
    if first.exists() and second.exists():
        return not first.is_char_device() and not first.is_fifo() and first.samefile(second)
    return os.path.normcase(os.path.realpath(one)) == os.path.normcase(os.path.realpath(other))


def _flag(param: click.Parameter) -> str:
    return next(name for name in param.opts if name.startswith("--"))


def _given(context: click.Context) -> Iterator[tuple[click.Parameter, str]]:
    for param in context.command.params:
        value = context.params.get(str(param.name))
        for each in value if isinstance(value, list | tuple) else (value,):
            if each is not None:
                yield param, str(each)


def _inputs(context: click.Context, given: list[tuple[click.Parameter, str]]) -> Iterator[str]:
    """Yield the files that a command reads, the configuration and the store with its companions among them."""
    from rubriclab.judges.stack import PREFIX
    from rubriclab.store.tables import database_url, sqlite_file

    for param, value in given:
        if isinstance(param.type, FileType) and not isinstance(param.type, OutputType):
            yield value
        elif isinstance(param.type, JudgeType) and value.startswith(PREFIX):
            path = value.removeprefix(PREFIX)
            yield path if Path(path).exists() else path.rpartition("#")[0] or path
    if config := context.find_root().obj:
        yield str(config.file)
    if stores := [param for param in context.command.params if isinstance(param.type, StoreType)]:
        store = sqlite_file(database_url(context.params.get(str(stores[0].name))))
        yield from (f"{place}{end}" for place in ([store, store.resolve()] if store else []) for end in COMPANIONS)


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

    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}.") from None
    note(f"{path} written")


def print_json(value: Any) -> None:
    """Print `value` as one indented JSON document."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def note(text: str) -> None:
    """Say something to the person at the terminal, beside the results."""
    click.echo(plain(as_typed(text)), err=True)


def as_typed(text: str) -> str:
    """Return a message with options as they are typed: `--scale 1:5` for "`scale=1:5`"."""
    return with_flags(text, flags())


@cache
def flags() -> Mapping[str, str]:
    """Return the flag of each option by its name in Python."""
    from rubriclab.cli.main import every_command

    params = [param for command in every_command().values() for param in command.params]
    return {str(param.name): max(param.opts, key=len) for param in params if isinstance(param, click.Option)}


def print_dry_run(result: DryRun, *, as_json: bool) -> None:
    """Print calls, tokens and money by role."""
    if as_json:
        print_json(result.to_row())
        return
    for line in result.lines():
        click.echo(as_typed(line))


def print_view(view: Any, *, err: bool = False) -> None:
    """Print a rich view, on standard error with `err`; plain text where that is no terminal."""
    from rich.console import Console

    Console(file=sys.stderr if err else sys.stdout, soft_wrap=False).print(view)


def print_result(view: View, row: Mapping[str, Any], values: Mapping[str, Any], *, as_json: bool) -> None:
    """Print a result as JSON or as its view, and write the exports that the options ask for."""

    if as_json:
        print_json(row)
    else:
        print_view(view)
    write_exports(view, values)


def effort_row(effort: Effort) -> dict[str, Any]:
    """Return what a command took, in the form that scripts rely on."""
    return {
        "calls": {"made": effort.calls, "answered_from_cache": effort.cached, "failed": effort.failed},
        "tokens": {
            "prompt": effort.prompt_tokens,
            "completion": effort.completion_tokens,
            **({"prompt_from_provider_cache": effort.cached_prompt_tokens} if effort.cached_prompt_tokens else {}),
        },
        "calls_by_stage": dict(effort.stages),
        "tokens_by_stage": dict(effort.stage_tokens),
        "cost_usd": effort.cost_usd,
        **({"saved_by_provider_cache_usd": effort.saved_usd} if effort.saved_usd else {}),
        "seconds": effort.seconds,
    }


OptionsT = TypeVar("OptionsT", bound="Options")
T = TypeVar("T")


def workspace_of(values: Mapping[str, Any]) -> Workspace:
    """Return the workspace that the options of a command say."""

    from rubriclab.judges.options import JudgeOptions
    from rubriclab.ops.learn import parse_settings
    from rubriclab.ops.workspace import Workspace, regular_lines, terminal_bar

    record = values.get("record")
    return Workspace(
        values["store"],
        options_of(JudgeOptions, values),
        notify=note,
        progress=terminal_bar if sys.stderr.isatty() else regular_lines,
        record=Path(record) if record else None,
        settings=parse_settings(values.get("configured") or ()),
    )


def run(values: Mapping[str, Any], prepare: Callable[..., Job[T]], *arguments: Any, as_json: bool) -> T | None:
    """Return the result of an operation; for a dry run, print an estimate of what it asks and return `None`."""
    from rubriclab.ops.workspace import finish

    with workspace_of(values) as workspace:
        job = prepare(workspace, *arguments)
        if values["dry_run"]:
            print_dry_run(job.estimate(), as_json=as_json)
            return None
        return finish(job.run)


def options_of(model: type[OptionsT], values: Mapping[str, Any]) -> OptionsT:
    """Return the options of an operation; those that were not given keep their defaults."""
    given = {name: values.get(name) for name in model.model_fields}
    return model(
        **{name: value for name, value in given.items() if not (value is None or value is False or value == ())}
    )
