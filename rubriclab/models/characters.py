"""Texts in messages and on pages: invisible and control characters, descriptions of values, similar names."""

from __future__ import annotations

import csv
import difflib
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any

PREVIEW_LENGTH = 40
# Some readers of JSON turn whole numbers of this size or more into floats.
FIRST_INTEGER_BEYOND_64_BITS = 2**64
# Unicode categories of invisible characters: white space, controls, format characters (zero width), and marks, which
# need a base letter (variation selectors are among them).
_INVISIBLE = frozenset({"Cc", "Cf", "Mc", "Me", "Mn", "Zl", "Zp", "Zs"})
# Hangul fillers and the braille blank: letters or symbols by category, but shown as a space.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")

# Control characters, unusual line separators, characters that embed, override or isolate a writing direction, and lone
# surrogates and noncharacters, which no file can hold. Right-to-left letters and the marks U+200E and U+200F are kept.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def is_blank(text: str) -> bool:
    """Return whether `text` is empty or has only invisible characters."""
    return all(character in _BLANK or unicodedata.category(character) in _INVISIBLE for character in text)


def escape_controls(text: str) -> str:
    """Return `text` with control characters written as escapes, such as `\\x1b`."""
    return _UNSAFE.sub(lambda match: ascii(match[0])[1:-1], text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    return " ".join(escape_controls(text).split())


def comma_list(values: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()


def comma_values(text: str) -> list[str]:
    """Return the values of a comma-separated text, without spaces around them; line breaks count as spaces."""
    return [value.strip() for value in next(csv.reader([" ".join(text.splitlines())], skipinitialspace=True))]


def describe(value: Any) -> str:
    """Return words for a value in an error message: the value itself if it is short, otherwise its kind."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float | Decimal):
        is_large = isinstance(value, int) and abs(value) >= FIRST_INTEGER_BEYOND_64_BITS
        text = "a whole number of more than 64 bits" if is_large else str(value)
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text.lower(), text)
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


def judge_at(judge: str, address: str | None) -> str:
    return f"{judge} at {address}" if address else judge


def quoted_judge(judge: str, address: str | None = None, max_length: int | None = 80) -> str:
    """Return the quoted name of a judge, cut to `max_length` characters, and its quoted address.

    Without quotes, a name that comes from an imported rubric could pass for a part of the sentence around it.
    """
    name = one_line(judge)
    if max_length is not None and len(name) > max_length:
        name = f"{name[: max_length - 1]}…"
    return judge_at(quote(name), quote(one_line(address)) if address else None)


def quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def count(number: int, noun: str) -> str:
    plural = f"{noun.removesuffix('on')}a" if noun.endswith("criterion") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def join_names(names: Iterable[str]) -> str:
    *before, last = list(names) or [""]
    return f"{', '.join(before)} and {last}" if before else last
