"""The text of a reply: the JSON objects and the hidden reasoning in it."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubriclab.models.base import load_patterns, nesting_depth

# The search ends at an object with more levels than `MAX_DEPTH`, or after `MAX_DAMAGED` damaged ones, to save time.
MAX_DEPTH, MAX_DAMAGED = 100, 1000

# JSON allows four kinds of white space; models also write other white space of Unicode.
_SPACE = r"[\s\u200b\u2060\ufeff]"
_GAP = rf"{_SPACE}*+"
_STRING = r'"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
# An opening brace before a key or a closing brace. Most braces in prose and formulas do not match.
_OBJECT_START = re.compile(rf"\{{(?={_GAP}(?:\}}|{_STRING}{_GAP}:))")
_MEMBER = re.compile(rf"{_GAP},?{_GAP}(?P<key>{_STRING}){_GAP}:{_GAP}")
_UNUSUAL_SPACE = re.compile(r"(?![ \t\r\n])" + _SPACE)
_STRING_OR_SPACE = re.compile(rf"(?P<string>{_STRING})|{_SPACE}")
# Finds where objects end. Not strict, since models write line breaks in strings; `int` fails on thousands of digits.
_SCANNER = json.JSONDecoder(parse_int=float, strict=False)


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An outermost JSON object in a text. `fault` says why it cannot be used, in words that follow "the object"."""

    begin: int
    end: int
    value: dict[str, Any]
    fault: str = ""


def json_objects(text: str) -> Iterator[FoundObject]:
    """Yield the complete outermost objects in `text`, left to right; objects inside a damaged one are left out."""
    with_plain_spaces = _UNUSUAL_SPACE.sub(" ", text)  # of the same length, so offsets fit `text` too
    offset = damaged_count = 0
    while damaged_count < MAX_DAMAGED:
        opening = _OBJECT_START.search(with_plain_spaces, offset)
        if opening is None:
            return
        begin = opening.start()
        try:
            value, offset = _SCANNER.raw_decode(with_plain_spaces, begin)
        except json.JSONDecodeError as error:
            offset = max(error.pos, begin + 1)
            damaged_count += 1
            continue
        except RecursionError:
            return
        if nesting_depth(value) > MAX_DEPTH:
            return
        yield _decoded(text, begin, offset)


def _decoded(text: str, begin: int, end: int) -> FoundObject:
    faults: list[str] = []

    def as_float(written: str) -> float:
        value = float(written)
        if not math.isfinite(value):
            faults.append(f"has the number {written[:20]}, which is not finite.")
        return value

    def as_int(written: str) -> int | float:
        try:
            return int(written)
        except ValueError:  # thousands of digits
            return as_float(written)

    def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            faults.extend(f"has several values for {key!r:.60}." for key, value in pairs if values[key] != value)
            repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            faults.append(f"has the key {repeated!r:.60} more than once.")
        return values

    decoder = json.JSONDecoder(
        parse_float=as_float, parse_int=as_int, parse_constant=as_float, object_pairs_hook=as_object, strict=False
    )
    value = decoder.decode(_STRING_OR_SPACE.sub(lambda match: match["string"] or " ", text[begin:end]))
    if "\\ud" in text[begin:end].lower():  # escaped surrogates, which are replaced if unpaired
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return FoundObject(begin, end, value, faults[0] if faults else "")


_TAG = load_patterns(Path(__file__).with_name("reasoning_tags.toml"))["tag"]
# Every tag holds one of these texts. They are looked for first, a hundred times as fast, as most replies hold none.
_TAG_SIGNS = ("<", "[", "`", "\u25c1", "assistantfinal", "analysis")


def without_reasoning(text: str) -> str:
    """Return `text` without hidden reasoning.

    Hidden reasoning is between two tags, before a closing tag without an opening tag, or after an opening tag without a
    closing tag. A code fence with the name of a tag is a tag too. Tags in a complete JSON object are ignored, since
    they are in strings. Closing tags after an open brace are ignored, since a damaged verdict may quote them.
    """
    lowered = text.lower()
    if not any(sign in lowered for sign in _TAG_SIGNS) or not _TAG.search(text):
        return text
    object_spans = [(candidate.begin, candidate.end) for candidate in json_objects(text)]
    result, start = "", 0  # `start`: where the text after the last tag begins
    is_reasoning = is_fenced = False
    for tag in _TAG.finditer(text):
        if any(begin < tag.start() < end for begin, end in object_spans):
            continue
        if tag["end"] and not is_reasoning:  # <|end|>, with which gpt-oss also ends its answer
            continue
        if is_fenced != (tag["fence_end"] is not None):  # only the end of a fence closes it
            continue
        opens = tag["open"] or tag["fence"]
        before = text[start : tag.start()]
        if not opens and not is_reasoning and before.count("{") > before.count("}"):
            continue
        if opens:
            if not is_reasoning:
                result += before
            is_reasoning, is_fenced = True, tag["fence"] is not None
        else:
            result = result if is_reasoning else ""
            is_reasoning = is_fenced = False
        start = tag.end()
    return result if is_reasoning else result + text[start:]


def span_of_value(text: str, json_object: FoundObject, key: str) -> tuple[int, int] | None:
    """Return where the last value of `key` in `json_object` begins and ends in `text`; `None` without that key."""
    with_plain_spaces = _UNUSUAL_SPACE.sub(" ", text)
    span, offset = None, json_object.begin + 1
    while member := _MEMBER.match(with_plain_spaces, offset):
        _, offset = _SCANNER.raw_decode(with_plain_spaces, member.end())
        if json.loads(member["key"], strict=False) == key:
            span = member.end(), offset
    return span
