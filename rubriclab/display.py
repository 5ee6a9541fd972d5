"""Results that display themselves, in a terminal by rich and in a notebook as HTML, and the wording of messages.

A message has options such as `scale=1:5` and commands in backticks. `with_long_options` rewrites both for the command
line, and `as_python` rewrites them as arguments and calls.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rubriclab.models.characters import comma_values, quote


class Document(str):
    """A document with a short repr, so that it does not fill the screen."""

    def __repr__(self) -> str:
        return f"<document of {len(self):,} characters>"


class Displayed:
    """Base of results that are displayed by the `View` that `view` returns."""

    def view(self) -> Any:
        """Return the result as a `View`, which can also be written as a page, as Markdown or as CSV."""
        from rubriclab.report import view_of

        return view_of(self).with_commands_rewritten_by(python_call)

    def to_frame(self) -> Any:
        """Return the numbers in the tables as a pandas data frame, with a row for each number and its interval."""
        return self.view().to_frame()

    def __rich__(self) -> Any:
        return self.view().__rich__()

    def _repr_html_(self) -> str:
        return str(self.view()._repr_html_())

    def _repr_mimebundle_(self, **_kwargs: object) -> dict[str, str]:
        """Return what a notebook shows and stores: HTML, and the view as plain text instead of the repr."""
        return {"text/html": self._repr_html_(), "text/plain": str(self)}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: print() shows it>"

    def __str__(self) -> str:
        return str(self.view())


# Text in quotation marks may come from a file; it is matched so that nothing in it is rewritten. Text in backticks is a
# command, or an option with or without a value.
_QUOTED_OR_IN_BACKTICKS = re.compile(
    r"""(?s)(?<!\w)(?P<mark>['"])(?:\\.|(?!(?P=mark)).)*?(?P=mark)(?!\w)"""
    r"|`(?:(?P<option>\w+)(?:=(?P<value>[^`]*))?|(?P<command>rubriclab [^`]+))`"
)

# Words in the place of a file, a rubric or a judge in commands that pages and messages show.
PLACEHOLDERS = ("LABELLED", "OTHER_LABELLED", "TEXTS", "RUBRIC", "NAME", "MODEL", "TASK", "ASPECT")
# The commands that pages and messages show, each a method of `Lab` by the same name, except that `show` is `load`.
COMMANDS = ("evaluate", "export", "gate", "learn", "plan", "score", "show", "transfer", "trust", "verify")
# The names of Python arguments that differ from the option's name. `--details` and `--evidence` stand for whole calls.
RENAMED_OPTIONS = {"levels": "level_scores", "map": "mapping", "method": "methods"}
RENAMED_OPTIONS |= {"details": "view().page()", "evidence": "lab.report"}


def with_long_options(text: str, long_names: Mapping[str, str], rewrite_command: Callable[[str], str] = str) -> str:
    """Return a message with its options in long form, `--scale 1:5` for "`scale=1:5`", and its commands rewritten."""

    def rewrite(match: re.Match[str]) -> str:
        if match["command"]:
            return f"`{rewrite_command(match['command'])}`"
        if match["option"] not in long_names:
            return match[0]
        long_name, value = long_names[match["option"]], match["value"]
        return f"{long_name} {shlex.quote(value)}" if value else long_name

    return _QUOTED_OR_IN_BACKTICKS.sub(rewrite, text)


def as_python(text: str) -> str:
    """Return a message with its options as arguments, `scale="1:5"` for "`scale=1:5`", and its commands as calls."""

    def rewrite(match: re.Match[str]) -> str:
        value = match["value"]
        if match["command"]:
            return f"`{python_call(match['command'])}`"
        # One quoted text or an object is a Python value already; a comma list such as `"a, b",c` is not.
        if not value or re.fullmatch(r'"(\\.|[^"\\])*"|\{.*\}', value, re.DOTALL):
            return match[0]
        return f"`{python_argument(match['option'], value)}`"

    return _QUOTED_OR_IN_BACKTICKS.sub(rewrite, text)


def python_call(text: str) -> str:
    """Return a command as a call, `lab.trust("news@1")`, and an option as an argument; other text is unchanged."""
    try:
        words = shlex.split(text)
    except ValueError:
        return text
    if text.startswith("--"):
        return _python_arguments(words) if len(words) > 1 else _argument_name(words[0])
    name = words[1] if len(words) > 1 and words[0] == "rubriclab" else ""
    if name not in COMMANDS:
        return text
    method = "load" if name == "show" else name
    arguments = _python_arguments(words[2:])
    call = f"lab.{method}({arguments})" if arguments else f"lab.{method}"
    return f"print({call})" if name == "show" else call


def _python_arguments(words: Iterable[str]) -> str:
    """Return the words after a command's name as arguments. The rubrics of `--rubric` follow the positional words."""
    positional, values_by_option = list[str](), dict[str, list[str]]()
    current = positional  # the list to which the next value belongs
    for word in words:
        if word.startswith("--"):
            current = values_by_option.setdefault(word, [])
        else:
            current.append(word)
    arguments = [_python_value(word) for word in positional]
    if rubrics := [_python_value(value) for value in values_by_option.pop("--rubric", [])]:
        arguments.append(rubrics[0] if len(rubrics) == 1 else f"[{', '.join(rubrics)}]")
    for long_name, values in values_by_option.items():
        name = _argument_name(long_name)
        if name in ("methods", "literature_without"):
            arguments.append(f"{name}=[{', '.join(map(_python_value, values))}]")
        elif values and values[0] in PLACEHOLDERS:
            arguments.append(f"{name}={values[0]}")
        else:
            arguments.append(python_argument(name, " ".join(values)))
    return ", ".join(arguments)


def _argument_name(long_name: str) -> str:
    name = long_name.removeprefix("--").replace("-", "_")
    return RENAMED_OPTIONS.get(name, name)


def _python_value(word: str) -> str:
    return word if word in PLACEHOLDERS else quote(word)


def python_argument(name: str, value: str) -> str:
    """Return an option as Python's argument, `scale="1:5"`; an option without a value is a flag, `force=True`."""
    if not value:
        return f"{name}=True"
    # `missing` lists texts that mean "no value"; they may look like numbers.
    if name != "missing" and re.fullmatch(r"\d+(\.\d+)?", value):
        return f"{name}={value}"
    argument: Any = value
    if name == "mapping":
        argument = dict(pair.split("=", 1) for pair in comma_values(value) if "=" in pair)
    elif name == "settings":
        dotted_name, _, setting_value = value.partition("=")
        method, _, setting = dotted_name.partition(".")
        argument = {method: {setting: setting_value}}
    return f"{name}={json.dumps(argument, ensure_ascii=False)}"
