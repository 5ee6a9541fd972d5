"""What a command writes is no input of it, no other output, and no database: checked before the command begins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

from rubriclab.cli.places import FileType, JudgeType, OutputType, StoreType
from rubriclab.errors import SettingsError

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
    from rubriclab.documents import is_database

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
    from rubriclab.judges.recording import PREFIX
    from rubriclab.store.engine import address, file_of

    for param, value in given:
        if isinstance(param.type, FileType) and not isinstance(param.type, OutputType):
            yield value
        elif isinstance(param.type, JudgeType) and value.startswith(PREFIX):
            path = value.removeprefix(PREFIX)
            yield path if Path(path).exists() else path.rpartition("#")[0] or path
    if config := context.find_root().obj:
        yield str(config.file)
    if stores := [param for param in context.command.params if isinstance(param.type, StoreType)]:
        store = file_of(address(context.params.get(str(stores[0].name))))
        yield from (f"{place}{end}" for place in ([store, store.resolve()] if store else []) for end in COMPANIONS)
