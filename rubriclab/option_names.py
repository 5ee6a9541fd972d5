"""Options and commands as messages name them: `--max-cost` on the command line, `max_cost` from Python.

A message is written before it is known who reads it. `option` and `command` return placeholders, which
`on_command_line` and `in_python` replace. A placeholder stands between characters of Unicode's private use area, so
that text quoted from a file is never taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_OPEN, _SEPARATOR, _CLOSE = "\ue000", "\ue001", "\ue002"
_PLACEHOLDER = re.compile(f"{_OPEN}(option|command){_SEPARATOR}([^{_SEPARATOR}]*){_SEPARATOR}([^{_CLOSE}]*){_CLOSE}")


def option(name: str, value: str = "") -> str:
    """Return the placeholder of an option, given as Python names it: `option("scale", "1:5")`."""
    return f"{_OPEN}option{_SEPARATOR}{name}{_SEPARATOR}{value}{_CLOSE}"


def command(name: str, argument: str = "") -> str:
    """Return the placeholder of a command: `command("trust", "news@1")`."""
    return f"{_OPEN}command{_SEPARATOR}{name}{_SEPARATOR}{argument}{_CLOSE}"


def in_python(text: str) -> str:
    """Return a message for somebody who calls Python: `scale=1:5`, `lab.trust('news@1')`."""

    def written(match: re.Match[str]) -> str:
        kind, name, value = match.groups()
        if kind == "option":
            return f"{name}={value}" if value else name
        return f"lab.{name}({value!r})" if value else f"lab.{name}()"

    return _PLACEHOLDER.sub(written, text)


def on_command_line(text: str, flags: Mapping[str, str] | None = None) -> str:
    """Return a message for somebody who types commands: `--scale 1:5`, `rubriclab trust news@1`.

    `flags` maps names of options to their flags where these differ: `methods` to `--method`.
    """

    def written(match: re.Match[str]) -> str:
        kind, name, value = match.groups()
        if kind == "option":
            flag = (flags or {}).get(name) or f"--{name.replace('_', '-')}"
            return f"{flag} {value}".rstrip()
        return f"rubriclab {name} {value}".rstrip()

    return _PLACEHOLDER.sub(written, text)
