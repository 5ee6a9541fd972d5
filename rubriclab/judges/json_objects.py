"""The outermost JSON objects in a reply, parsed strictly amid any prose, in time linear in the reply's length.

What lies in an object that is damaged or refused is never returned by itself: a judge that quotes another verdict in a
damaged one of its own would otherwise be read as that verdict.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Objects nested deeper are refused, with all that follows.
DEEPEST = 100

_GAP = r"[ \t\n\r]*+"
_STRING = r'"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
# A brace and what must follow it, which skips most braces that open no object.
_OPENING = re.compile(rf"\{{(?={_GAP}(?:\}}|{_STRING}{_GAP}:))")
_TOKEN = re.compile(
    rf"{_GAP}(?:(?P<mark>[{{}}\[\]:,])|(?P<string>{_STRING})"
    r"|(?P<plain>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?|-?Infinity|NaN|true|false|null))"
)
# Which tokens may follow; a closing mark also has to match the opening one.
_NEXT = {
    "value": {"string": "end", "plain": "end", "{": "first key", "[": "first item"},
    "first item": {"string": "end", "plain": "end", "{": "first key", "[": "first item", "]": "end"},
    "first key": {"string": "colon", "}": "end"},
    "key": {"string": "colon"},
    "colon": {":": "value"},
    "end": {",": "key or value", "}": "end", "]": "end"},
}
_PAIRS = {"}": "{", "]": "["}


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An outermost JSON object in a text.

    Attributes:
        begin, end: where it opens and ends.
        value: the object. Half of a character cut in two (`\\ud83d` alone) is a question mark: no file could hold it.
        fault: why it cannot be used, to complete "the object ..."; empty if it can.
    """

    begin: int
    end: int
    value: dict[str, Any]
    fault: str = ""


def json_objects(text: str) -> Iterator[FoundObject]:
    """Yield the complete outermost objects in `text`, left to right.

    What begins within a damaged object, before the damage, is skipped. Nothing follows an object that is nested more
    than `DEEPEST` levels deep.
    """
    at = 0
    while opening := _OPENING.search(text, at):
        at, is_complete = _scan(text, opening.start())
        if is_complete:
            yield _decoded(text, opening.start(), at)


def _scan(text: str, at: int) -> tuple[int, bool]:
    """Return where the object that opens at `at` ends, or where it is damaged, and whether it is complete."""
    opened: list[int] = []
    state = "value"
    while state != "end" or opened:
        token = _TOKEN.match(text, at)
        kind = (token["mark"] or token.lastgroup or "") if token else ""
        state = _NEXT[state].get(kind, "")
        if token is None or not state or (kind in _PAIRS and text[opened[-1]] != _PAIRS[kind]):
            return at, False
        at = token.end()
        if kind in _PAIRS:
            opened.pop()
        elif kind in "{[":
            opened.append(at - 1)
        elif kind == ",":
            state = "key" if text[opened[-1]] == "{" else "value"
        if len(opened) > DEEPEST:
            return len(text), False
    return at, True


def _decoded(text: str, begin: int, end: int) -> FoundObject:
    faults: list[str] = []

    def number(written: str) -> float:
        value = float(written)
        if not math.isfinite(value):
            faults.append(f"has the number {written[:20]}, which is not finite.")
        return value

    def whole_number(written: str) -> int | float:
        try:
            return int(written)
        except ValueError:  # thousands of digits
            return number(written)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            faults.extend(f"has several values for {key!r:.60}." for key, value in pairs if values[key] != value)
        return values

    # Not strict: a model that writes paragraphs may leave the line breaks in its strings as they are.
    decoder = json.JSONDecoder(
        parse_float=number, parse_int=whole_number, parse_constant=number, object_pairs_hook=members, strict=False
    )
    value, _ = decoder.raw_decode(text, begin)
    if "\\ud" in text[begin:end].lower():
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return FoundObject(begin, end, value, faults[0] if faults else "")


_WORD = r"[\w:.-]{0,30}?(?:think|thought|reason|reflect|analysis|scratch|monologue|deliberat)\w{0,10}"
_NAME = rf"{_WORD}(?:\s[^<>|\[\]]{{0,100}})?"
# Tags of any such name, as DeepSeek, Qwen and others have them; Mistral's; Kimi's; Cohere's; Gemma's; the channels of
# gpt-oss, also where a server has removed its special tokens.
_TAG = re.compile(
    rf"</{_NAME}>|<\|(?:/|end_){_NAME}\|>|\[(?:/|END ){_NAME}\]|\u25c1/{_NAME}\u25b7|<unused95>|<channel\|>"
    r"|<\|channel\|>\s*final(?:<\|message\|>)?|assistantfinal"
    rf"|(?P<open><{_NAME}>|<\|{_NAME}\|>|\[(?:BEGIN )?(?:THINK|REASON)(?:ING)?\]|\u25c1{_NAME}\u25b7"
    r"|<unused94>(?:thought\b)?|<\|channel>thought\b|<\|channel\|>\s*(?:analysis|commentary)\b"
    r"|(?-i:\Aanalysis(?=[A-Z{])))"
    r"|(?P<end><\|end\|>)"
    rf"|(?P<fence>^`{{3,10}} ?{_WORD}\s*?$)|(?P<fence_end>^`{{3,10}}\s*?$)",
    re.IGNORECASE | re.MULTILINE,
)


def without_reasoning(text: str) -> str:
    """Return `text` without what stands between tags of reasoning, before a closing one alone or after an opening one.

    A fence with such a name is one too, and ends with the next fence.

    Tags in the strings of a complete JSON object are part of it. So is a closing one alone while a brace is open: it
    may be quoted in a damaged verdict, which must not disappear.
    """
    if not _TAG.search(text):
        return text
    spans = [(found.begin, found.end) for found in json_objects(text)]
    kept, since, is_reasoning, is_fenced = "", 0, False, False
    for tag in _TAG.finditer(text):
        if any(begin < tag.start() < end for begin, end in spans) or (tag["end"] and not is_reasoning):
            continue
        if is_fenced != (tag["fence_end"] is not None):  # only the end of a fence closes it
            continue
        opens = tag["open"] or tag["fence"]
        if not opens and not is_reasoning and text.count("{", since, tag.start()) > text.count("}", since, tag.start()):
            continue
        if opens:
            if not is_reasoning:
                kept += text[since : tag.start()]
            is_reasoning, is_fenced = True, tag["fence"] is not None
        else:
            kept = kept if is_reasoning else ""
            is_reasoning = is_fenced = False
        since = tag.end()
    return kept if is_reasoning else kept + text[since:]
