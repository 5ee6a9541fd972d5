"""The parsers of the commands that the documentation shows."""

from __future__ import annotations

import importlib
import re
import shlex
import tomllib
from argparse import ArgumentParser
from collections.abc import Collection

import click
import pytest
from commands import CHECKOUT

from experiments.commands import experiment
from rubriclab.cli.main import cli
from rubriclab.cli.options import SectionCommand
from rubriclab.integrations.pytest.plugin import pytest_addoption

EXTRAS = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
TARGETS = re.findall(r"^([\w-]+):", (CHECKOUT / "Makefile").read_text("utf-8"), re.MULTILINE)


def parse(words: list[str]) -> None:
    """Parse a shell command as the program that it starts does, without running it.

    Raises:
        ValueError: if the program would refuse it, or is not known here.
    """
    match words:
        case ["rubriclab", *arguments] | ["uvx", "--from", _, "rubriclab", *arguments]:
            _parse_by_click(cli, "rubriclab", arguments)
        case ["python", "-m", "experiments", *arguments]:
            _parse_by_click(experiment, "python -m experiments", arguments)
        case ["python", "-m", module, *arguments]:
            _parse_by_argparse(module, arguments)
        case ["pytest", *arguments]:
            _parse_by_pytest(arguments)
        case ["make", *targets]:
            _expect(targets, TARGETS, "a target of the Makefile")
        case ["pip", "install" | "wheel", *packages]:
            listed = [names for package in packages for names in re.findall(r"^rubriclab\[(.+)\]$", package)]
            extras = [extra for names in listed for extra in names.split(",")]
            _expect(extras, EXTRAS, "an extra of rubriclab")
        case _:
            raise ValueError(f"no parser for `{shlex.join(words)}`: add one, or name the program in test_docs.py")


def _parse_by_click(group: click.Group, name: str, arguments: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for kind in (click.Command, SectionCommand):
            patch.setattr(kind, "invoke", lambda _command, _context: None)
        try:
            group.main(arguments, prog_name=name, standalone_mode=False)
        except click.UsageError as error:
            raise ValueError(f"`{name} {shlex.join(arguments)}`: {error.format_message()}") from error


def _parse_by_pytest(arguments: list[str]) -> None:
    """Parse the paths and the options of the plugin; pytest's own options are not known here."""
    parser = pytest.Parser(_ispytest=True)
    pytest_addoption(parser)
    try:
        parser.parse(arguments)
    except pytest.UsageError as error:
        raise ValueError(str(error)) from error


def _parse_by_argparse(module: str, arguments: list[str]) -> None:
    """Stop the module's own `main` once its parser has accepted the arguments."""

    def refuse(_parser: ArgumentParser, message: str) -> None:
        raise ValueError(f"`python -m {module} {shlex.join(arguments)}`: {message}")

    parsed = ArgumentParser.parse_args

    def parse_and_stop(parser: ArgumentParser) -> None:
        parsed(parser, arguments)
        raise StopIteration

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArgumentParser, "error", refuse)
        patch.setattr(ArgumentParser, "parse_args", parse_and_stop)
        with pytest.raises(StopIteration):
            importlib.import_module(module).main()


def _expect(given: list[str], known: Collection[str], what: str) -> None:
    if unknown := [each for each in given if each not in known]:
        raise ValueError(f"{unknown} is not {what}")
