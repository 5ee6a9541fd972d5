"""Texts in messages and on pages: invisible and control characters, descriptions of values, similar names."""

from __future__ import annotations

import csv
import difflib
import io
import json
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any

PREVIEW_LENGTH = 40
# JSON readers turn larger whole numbers into floats.
MAX_EXACT_INTEGER = 2**64
# Unicode categories of invisible characters: white space, controls, format characters (zero width), and marks, which
# need a base letter (variation selectors are among them).
_INVISIBLE = frozenset({"Cc", "Cf", "Mc", "Me", "Mn", "Zl", "Zp", "Zs"})
# Hangul fillers and the braille blank: letters or symbols by category, but shown as a space.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")

# Control characters, unusual line separators, marks that change the writing direction, and lone surrogates and
# noncharacters, which no file can hold. Right-to-left letters and their marks are kept.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def is_blank(text: str) -> bool:
    """Return whether `text` is empty or has only invisible characters."""
    return all(character in _BLANK or unicodedata.category(character) in _INVISIBLE for character in text)


def plain(text: str) -> str:
    """Return `text` with control characters written as escapes, such as `\\x1b`."""
    return _UNSAFE.sub(lambda match: ascii(match[0])[1:-1], text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    return " ".join(plain(text).split())


def comma_list(values: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()


def comma_values(text: str) -> list[str]:
    """Return the values in a text, without space around them; line breaks count as spaces."""
    row = next(csv.reader([" ".join(text.splitlines())], skipinitialspace=True))
    return [value.strip() for value in row]


def describe(value: Any) -> str:
    """Return a value, or what kind of value it is, as error messages name it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float | Decimal):
        is_large = isinstance(value, int) and abs(value) >= MAX_EXACT_INTEGER
        names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
        return "a whole number of more than 64 bits" if is_large else names.get(str(value).lower(), str(value))
    if isinstance(value, str):
        return _describe_text(value)
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, date | time):
        kind = "time" if isinstance(value, time) else "date"
        return f"the {kind} {value} (a spreadsheet may have made it from a number, such as 3.5)"
    return f"a list of {len(value)}" if isinstance(value, list | tuple) else f"a value of type {type(value).__name__}"


def _describe_text(text: str) -> str:
    if not text:
        return "an empty text"
    if is_blank(text):
        return "only white space" if text.isspace() else "only invisible characters"
    return f"the text {text!r}" if len(text) <= PREVIEW_LENGTH else f"a text that begins {text[:PREVIEW_LENGTH]!r}"


def preview(text: str) -> str:
    return repr(text if len(text) <= PREVIEW_LENGTH else f"{text[:PREVIEW_LENGTH]}…")


def close_match(name: object, names: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(str(name), list(names), n=1)), None)


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """Return a question that asks for the closest of `names`, with a space after it; empty if none is close."""
    close = close_match(name, names)
    return f"Did you mean {close!r}? " if close else ""


# Text in quotation marks may come from a file, and is matched only to be kept. Text in backticks is a command, or an
# option with or without a value.
_QUOTED_OR_TYPED = re.compile(
    r"""(?s)(?<!\w)(?P<mark>['"])(?:\\.|(?!(?P=mark)).)*?(?P=mark)(?!\w)"""
    r"|`(?:(?P<option>\w+)(?:=(?P<value>[^`]*))?|(?P<command>rubriclab [^`]+))`"
)

# Words in the place of a file, a rubric or a judge in commands that pages and messages show.
PLACEHOLDERS = ("LABELLED", "OTHER_LABELLED", "TEXTS", "RUBRIC", "NAME", "MODEL", "TASK", "ASPECT")
# The method of `Lab` for each command that pages and messages show.
LAB_METHODS = {"show": "load"} | {
    name: name for name in ("evaluate", "export", "gate", "learn", "plan", "score", "transfer", "trust", "verify")
}
# What Python has in place of a flag: an argument, or what shows the details that the flag adds to `compare` or `show`.
RENAMED_FLAGS = {"levels": "level_scores", "map": "mapping", "method": "methods"}
RENAMED_FLAGS |= {"details": "view().page()", "evidence": "lab.report"}


def with_flags(text: str, flags: Mapping[str, str], complete: Callable[[str], str] = str) -> str:
    """Return a message with the flags of its options, `--scale 1:5` for "`scale=1:5`" and commands by `complete`."""

    def replacement(match: re.Match[str]) -> str:
        value = match["value"]
        if match["command"]:
            return f"`{complete(match['command'])}`"
        flag = flags.get(match["option"])
        if flag is None:
            return match[0]
        return f"{flag} {shlex.quote(value)}" if value else flag

    return _QUOTED_OR_TYPED.sub(replacement, text)


def as_python(text: str) -> str:
    """Return a message with its options as arguments, `scale="1:5"` for "`scale=1:5`", and its commands as calls."""

    def replacement(match: re.Match[str]) -> str:
        value = match["value"]
        if match["command"]:
            return f"`{python_call(match['command'])}`"
        # One quoted text or an object is a Python value already; a comma list such as `"a, b",c` is not.
        if not value or re.fullmatch(r'"(\\.|[^"\\])*"|\{.*\}', value, re.DOTALL):
            return match[0]
        return f"`{python_argument(match['option'], value)}`"

    return _QUOTED_OR_TYPED.sub(replacement, text)


def python_call(typed: str) -> str:
    """Return a command as a call, `lab.trust("news@1")`, and an option as an argument; other text is unchanged."""
    try:
        words = shlex.split(typed)
    except ValueError:
        return typed
    if typed.startswith("--"):
        return _python_arguments(words) if len(words) > 1 else _argument_name(words[0])
    name = words[1] if len(words) > 1 and words[0] == "rubriclab" else ""
    if name not in LAB_METHODS:
        return typed
    method, arguments = LAB_METHODS[name], _python_arguments(words[2:])
    call = f"lab.{method}({arguments})" if arguments else f"lab.{method}"
    return f"print({call})" if method == "load" else call


def _python_arguments(words: Iterable[str]) -> str:
    """Return the words after a command's name as arguments; a rubric is the argument after the data."""
    values_by_flag: dict[str, list[str]] = {"": []}
    flag = ""
    for word in words:
        if word.startswith("--"):
            flag = word
            values_by_flag.setdefault(flag, [])
        else:
            values_by_flag[flag].append(word)
    arguments = [_python_value(value) for value in values_by_flag.pop("")]
    if rubrics := [_python_value(value) for value in values_by_flag.pop("--rubric", [])]:
        arguments.append(rubrics[0] if len(rubrics) == 1 else f"[{', '.join(rubrics)}]")
    for flag, values in values_by_flag.items():
        name = _argument_name(flag)
        if name in ("methods", "literature_without"):
            arguments.append(f"{name}=[{', '.join(map(_python_value, values))}]")
        elif values and values[0] in PLACEHOLDERS:
            arguments.append(f"{name}={values[0]}")
        else:
            arguments.append(python_argument(name, " ".join(values)))
    return ", ".join(arguments)


def _argument_name(flag: str) -> str:
    name = flag.removeprefix("--").replace("-", "_")
    return RENAMED_FLAGS.get(name, name)


def _python_value(word: str) -> str:
    return word if word in PLACEHOLDERS else quoted(word)


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
        dotted_name, _, choice = value.partition("=")
        method, _, setting = dotted_name.partition(".")
        argument = {method: {setting: choice}}
    return f"{name}={json.dumps(argument, ensure_ascii=False)}"


def judge_at(judge: str, address: str | None) -> str:
    return f"{judge} at {address}" if address else judge


def quoted_judge(judge: str, address: str | None = None, max_length: int | None = 80) -> str:
    """Return a judge for use in a sentence: in quotes, the name cut to `max_length` characters, with the full address.

    In quotes, a judge's name that comes from an imported rubric cannot pass for a part of the sentence.
    """
    name = one_line(judge)
    if max_length is not None and len(name) > max_length:
        name = f"{name[: max_length - 1]}…"
    return judge_at(quoted(name), quoted(one_line(address)) if address else None)


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def join_names(names: Iterable[str]) -> str:
    *before, last = list(names) or [""]
    return f"{', '.join(before)} and {last}" if before else last
