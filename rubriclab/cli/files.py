"""Where a command's rows go: a file, or standard output for `-`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rubriclab.errors import DataError, SettingsError


def check_place(output: str, texts: str, what: str, option: str) -> None:
    """Return if `what` can be written to `output`, as far as can be told before there is any of it.

    Raises:
        SettingsError: if there is no such folder, or `texts` would be overwritten.
    """
    if output != "-" and not Path(output).absolute().parent.is_dir():
        raise SettingsError(f"{output} cannot be written: No such file or directory.")
    if same_file(output, texts):
        raise SettingsError(f"{what} would overwrite {texts} while it is being read.", f"Give another {option}.")


def same_file(one: str, other: str) -> bool:
    """Return whether two paths, neither of them `-`, lead to one file, by links too and before there is any file."""
    if "-" in (one, other):
        return False
    there = Path(one).exists() and Path(other).exists()
    return os.path.realpath(one) == os.path.realpath(other) or (there and Path(one).samefile(other))


# Bytes read at once.
BLOCK = 2**20


@contextmanager
def writing(output: str) -> Iterator[Callable[[bytes], object]]:
    """Yield what writes to `output`.

    A file is opened with the first that is written: a run that is refused from the start leaves an earlier one as it
    was. At the end, also one that is forced, all of it has been written.

    Raises:
        DataError: if the file cannot be opened or written, as on a full disk.
    """
    opened: list[IO[bytes]] = []

    def write(content: bytes) -> None:
        with _naming(output):
            if not opened:
                opened.append(sys.stdout.buffer if output == "-" else Path(output).open("wb"))  # noqa: SIM115
            opened[0].write(content)

    try:
        yield write
    finally:
        with _naming(output):
            for file in opened:
                file.flush() if output == "-" else file.close()


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


def lines(path: Path) -> int:
    """Return how many lines a plain file has, for the bar; 0 where that is not the number of rows."""
    if path.suffix not in (".jsonl", ".ndjson") or not path.is_file():
        return 0
    with path.open("rb") as file:
        # By blocks: a line may be longer than the memory.
        return sum(block.count(b"\n") for block in iter(lambda: file.read(BLOCK), b""))
