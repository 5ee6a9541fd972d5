"""Messages for the user of the command line, with options and commands in the form that can be typed.

Operations name options as in Python, "`scale=1:5`", and commands in short, "`rubriclab show news`". Here the option
becomes `--scale 1:5`, and the command gets those options of the running command that it needs, such as `--store`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

import click
from click.core import ParameterSource

from rubriclab import data
from rubriclab.cli.options import flag_of, param_values
from rubriclab.display import with_flags
from rubriclab.models.characters import plain


def note(text: str) -> None:
    click.echo(plain(for_command_line(text)), err=True)


def for_command_line(text: str) -> str:
    """Return a message with options as they are typed, `--scale 1:5` for "`scale=1:5`", and with complete commands."""
    return with_flags(text, flags(), complete_command)


def complete_command(command: str, running: click.Context | None = None) -> str:
    """Return a command with those options of the running command without which it would fail."""
    from rubriclab.cli.main import every_command

    if command.startswith("--"):  # an option alone
        return command
    # These words stand for files. If they have the columns of the file that was just read, its options are needed too.
    placeholders = {"LABELLED", "OTHER_LABELLED", "TEXTS"} & set(command.split())
    repeated_names = {"store", "mapping", "missing", "level_scores"} if placeholders else {"store"}
    named_commands = [each for name, each in every_command().items() if command.startswith(f"rubriclab {name}")]
    repeated_names &= {str(param.name) for each in named_commands for param in each.params}
    running = running or click.get_current_context(silent=True)
    for context in [running, running.find_root()] if running else []:
        for param, value in param_values(context):
            name, flag = str(param.name), flag_of(param)
            # The next command reads the environment and the configuration file itself.
            is_typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
            shown = data.mapping.drop_rating_fields(value) if name == "mapping" and "TEXTS" in placeholders else value
            if not is_typed or not shown or name not in {*repeated_names, "config"}:
                continue
            words = shlex.split(command)
            if flag not in words:
                # `--config` stands before the name of the command.
                index = 1 if name == "config" else len(words)
                command = shlex.join([*words[:index], flag, shown, *words[index:]])
            elif "LABELLED" not in words:
                # The command already has this option, for the data that a version was learned from. Only a command that
                # learns from these data again keeps it; in others, the option for the present data replaces it.
                words[words.index(flag) + 1] = shown
                command = shlex.join(words)
    return command


def with_complete_commands(view: Any) -> Any:
    original = view.view() if hasattr(view, "view") else view
    return original.with_forms(complete_command)


@cache
def flags() -> Mapping[str, str]:
    from rubriclab.cli.main import every_command

    params = [param for command in every_command().values() for param in command.params]
    return {str(param.name): flag_of(param) for param in params if isinstance(param, click.Option)}
