"""The reference as Markdown: commands from click, public names from the package."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import click
from pydantic import BaseModel

import rubriclab
from rubriclab.cli.main import cli
from rubriclab.methods.catalogue import BUILT_IN, METHODS
from rubriclab.methods.method import Method

# The page of the public names whose module begins so; the longest beginning counts.
PAGES = {
    "lab": "lab",
    "": "data",
    "judges": "extensions",
    "methods": "extensions",
    "prompts": "extensions",
    "errors": "errors",
}


BEFORE = (
    "These stand before the command: `rubriclab --log-file night.log score ...`. All other options follow the command."
)


def command_reference() -> str:
    """Return a section for each section of commands, with usage, text and options of each command."""
    context = click.Context(cli, info_name="rubriclab")
    parts = ["## Options before the command", BEFORE, _options_of(cli, context)]
    for title, names in cli.sections.items():
        parts.append(f"## {title}")
        parts.extend(text for name in names for text in _command(cli.commands[name], context))
    return "\n\n".join(parts)


def _command(command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=command.name, parent=parent)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from _command(command.commands[name], context)
        return
    yield f"### {context.command_path}"
    yield f"```text\n{' '.join(command.get_usage(context).removeprefix('Usage: ').split())}\n```"
    yield _prose(command.help or "")
    yield _options_of(command, context)


def _prose(text: str) -> str:
    r"""Return a help text as Markdown: a paragraph after `\b` keeps its lines."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        f"```text\n{paragraph.removeprefix(chr(8)).strip(chr(10))}\n```"
        if paragraph.startswith("\b")
        else _escaped(paragraph)
        for paragraph in paragraphs
    )


def _options_of(command: click.Command, context: click.Context) -> str:
    sections: dict[str, list[str]] = {}
    for param in command.get_params(context):
        if isinstance(param, click.Option) and (record := param.get_help_record(context)):
            names, text = record
            line = f"- `{names}`: {_escaped(' '.join(text.split()))}" if text else f"- `{names}`"
            sections.setdefault(getattr(param, "section", "") or "Options", []).append(line)
    return "\n\n".join(f"**{title}**\n\n" + "\n".join(lines) for title, lines in sections.items())


def _escaped(text: str) -> str:
    """Return help text as Markdown that shows it as it is; what stands in backticks stays code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts = [text]
    plain = str.maketrans({mark: f"\\{mark}" for mark in "\\*_[]<>{}|#$~"})
    return "`".join(part if place % 2 else part.translate(plain) for place, part in enumerate(parts))


def method_reference() -> str:
    """Return a section for each built-in method: what it asks, its presets, and its settings with their defaults."""
    return "\n\n".join(text for name in BUILT_IN for text in _method(METHODS[name]))


def _method(method: Method) -> Iterator[str]:
    yield f"## {method.name}"
    yield f"{method.note[:1].upper()}{method.note[1:]}.{' A baseline.' if method.is_baseline else ''}"
    for preset, values in method.presets.items():
        yield f"`preset={preset}`: {', '.join(f'`{name}={value}`' for name, value in values.items())}."
    yield "\n".join(
        f"- `{name}` (default `{field.default}`): {_escaped(' '.join((field.description or '').split()))}"
        for name, field in method.settings.model_fields.items()
    )


def page_of(home: str) -> str:
    """Return the page of the public names that are defined in a module of rubriclab."""
    return PAGES[max((start for start in PAGES if f"{home}.".startswith(f"{start}.") or not start), key=len)]


def names_on(page: str) -> dict[str, list[str]]:
    """Return the public names of a page by the module that defines them, each as `MODULE.NAME`."""
    found: dict[str, list[str]] = {}
    for name, module in rubriclab._MODULE_OF.items():
        home = module.removeprefix("rubriclab.")
        if page_of(home) == page:
            found.setdefault(home.rstrip("."), []).append(f"rubriclab.{name}")
    return {home: sorted(names) for home, names in sorted(found.items())}


def python_reference(page: str) -> str:
    """Return the public names of a page, with a heading for each module; Sphinx fills in signatures and docstrings."""
    parts = []
    for home, names in names_on(page).items():
        parts.append(f"## {home}\n\nDefined in `rubriclab.{home}`.")
        parts.extend(_directive(name) for name in names)
    return "\n\n".join(parts)


def _directive(name: str) -> str:
    value: Any = getattr(rubriclab, name.rpartition(".")[2])
    if isinstance(value, ModuleType):
        return _block("automodule", value.__name__, (":members:",))
    if inspect.isclass(value):
        if issubclass(value, BaseModel):
            return _block("autoclass", name, (":members:", ":inherited-members: BaseModel"))
        return _block("autoclass", name, (":members:", *([":inherited-members:"] if value is rubriclab.Lab else [])))
    if callable(value):
        return _block("autofunction", name, ())
    return _block("autodata", name, (":no-value:",))


def _block(directive: str, argument: str, options: Iterable[str]) -> str:
    lines = (f".. {directive}:: {argument}", *(f"   {line}" for line in options))
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```"


GENERATED: dict[str, Callable[[], str]] = {
    "docs/reference/commands": command_reference,
    "docs/reference/methods": method_reference,
    **{f"docs/reference/{page}": lambda page=page: python_reference(page) for page in sorted({*PAGES.values()})},  # type: ignore[misc]
}
MARK = "<!-- generated -->"


def filled(page: str, text: str) -> str:
    """Return the text of a page with what is generated in place of the mark.

    Raises:
        ValueError: if a page with a generated part has no mark.
    """
    if page not in GENERATED:
        return text
    if MARK not in text:
        raise ValueError(f"{page}.md has no line {MARK}, where its generated part belongs")
    return text.replace(MARK, GENERATED[page]())
