"""What a command's options say, as a service takes it; results as JSON or as a rich view."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import orjson

from rubriclab.models.characters import plain, with_flags

if TYPE_CHECKING:
    from rubriclab.base_options import Options
    from rubriclab.learning.estimate import DryRun
    from rubriclab.models.version import Effort
    from rubriclab.ops.workspace import Workspace
    from rubriclab.report.render import View


def print_json(value: Any) -> None:
    """Print `value` as one indented JSON document."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def note(text: str) -> None:
    """Say something to the person at the terminal, beside the results."""
    click.echo(plain(as_typed(text)), err=True)


def as_typed(text: str) -> str:
    """Return a message with options as they are typed: `--scale 1:5` for "`scale=1:5`"."""
    return with_flags(text, flags())


@cache
def flags() -> Mapping[str, str]:
    """Return the flag of each option by its name in Python."""
    from rubriclab.cli.main import every_command

    params = [param for command in every_command().values() for param in command.params]
    return {str(param.name): max(param.opts, key=len) for param in params if isinstance(param, click.Option)}


def print_dry_run(result: DryRun, *, as_json: bool) -> None:
    """Print calls, tokens and money by role."""
    if as_json:
        print_json(result.to_row())
        return
    for line in result.lines():
        click.echo(as_typed(line))


def print_view(view: Any, *, err: bool = False) -> None:
    """Print a rich view, on standard error with `err`; plain text where that is no terminal."""
    from rich.console import Console

    Console(file=sys.stderr if err else sys.stdout, soft_wrap=False).print(view)


def print_result(view: View, row: Mapping[str, Any], values: Mapping[str, Any], *, as_json: bool) -> None:
    """Print a result as JSON or as its view, and write the exports that the options ask for."""
    from rubriclab.cli.files import write_exports

    if as_json:
        print_json(row)
    else:
        print_view(view)
    write_exports(view, values)


def effort_row(effort: Effort) -> dict[str, Any]:
    """Return what a command took, in the form that scripts rely on."""
    return {
        "calls": {"made": effort.calls, "answered_from_cache": effort.cached, "failed": effort.failed},
        "tokens": {
            "prompt": effort.prompt_tokens,
            "completion": effort.completion_tokens,
            **({"prompt_from_provider_cache": effort.cached_prompt_tokens} if effort.cached_prompt_tokens else {}),
        },
        "calls_by_stage": dict(effort.stages),
        "tokens_by_stage": dict(effort.stage_tokens),
        "cost_usd": effort.cost_usd,
        **({"saved_by_provider_cache_usd": effort.saved_usd} if effort.saved_usd else {}),
        "seconds": effort.seconds,
    }


OptionsT = TypeVar("OptionsT", bound="Options")


def workspace_of(values: Mapping[str, Any]) -> Workspace:
    """Return the workspace that the options of a command say."""

    from rubriclab.judges.options import JudgeOptions
    from rubriclab.ops.learn import parse_settings
    from rubriclab.ops.workspace import Workspace, regular_lines, terminal_bar

    record = values.get("record")
    return Workspace(
        values["store"],
        options_of(JudgeOptions, values),
        notify=note,
        progress=terminal_bar if sys.stderr.isatty() else regular_lines,
        record=Path(record) if record else None,
        settings=parse_settings(values.get("configured") or ()),
    )


def options_of(model: type[OptionsT], values: Mapping[str, Any]) -> OptionsT:
    """Return the options of an operation; those that were not given keep their defaults."""
    given = {name: values.get(name) for name in model.model_fields}
    return model(
        **{name: value for name, value in given.items() if not (value is None or value is False or value == ())}
    )
