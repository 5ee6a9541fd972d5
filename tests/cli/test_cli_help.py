"""Help, and what the command line promises about all of its commands."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from commands import Commands

from rubriclab.base_options import SECTIONS
from rubriclab.cli.main import cli, every_command
from rubriclab.cli.options import ConfigurableOption
from rubriclab.lab import OPERATIONS

COMMANDS = sorted(cli.commands)
EVERY = every_command()


def test_help_of_the_group_names_every_command(rubriclab: Commands) -> None:
    done = rubriclab.script("--help")
    assert (done.code, done.err) == (0, "")
    listed = done.out.split("Every day:")[1]
    names = [line.split()[0] for line in listed.splitlines() if re.match(r"  \w", line)]
    assert sorted(names) == COMMANDS
    daily = "demo check label learn show report score evaluate compare studio"
    assert names[:10] == daily.split()
    assert "..." not in listed


def test_help_imports_nothing_that_takes_long() -> None:
    heavy = "{'litellm', 'numpy', 'scipy', 'sklearn', 'sqlmodel', 'sqlalchemy', 'pydantic', 'rich', 'jinja2', 'pandas'}"
    code = f"import sys, rubriclab.cli.main; print(sorted({heavy} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("command", sorted(OPERATIONS))
def test_a_command_takes_every_option_of_its_operation_with_the_values_of_its_type(command: str) -> None:
    name = command.replace("_", " ")
    model = OPERATIONS[command][0]
    options = {option.name: option for option in EVERY[name].params if isinstance(option, ConfigurableOption)}
    for field, info in model.model_fields.items():
        if (command, field) == ("drift", "anchor"):  # the command takes the file itself
            continue
        option = options[field]
        assert option.required == info.is_required()
        assert option.section in SECTIONS
        assert option.help
        if isinstance(info.default, bool):
            assert option.is_flag
        for limit in info.metadata:
            bounds = (getattr(limit, "ge", getattr(limit, "gt", None)), getattr(limit, "le", None))
            assert bounds[0] in (None, getattr(option.type, "min", bounds[0]))
            assert bounds[1] in (None, getattr(option.type, "max", bounds[1]))
