"""Options and commands as messages name them: `--max-cost` on the command line, `max_cost` from Python.

A message is written before it is known who reads it. `option` and `command` return placeholders, which `for_reader`
replaces when the message is shown. A placeholder stands between characters of Unicode's private use area, so that text
quoted from a file is never taken for one.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from rubriclab.models.characters import comma_values

_OPEN, _SEPARATOR, _BETWEEN, _CLOSE = "\ue000", "\ue001", "\ue002", "\ue003"
# Methods of `Lab` whose commands have another name.
_METHODS = {"list": "versions", "log": "versions", "show": "load", "import": "import_"}
# Commands that need neither data nor a version.
_WITHOUT_ARGUMENT = ("list", "verify", "batches", "mcp", "literature list")
# Characters that a shell does not take literally.
_SPECIAL = re.compile(r"[\s;&|<>()$`\\\"'*?\[\]{}~#!]")
_PLACEHOLDER = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")


def option(name: str, *values: str) -> str:
    """Return the placeholder of an option, given as Python names it: `option("scale", "1:5")`.

    One that may be given several times has several values: `option("judges", "JUDGE", "OTHER")`.
    """
    return f"{_OPEN}{_SEPARATOR.join(('option', name, _BETWEEN.join(values)))}{_CLOSE}"


def command(name: str, argument: str = "", **options: str) -> str:
    """Return the placeholder of a command: `command("learn", "…", task="story")`; an option without value is `""`.

    `argument` is a value, or `…` for data that only the reader has.
    """
    pairs = _BETWEEN.join(f"{option}={value}" for option, value in options.items())
    return f"{_OPEN}{_SEPARATOR.join(('command', name, argument, pairs))}{_CLOSE}"


def by_reader(*, python: str, command_line: str) -> str:
    """Return the placeholder of what is said in other words to somebody who calls Python."""
    return f"{_OPEN}{_SEPARATOR.join(('words', python, command_line))}{_CLOSE}"


RUN_AGAIN = by_reader(python="Make the same call again", command_line="Run the same command again")


def close_match(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is closest to a misspelt one, or `None` if none is close."""
    return next(iter(difflib.get_close_matches(str(name), list(known), n=1)), None)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question that names the known name closest to `name`, with a space after it; empty if none is close."""
    close = close_match(name, known)
    return f"Did you mean {close!r}? " if close else ""


def in_python(text: str) -> str:
    """Return a message for somebody who calls Python: `scale='1:5'`, `lab.trust('news@1')`.

    Options with a value are keyword arguments, commands are calls; `...` stands for data that only the reader has.
    """

    def call(name: str, argument: str, options: Mapping[str, str]) -> str:
        values = [repr(argument)] if argument.strip("…") else [] if name in _WITHOUT_ARGUMENT else ["..."]
        values += [_keyword(key, value) if value else f"{key}=True" for key, value in options.items()]
        return f"lab.{_METHODS.get(name, name.replace(' ', '_'))}({', '.join(values)})"

    return _replaced(text, _Reader(_argument, call, lambda python, _command_line: python))


def _argument(name: str, values: Sequence[str]) -> str:
    if len(values) > 1:
        return f"{name}={list(values)!r}"
    return _keyword(name, values[0]) if values else name


def _keyword(name: str, value: str) -> str:
    """Return a keyword argument, with the value that the text on the command line stands for."""
    key, _, rest = value.partition("=")
    if name == "mapping" and rest:
        pairs = (pair.partition("=") for pair in comma_values(value))
        return f"{name}={ {field: column for field, _, column in pairs}!r}"
    if name == "settings" and rest:
        method, _, setting = key.partition(".")
        return f"{name}={ {method: {setting: _literal(rest)}}!r}"
    return f"{name}={_literal(value)!r}"


def _literal(text: str) -> Any:
    """Return the value of a text as `--set` reads it: JSON, or else the text itself."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def on_command_line(text: str, flags: Mapping[str, str] | None = None) -> str:
    """Return a message for somebody who types commands: `--scale 1:5`, `rubriclab trust news@1`.

    `flags` maps names of options to their flags where these differ: `methods` to `--method`.
    """

    return _replaced(text, _typed(flags or {}))


def with_flags(text: str, flags: Mapping[str, str]) -> str:
    """Return a message for somebody who calls Python, but gives the options in `flags` to another program by its flags.

    Commands are those of the command line.
    """
    typed = _typed(flags)

    def written(name: str, values: Sequence[str]) -> str:
        return typed.option(name, values) if name in flags else _argument(name, values)

    return _replaced(text, _Reader(written, _typed({}).command, typed.words))


def _typed(flags: Mapping[str, str]) -> _Reader:
    def flag(name: str, value: str) -> str:
        written = flags.get(name) or f"--{name.replace('_', '-')}"
        return f"{written} {_quoted(value)}".rstrip()

    def line(name: str, argument: str, options: Mapping[str, str]) -> str:
        return " ".join(
            filter(None, ["rubriclab", name, _quoted(argument), *(flag(*pair) for pair in options.items())])
        )

    def every_flag(name: str, values: Sequence[str]) -> str:
        return " ".join(flag(name, value) for value in values or ("",))

    return _Reader(every_flag, line, lambda _python, command_line: command_line)


def _quoted(value: str) -> str:
    """Return a value as a shell takes it; one that needs no quotation marks stays as it is."""
    return shlex.quote(value) if _SPECIAL.search(value) else value


@dataclass(frozen=True)
class _Reader:
    """How the placeholders are written for one kind of reader."""

    option: Callable[[str, Sequence[str]], str]
    command: Callable[[str, str, Mapping[str, str]], str]
    words: Callable[[str, str], str]


def _replaced(text: str, reader: _Reader) -> str:
    def written(match: re.Match[str]) -> str:
        kind, first, second, *rest = match[1].split(_SEPARATOR)
        if kind == "option":
            return reader.option(first, list(filter(None, second.split(_BETWEEN))))
        if kind == "words":
            return reader.words(first, second)
        pairs = [pair.partition("=") for pair in filter(None, rest[0].split(_BETWEEN))]
        return reader.command(first, second, {key: given for key, _, given in pairs})

    return _PLACEHOLDER.sub(written, text)


# Who reads the messages of this process: somebody who calls Python (`None`), or who types commands, with their flags.
# Not a context variable, because messages are also written in other threads.
_readers: list[Callable[[], Mapping[str, str]] | None] = [None]


def for_reader(text: str) -> str:
    """Return a message as the reader calls options and commands: Python by default."""
    if _OPEN not in text:
        return text
    flags = flags_of_reader()
    return in_python(text) if flags is None else on_command_line(text, flags)


def flags_of_reader() -> Mapping[str, str] | None:
    """Return the flags of somebody who types commands, as for `on_command_line`; `None` for a caller of Python."""
    flags = _readers[-1]
    return None if flags is None else flags()


@contextmanager
def reader_of_commands(flags: Callable[[], Mapping[str, str]]) -> Iterator[None]:
    """While it is entered, messages are for somebody who types commands; `flags` as for `on_command_line`."""
    _readers.append(flags)
    try:
        yield
    finally:
        _readers.pop()
