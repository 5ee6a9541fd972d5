"""Results on standard output, as JSON or as a rich view."""

from __future__ import annotations

import sys
from typing import Any

import click
import orjson

from rubriclab.rubric import Effort


def print_json(value: Any) -> None:
    """Print `value` as one indented JSON document."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def print_view(view: Any) -> None:
    """Print a rich view; plain text where standard output is no terminal."""
    from rich.console import Console

    Console(file=sys.stdout, soft_wrap=False).print(view)


def effort_row(effort: Effort) -> dict[str, Any]:
    """Return what a command took, in the form that scripts rely on."""
    return {
        "calls": {"asked": effort.asked, "answered_from_cache": effort.cached, "failed": effort.failed},
        "tokens": {"prompt": effort.prompt_tokens, "completion": effort.completion_tokens},
        "cost_usd": effort.cost_usd,
        "seconds": effort.seconds,
    }
