"""Types of options whose values hold a path, so that a relative path in a configuration file can be resolved.

On the command line and in the environment a relative path is relative to the working folder. In a configuration file it
is relative to the folder of the file: the working folder may be somebody else's.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

import click


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
    """A file that a command writes, or `-`: none that it reads, no other output and no database (`cli/outputs.py`)."""


class StoreType(PlaceType):
    """A store: a path or a URL."""

    def _moved(self, written: str, folder: Path) -> str:
        from rubriclab.store.engine import moved

        return moved(written, folder)


class JudgeType(PlaceType):
    """A judge, which may be a recording: `recorded:PATH` or `recorded:PATH#JUDGE`."""

    def _moved(self, written: str, folder: Path) -> str:
        from rubriclab.judges.recording import PREFIX

        return PREFIX + str(folder / written.removeprefix(PREFIX)) if written.startswith(PREFIX) else written


FILE = FileType()
OUTPUT = OutputType()
STORE = StoreType()
JUDGE = JudgeType()
