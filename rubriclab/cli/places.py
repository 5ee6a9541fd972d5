"""Types of options whose values hold a path, so that a relative path in a configuration file can be resolved.

On the command line and in the environment a relative path is relative to the working folder. In a configuration file it
is relative to the folder of the file: the working folder may be somebody else's.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path

import click

from rubriclab.errors import SettingsError


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
