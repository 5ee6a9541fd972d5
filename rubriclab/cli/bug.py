"""What a user is told when rubriclab itself fails: one line, and where the traceback is."""

from __future__ import annotations

import os
import tempfile
import traceback

import click

from rubriclab import __version__
from rubriclab.characters import one_line
from rubriclab.masking import masked

# EX_SOFTWARE of sysexits.h: the fault is neither the user's nor the provider's.
EXIT_CODE = 70
# Set to 1, it shows the traceback on standard error instead of writing it to a file.
SHOW = "RUBRICLAB_TRACEBACK"
LONGEST = 300


def report_bug(error: Exception) -> int:
    """Say in one line that rubriclab failed, where the traceback is and what to do; return the exit code.

    Keys are masked in the line and in the traceback, which are made to be passed on.
    """
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
