"""The README: its tour runs as it stands there, and it names every command."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from commands import CHECKOUT, Commands

from rubriclab.cli.config import Config, defaults_from
from rubriclab.cli.main import cli, every_command

README = (CHECKOUT / "README.md").read_text("utf-8")
TOUR = README[README.index("## A tour") : README.index("## Your own data")]
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", TOUR, re.DOTALL) for line in block.splitlines()]


def test_every_command_of_the_tour_works_in_the_order_given(tmp_path: Path) -> None:
    for folder in ("experiments", "stores"):
        (tmp_path / folder).symlink_to(CHECKOUT / folder)
    rubriclab = Commands(tmp_path)
    for line in COMMANDS:
        name, *arguments = shlex.split(line)
        assert name == "rubriclab"
        done = rubriclab(*arguments)
        assert done.code == 0, f"{line}\n{done.err}"
    scores = (tmp_path / "tour-scores.jsonl").read_text("utf-8").splitlines()
    assert len(scores) == len((CHECKOUT / "experiments/sample/heldout.jsonl").read_text("utf-8").splitlines())
    assert (tmp_path / "tour.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_the_tour_shows_two_versions_that_differ() -> None:
    learned = [line for line in COMMANDS if " learn " in line and "--name tour " in line]
    assert len(learned) == 2
    assert learned[0] != learned[1]


@pytest.mark.parametrize("command", sorted(every_command()))
def test_every_command_is_in_the_readme(command: str) -> None:
    assert re.search(rf"rubriclab {command}\b", README), f"`rubriclab {command}` is missing"


def test_the_configuration_shown_is_accepted(tmp_path: Path) -> None:
    shown = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
    assert shown
    file = tmp_path / "rubriclab.toml"
    file.write_text(shown.group(1), "utf-8")
    found = defaults_from(
        Config(file, True, file.read_bytes()), {name: command.params for name, command in every_command().items()}
    )
    assert found["learn"]["judge"]() == tomllib.loads(shown.group(1))["judge"]


def test_every_option_that_the_readme_names_exists() -> None:
    known = {name for command in (cli, *every_command().values()) for param in command.params for name in param.opts}
    named = set(re.findall(r"--[a-z][a-z-]+", README))
    assert named <= known | {"--help"}
