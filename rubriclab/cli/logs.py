"""Log messages of a command: on standard error (`--verbose`) and in a file (`--log-file`), with keys masked."""

from __future__ import annotations

import logging
import os
import tempfile
import traceback
from pathlib import Path

import click

from rubriclab import __version__
from rubriclab.errors import SettingsError
from rubriclab.models.characters import one_line, plain

LOGGER = logging.getLogger("rubriclab")
LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"

_installed: list[logging.Handler] = []


class MaskingFormatter(logging.Formatter):
    """Formats a record on one line, and a traceback below it, without keys and characters that act on a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, followed by those of the traceback if the record has one."""
        from rubriclab.judges.providers import masked

        text = super().format(record)
        traceback = record.exc_text or ""
        line = one_line(masked(text.removesuffix(traceback)))
        return f"{line}\n{plain(masked(traceback))}" if traceback else line


class StandardError(logging.Handler):
    """Writes to the present `sys.stderr`, which a progress bar replaces while it is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record's line."""
        try:
            click.echo(self.format(record), err=True)
        except Exception:
            self.handleError(record)


def start_logging(verbose: int) -> None:
    """Send warnings to standard error, more with `verbose`.

    Args:
        verbose: 0 for warnings, 1 for retries, waits and progress too, 2 for every request.
    """
    stop_logging()
    level = LEVELS[min(verbose, len(LEVELS) - 1)]
    _install(StandardError(level), LINE if verbose else "warning: %(message)s")
    LOGGER.setLevel(level)


def log_to_file(file: Path, command: str) -> None:
    """Append everything that is logged to `file`, beginning with the name of the command.

    Raises:
        SettingsError: if the file cannot be written.
    """
    try:
        handler = logging.FileHandler(file, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise SettingsError(f"The log file {file} cannot be written: {error.strerror}.") from None
    _install(handler, LINE)
    LOGGER.setLevel(logging.DEBUG)
    logging.getLogger(__name__).info("rubriclab %s: %s", __version__, command)


def stop_logging() -> None:
    """Remove what `start_logging` installed."""
    while _installed:
        handler = _installed.pop()
        LOGGER.removeHandler(handler)
        handler.close()
    LOGGER.setLevel(logging.NOTSET)


def _install(handler: logging.Handler, line: str) -> None:
    handler.setFormatter(MaskingFormatter(line))
    LOGGER.addHandler(handler)
    _installed.append(handler)


# EX_SOFTWARE of sysexits.h: the fault is neither the user's nor the provider's.
EXIT_CODE = 70
# Set to 1, it shows the traceback on standard error instead of writing it to a file.
SHOW = "RUBRICLAB_TRACEBACK"
LONGEST = 300


def report_bug(error: Exception) -> int:
    """Say in one line that rubriclab failed, where the traceback is and what to do; return the exit code.

    Keys are masked in the line and in the traceback, which are made to be passed on.
    """
    from rubriclab.judges.providers import masked

    told = masked("".join(traceback.format_exception(error)))
    if os.environ.get(SHOW) == "1":
        click.echo(told, err=True)
        place = "the traceback is above"
    else:
        place = _written(told)
    what = f"{type(error).__name__}: {one_line(masked(str(error)))}"[:LONGEST]
    click.echo(
        f"error: rubriclab {__version__} has a bug: {what}. Please report it to the project that you have rubriclab "
        f"from; {place}.",
        err=True,
    )
    return EXIT_CODE


def _written(told: str) -> str:
    """Write the traceback to a file that only this user can read, and return where it is."""
    try:
        number, path = tempfile.mkstemp(prefix="rubriclab-bug-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(told)
    except OSError:
        return f"the traceback could not be written, {SHOW}=1 shows it"
    return f"the traceback is in {path}"
