"""Options and commands as messages name them: `--max-cost` on the command line, `max_cost` from Python.

A message is written before it is known who reads it. `option` and `command` return placeholders, which
`on_command_line` and `in_python` replace. A placeholder stands between characters of Unicode's private use area, so
that text quoted from a file is never taken for one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping

_OPEN, _SEPARATOR, _BETWEEN, _CLOSE = "\ue000", "\ue001", "\ue002", "\ue003"
# Methods of `Lab` whose commands have another name.
_METHODS = {"list": "versions", "import": "import_"}
_PLACEHOLDER = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")


def option(name: str, value: str = "") -> str:
    """Return the placeholder of an option, given as Python names it: `option("scale", "1:5")`."""
    return f"{_OPEN}{_SEPARATOR.join(('option', name, value))}{_CLOSE}"


def command(name: str, argument: str = "", **options: str) -> str:
    """Return the placeholder of a command: `command("learn", task="story")`; an option without value is `""`."""
    pairs = _BETWEEN.join(f"{option}={value}" for option, value in options.items())
    return f"{_OPEN}{_SEPARATOR.join(('command', name, argument, pairs))}{_CLOSE}"


def in_python(text: str) -> str:
    """Return a message for somebody who calls Python: `scale=1:5`, `lab.trust('news@1')`."""

    def call(name: str, argument: str, options: Mapping[str, str]) -> str:
        values = [repr(argument)] if argument else []
        values += [f"{key}={value!r}" if value else f"{key}=True" for key, value in options.items()]
        return f"lab.{_METHODS.get(name, name)}({', '.join(values)})"

    return _replaced(text, lambda name, value: f"{name}={value}" if value else name, call)


def on_command_line(text: str, flags: Mapping[str, str] | None = None) -> str:
    """Return a message for somebody who types commands: `--scale 1:5`, `rubriclab trust news@1`.

    `flags` maps names of options to their flags where these differ: `methods` to `--method`.
    """

    def flag(name: str, value: str) -> str:
        written = (flags or {}).get(name) or f"--{name.replace('_', '-')}"
        return f"{written} {shlex.quote(value) if ' ' in value else value}".rstrip()

    def line(name: str, argument: str, options: Mapping[str, str]) -> str:
        return " ".join(filter(None, ["rubriclab", name, argument, *(flag(*pair) for pair in options.items())]))

    return _replaced(text, flag, line)


def _replaced(
    text: str, option: Callable[[str, str], str], command: Callable[[str, str, Mapping[str, str]], str]
) -> str:
    def written(match: re.Match[str]) -> str:
        kind, name, value, *rest = match[1].split(_SEPARATOR)
        if kind == "option":
            return option(name, value)
        pairs = [pair.partition("=") for pair in filter(None, rest[0].split(_BETWEEN))]
        return command(name, value, {key: given for key, _, given in pairs})

    return _PLACEHOLDER.sub(written, text)
