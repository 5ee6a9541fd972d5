"""The JSON objects in a reply, parsed strictly amid any prose, in time linear in the reply's length.

A parser that restarts at every brace of a damaged reply takes quadratic time. Here every position is scanned at most
twice, once as the inside and once as the outside of a string: JSON's grammar is context-free, so a brace that an
earlier scan read as the start of an object is not scanned again.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Objects nested deeper are rejected.
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


# A number that is too long or not finite, or an object that has one or is ambiguous.
_UNUSABLE = object()


def json_objects(text: str, *, usable: bool = True) -> Iterator[tuple[int, Any]]:
    """Yield where each outermost JSON object in `text` opens, and the object, left to right.

    Reading stops at an object nested more than `DEEPEST` levels deep. Half of a character cut in two (`\\ud83d`
    alone) becomes a question mark: no file could hold it.

    Args:
        usable: leave out an object that holds a number that is not finite, or a key with two values; objects inside it
            are yielded in its place.
    """
    has_halves = usable and "\\ud" in text.lower()
    if not has_halves and (whole := _only_object(text, _usable_object if usable else dict)) is not _UNUSABLE:
        yield text.index("{"), whole
        return
    scanned, decoded = _Scanned(), dict[int, Any]()
    decode = _decoding(_usable_object if usable else dict)
    opening = _OPENING.search(text)
    while opening:
        at = opening.start()
        if at not in scanned.places and not _scan(text, at, scanned):
            return
        place = scanned.places[at]
        if place is None:
            opening = _OPENING.search(text, at + 1)
            continue
        if at not in decoded:
            values = decode(text, at)
            begins = (begin for begin, _ in scanned.closed[place + 1 - len(values) : place + 1])
            decoded.update(zip(begins, values, strict=True))
        value = decoded.pop(at)
        if value is not _UNUSABLE:
            yield at, _whole_characters(value) if has_halves else value
        opening = _OPENING.search(text, at + 1 if value is _UNUSABLE else scanned.closed[place][1])


def _only_object(text: str, read: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    """Return the object that `text` consists of, as most replies do, without a scan; else `_UNUSABLE`."""
    stripped = text.strip(" \t\n\r")
    whole = stripped.startswith("{") and stripped.endswith("}")
    if not whole or stripped.count("{") + stripped.count("[") > DEEPEST:
        return _UNUSABLE
    try:
        value, end = _kept_decoder(read).raw_decode(stripped)
    except ValueError:
        return _UNUSABLE
    return value if end == len(stripped) else _UNUSABLE


def _decoder(read: Callable[[list[tuple[str, Any]]], Any]) -> json.JSONDecoder:
    # Not strict: a model that writes paragraphs may leave the line breaks in its strings as they are.
    return json.JSONDecoder(
        parse_float=_number, parse_int=_whole_number, parse_constant=_number, object_pairs_hook=read, strict=False
    )


_kept_decoder = functools.cache(_decoder)


def _decoding(read: Callable[[list[tuple[str, Any]]], Any]) -> Callable[[str, int], list[Any]]:
    """Return what decodes a complete object to all objects in it, by `read`, in the order in which they close.

    All of them at once: to decode an object again that lies in an unusable one takes time that grows with the depth.
    """
    values: list[Any] = []

    def closed(pairs: list[tuple[str, Any]]) -> Any:
        values.append(read(pairs))
        return values[-1]

    decoder = _decoder(closed)

    def decode(text: str, at: int) -> list[Any]:
        values.clear()
        decoder.raw_decode(text, at)
        return values

    return decode


def _number(text: str) -> Any:
    value = float(text)
    return value if math.isfinite(value) else _UNUSABLE


def _whole_number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:  # thousands of digits
        return _UNUSABLE


def _usable_object(pairs: list[tuple[str, Any]]) -> Any:
    values = dict(pairs)
    ambiguous = len(values) < len(pairs) and any(values[key] != value for key, value in pairs)
    return _UNUSABLE if ambiguous or _is_unusable(list(values.values())) else values


def _is_unusable(value: Any) -> bool:
    return value is _UNUSABLE or (isinstance(value, list) and any(map(_is_unusable, value)))


@dataclass
class _Scanned:
    """What scans have found: where complete objects open and end, in the order in which they close.

    `places` has the last place in `closed` of each object by where it opens, `None` where it is not complete.
    """

    closed: list[tuple[int, int]] = field(default_factory=list)
    places: dict[int, int | None] = field(default_factory=dict)


def _scan(text: str, at: int, scanned: _Scanned) -> bool:
    """Note for the object that opens at `at`, and those inside it, whether they are complete.

    Returns whether none was nested too deep.
    """
    opened: list[int] = []
    state = "value"
    while state != "end" or opened:
        token = _TOKEN.match(text, at)
        kind = (token["mark"] or token.lastgroup or "") if token else ""
        state = _NEXT[state].get(kind, "")
        if token is None or not state or (kind in _PAIRS and text[opened[-1]] != _PAIRS[kind]):
            break
        at = token.end()
        if kind in _PAIRS:
            begin = opened.pop()
            if kind == "}":
                scanned.places[begin] = len(scanned.closed)
                scanned.closed.append((begin, at))
        elif kind in "{[":
            opened.append(at - 1)
        elif kind == ",":
            state = "key" if text[opened[-1]] == "{" else "value"
        if len(opened) > DEEPEST:
            return False
    scanned.places.update(dict.fromkeys(opened))
    return True


def _whole_characters(value: Any) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
