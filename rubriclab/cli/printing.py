"""Results as JSON or as a rich view."""

from __future__ import annotations

import io
import sys
from typing import Any

import click
import orjson

from rubriclab.provenance import Effort

# Columns of a view that is written to a file.
WIDTH = 100


def print_json(value: Any) -> None:
    """Print `value` as one indented JSON document."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def print_view(view: Any, *, err: bool = False) -> None:
    """Print a rich view, on standard error with `err`; plain text where that is no terminal."""
    from rich.console import Console

    Console(file=sys.stderr if err else sys.stdout, soft_wrap=False).print(view)


def view_text(view: Any) -> str:
    """Return a rich view as plain text."""
    from rich.console import Console

    lines = io.StringIO()
    Console(file=lines, width=WIDTH, color_system=None).print(view)
    return lines.getvalue()


def effort_row(effort: Effort) -> dict[str, Any]:
    """Return what a command took, in the form that scripts rely on."""
    return {
        "calls": {"asked": effort.calls, "answered_from_cache": effort.cached, "failed": effort.failed},
        "tokens": {"prompt": effort.prompt_tokens, "completion": effort.completion_tokens},
        "calls_by_stage": dict(effort.stages),
        "cost_usd": effort.cost_usd,
        "seconds": effort.seconds,
    }
