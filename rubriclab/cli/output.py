"""Where results go: what a command writes and prints, and which outputs it refuses.

In the order of the module: outputs that would overwrite something are refused; files and rows are written; results are
printed; and `Call`, the running command, uses all this.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

import click
import orjson

from rubriclab import data, ops
from rubriclab.cli.options import for_command_line, long_name, note, param_values, path_kind_of, with_complete_commands
from rubriclab.errors import RubriclabError, SettingsError
from rubriclab.models.characters import count

if TYPE_CHECKING:
    from rubriclab.base_options import Options
    from rubriclab.data.write import CsvDialect, WriteRow
    from rubriclab.learning.estimate import DryRun
    from rubriclab.models.version import Effort
    from rubriclab.ops.workspace import Job, Workspace
    from rubriclab.report.render import View
    from rubriclab.store.store import Store, StoreAccess

# Exit codes by the outcome: of `gate` (such as better), `compare` and `drift` (within, beyond), `--fail-under` (met).
EXIT_CODES = {
    **dict.fromkeys(("better", "within", "met"), 0),
    **dict.fromkeys(("worse", "not better", "beyond", "not met"), 1),
    "inconclusive": 3,
}
# Endings of a database's file and of the files that SQLite keeps beside it while it is open.
DATABASE_ENDINGS = ("", "-wal", "-shm", "-journal")
EXPORT_OPTIONS = ("html", "markdown", "csv")

OptionsT = TypeVar("OptionsT", bound="Options")
T = TypeVar("T")


def check_outputs(context: click.Context) -> None:
    """Refuse outputs that would overwrite the command's store, an input, another output or any database.

    At most one output goes to standard output, and none beside the JSON of a result.
    """
    params_and_values = [*param_values(context.find_root()), *param_values(context)]
    outputs: list[tuple[str, str]] = []  # the option and the path of each output file
    printing_options: list[str] = []
    for param, path in params_and_values:
        if path_kind_of(param) == "output" and path == "-":
            printing_options.append(long_name(param))
        elif path_kind_of(param) == "output":
            outputs.append((long_name(param), path))
    used_files = list(_used_files(context, params_and_values)) if outputs else []
    if context.params.get("as_json") and not context.params.get("dry_run"):
        printing_options.append("--json")
    if len(printing_options) > 1:
        problem = f"{printing_options[0]} and {printing_options[1]} would both be written to standard output."
        raise SettingsError(problem, f"Give {printing_options[0]} PATH.")
    for option, path in outputs:
        refuse_overwriting(path, option, used_files)
    for (option, path), (other_option, other_path) in combinations(outputs, 2):
        if same_file(path, other_path):
            problem = f"{option} and {other_option} would both be written to {other_path}."
            raise SettingsError(problem, "Give each its own PATH.")


def refuse_overwriting(path: str, option: str, used_files: list[str]) -> None:
    from rubriclab.models.base import is_sqlite_file

    outputs = [path]
    if data.write.table_ending(path):
        outputs.append(str(data.write.partial_path(path)))
    for file in used_files:
        if any(same_file(output, file) for output in outputs):
            raise SettingsError(f"{option} would overwrite {file}, which this command uses.", "Give another PATH.")
    if is_sqlite_file(Path(path)):
        raise SettingsError(f"{option} would overwrite {path}, which is a database.", "Give another PATH.")


def same_file(path: str, other_path: str) -> bool:
    """Return whether two paths lead to the same file, which need not exist; `False` for devices and pipes."""
    first, second = Path(path), Path(other_path)
    if first.exists() and second.exists():
        return not first.is_char_device() and not first.is_fifo() and first.samefile(second)
    return os.path.normcase(os.path.realpath(first)) == os.path.normcase(os.path.realpath(second))


def _used_files(context: click.Context, params_and_values: list[tuple[click.Parameter, str]]) -> Iterator[str]:
    from rubriclab.judges.cache import RECORDED_PREFIX
    from rubriclab.store.tables import database_url, sqlite_file

    for param, value in params_and_values:
        if path_kind_of(param) == "input":
            yield value
        elif path_kind_of(param) == "judge" and value.startswith(RECORDED_PREFIX):
            path = value.removeprefix(RECORDED_PREFIX)
            if not Path(path).exists():  # it may be PATH#JUDGE
                path = path.rpartition("#")[0] or path
            yield path
    if config := context.find_root().obj:
        yield str(config.file)
    has_store = any(path_kind_of(param) == "store" for param in context.command.params)
    store = sqlite_file(database_url(context.params["store"])) if has_store else None
    if store:
        for file in (store, store.resolve()):
            yield from (f"{file}{ending}" for ending in DATABASE_ENDINGS)


def check_folder_exists(output: str) -> None:
    if output != "-" and not Path(output).absolute().parent.is_dir():
        raise SettingsError(f"{output} cannot be written: No such file or directory.")


def check_rows_file(output: str) -> None:
    check_folder_exists(output)
    if output != "-":
        data.write.check_writable(output)


@contextmanager
def writing(output: str, kept_bytes: int = 0) -> Iterator[Callable[[bytes], object]]:
    """Yield a function that writes to `output`, after the first `kept_bytes` of the file.

    The first write opens the file, so a refused run leaves an earlier file unchanged. Writes are not
    buffered, so a killed process leaves each one whole or not at all.
    """
    file: IO[bytes] | None = None

    def write(content: bytes) -> None:
        nonlocal file
        with data.write.name_in_errors(output):
            if file is None and output == "-":
                file = sys.stdout.buffer
            elif file is None:
                file = cast(IO[bytes], Path(output).open("r+b" if kept_bytes else "wb", buffering=0))  # noqa: SIM115
                if kept_bytes:
                    file.truncate(kept_bytes)
                    file.seek(kept_bytes)
            data.write.append_whole(file, content)

    try:
        yield write
    finally:
        with data.write.name_in_errors(output):
            if file:
                file.flush() if output == "-" else file.close()


@contextmanager
def writing_rows(
    output: str,
    *,
    empty_too: bool = False,
    kept_bytes: int = 0,
    dialect: CsvDialect | None = None,
    legend: Sequence[Mapping[str, Any]] = (),
) -> Iterator[WriteRow]:
    """Yield a function that writes a row in the format of the file's ending: a table, or JSON Lines.

    JSON Lines are written row by row, a table at the end. After an error, rows of a table go to `partial_path`. With
    `empty_too`, a run without rows replaces an earlier file by an empty one. The first `kept_bytes` of JSON Lines stay.
    A workbook's second sheet has the rows of `legend`.
    """
    if output != "-" and data.write.table_ending(output):
        dialect = dialect or data.write.COMMAS
        with data.write.table_writer(output, empty_too=empty_too, dialect=dialect, legend=legend) as write_row:
            yield write_row
        return
    with writing(output, kept_bytes) as write:
        yield lambda row: write(data.write.json_line(row))
        if empty_too:
            write(b"")


def write_rows(output: str, rows: Iterable[Mapping[str, Any]], dialect: CsvDialect | None = None) -> None:
    if output == "-":
        click.echo(b"".join(map(data.write.json_line, rows)), nl=False)
    else:
        data.write.write_rows(rows, output, dialect=dialect or data.write.COMMAS)


def write_text(output: str, text: str) -> None:
    if output == "-":
        click.echo(text.encode(), nl=False)
        return
    data.write.replace_file(output, text)
    note(f"{output} written")


@contextmanager
def noting_rows_on_error(write: WriteRow, output: str, remark: str = "") -> Iterator[WriteRow]:
    """Yield a function that calls `write`; after an error, note the number of rows that were written."""
    n_rows = 0

    def write_and_count(row: Mapping[str, Any]) -> None:
        nonlocal n_rows
        write(row)
        n_rows += 1

    if output != "-" and data.write.table_ending(output):
        remark = f", to {data.write.partial_path(output)}; run the same command again for all rows"
    try:
        yield write_and_count
    except (RubriclabError, KeyboardInterrupt):
        if n_rows:
            note(f"{count(n_rows, 'row')} written{remark}")
        raise


def print_json(value: Any) -> None:
    # Results may quote columns and cells of the user's file that are not valid UTF-8.
    click.echo(orjson.dumps(data.write.replace_surrogates(value), option=orjson.OPT_INDENT_2).decode())


def print_view(view: Any, *, err: bool = False) -> None:
    from rich.console import Console

    from rubriclab.report.terminal import UNCROPPED

    if isinstance(view, str):
        click.echo(view, nl=bool(view), err=err)
        return
    Console(file=sys.stderr if err else sys.stdout).print(with_complete_commands(view), **UNCROPPED)


def effort_row(effort: Effort) -> dict[str, Any]:
    tokens = {"prompt": effort.prompt_tokens, "completion": effort.completion_tokens}
    if effort.cached_prompt_tokens:
        tokens["prompt_from_provider_cache"] = effort.cached_prompt_tokens
    calls = {"made": effort.calls, "answered_from_cache": effort.cached, "failed": effort.failed}
    row: dict[str, Any] = {"calls": calls, "tokens": tokens, "calls_by_stage": dict(effort.stages)}
    row |= {"tokens_by_stage": dict(effort.stage_tokens), "cost_usd": effort.cost_usd}
    if effort.saved_usd:
        row["saved_by_provider_cache_usd"] = effort.saved_usd
    return row | {"seconds": effort.seconds}


class Call:
    """A running command (not a call of a judge): the values of its options by name, and where its results go."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.as_json = bool(values.get("as_json"))
        for name in EXPORT_OPTIONS:
            check_folder_exists(values.get(name) or "-")

    def options(self, options_class: type[OptionsT], **overrides: Any) -> OptionsT:
        """Return the options of an operation; options that were not given keep their defaults."""
        values = {name: overrides.get(name, self.values.get(name)) for name in options_class.model_fields}
        given_values = {name: value for name, value in values.items() if value not in (None, ()) and value is not False}
        return options_class(**given_values)

    def workspace(self) -> Workspace:
        from rubriclab.judges.options import JudgeOptions
        from rubriclab.running import regular_lines, terminal_bar

        record = self.values.get("record")
        return ops.workspace.Workspace(
            self.values["store"],
            self.options(JudgeOptions),
            notify=note,
            progress=terminal_bar if sys.stderr.isatty() else regular_lines,
            record=Path(record) if record else None,
            settings=ops.options.parse_settings(self.values.get("configured_hyperparameters") or ()),
        )

    def store(self, access: StoreAccess = "write") -> Store:
        from rubriclab.store.store import open_store

        return open_store(self.values["store"], create=False, access=access)

    def run(self, prepare: Callable[..., Job[T]], *arguments: Any) -> T:
        """Prepare an operation and return its result; with --dry-run, print the estimate and end the command."""
        with self.workspace() as workspace:
            job = prepare(workspace, *arguments)
            self.end_if_dry_run(job.estimate)
            return self.run_to_end(job.run)

    def run_to_end(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        from rubriclab.running import run_to_end

        return run_to_end(work)

    def end_if_dry_run(self, estimate: Callable[[], DryRun], remark: str = "") -> None:
        if not self.values.get("dry_run"):
            return
        if self.as_json:
            print_json(estimate().to_row())
        else:
            for line in estimate().lines():
                click.echo(for_command_line(line))
        if remark:
            note(remark)
        self.end(0)

    def end(self, code: int) -> None:
        click.get_current_context().exit(code)

    def print_result(self, result: Any, json_value: Any, *, err: bool = False) -> None:
        if self.as_json:
            print_json(json_value)
        else:
            print_view(result, err=err)

    def show(self, result: Any, json_value: Any, *, err: bool = False) -> None:
        """Print a result, and write it to the files that the `EXPORT_OPTIONS` name."""
        self.print_result(result, json_value, err=err)
        if any(self.values.get(name) for name in EXPORT_OPTIONS):
            self.export(result if hasattr(result, "markdown") else result.view())

    def show_rows(self, result: Any, json_value: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> None:
        if path := self.values["csv"]:
            flat_rows = [data.write.flatten(row) for row in rows]
            columns = list(dict.fromkeys(name for row in flat_rows for name in row))
            cells = ([row.get(name) for name in columns] for row in flat_rows)
            write_text(path, data.write.csv_text([columns, *cells]))
        self.print_result(result, json_value)

    def export(self, view: View, page: View | None = None) -> None:
        """Write a view in each form that an option asks for. The HTML page shows `page` if that is given."""
        page, view = with_complete_commands(page or view), with_complete_commands(view)
        for name, make_text in (("html", page.page), ("markdown", view.markdown), ("csv", view.csv)):
            if path := self.values.get(name):
                write_text(path, make_text())
