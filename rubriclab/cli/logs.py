"""Log messages of a command: on standard error (`--verbose`) and in a file (`--log-file`), with keys masked."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from rubriclab import __version__
from rubriclab.characters import one_line, plain
from rubriclab.errors import SettingsError
from rubriclab.masking import masked

LOGGER = logging.getLogger("rubriclab")
LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"

_installed: list[logging.Handler] = []


class MaskingFormatter(logging.Formatter):
    """Formats a record on one line, and a traceback below it, without keys and characters that act on a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, followed by those of the traceback if the record has one."""
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
