"""The JSON objects in a reply, read strictly, whatever prose stands around them, in time linear in its length.

A parser that starts again at every brace of a damaged reply takes time quadratic in its length. Here every place is
scanned at most twice, once as the inside and once as the outside of a string: JSON's grammar is free of context, so a
brace that an earlier scan read as the beginning of an object is never scanned again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

# Objects nested deeper are no answer. The limit also bounds how often an object with an unusable number or an
# ambiguous key is decoded again, once for each object around it.
DEEPEST = 100

_GAP = r"[ \t\n\r]*+"
_STRING = r'"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
# A brace with what must follow it: most braces that open no object are passed over by this alone.
_OPENING = re.compile(rf"\{{(?={_GAP}(?:\}}|{_STRING}{_GAP}:))")
_TOKEN = re.compile(
    rf"{_GAP}(?:(?P<mark>[{{}}\[\]:,])|(?P<string>{_STRING})"
    r"|(?P<plain>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?|-?Infinity|NaN|true|false|null))"
)
# Which token may follow where; a closing mark also has to fit what is open.
_NEXT = {
    "value": {"string": "end", "plain": "end", "{": "first key", "[": "first item"},
    "first item": {"string": "end", "plain": "end", "{": "first key", "[": "first item", "]": "end"},
    "first key": {"string": "colon", "}": "end"},
    "key": {"string": "colon"},
    "colon": {":": "value"},
    "end": {",": "key or value", "}": "end", "]": "end"},
}
_PAIRS = {"}": "{", "]": "["}


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is not a finite number")
    return value


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if any(values[key] != value for key, value in pairs):
        raise ValueError("one key with two values")
    return values


# Not strict: a model that writes paragraphs may leave the line breaks in its strings as they are.
DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite, object_pairs_hook=_unambiguous, strict=False)


def json_objects(text: str, decoder: json.JSONDecoder = DECODER) -> Iterator[tuple[int, Any]]:
    """Yield where each outermost JSON object in `text` opens, and the object, left to right.

    Reading stops at an object nested more than `DEEPEST` levels deep. Half of a character cut in two (`\\ud83d`
    alone) becomes a question mark: no file could hold it.
    """
    has_halves = "\\ud" in text.lower()
    complete: dict[int, bool] = {}
    opening = _OPENING.search(text)
    while opening:
        at = opening.start()
        if at not in complete and not _scan(text, at, complete):
            return
        found = _decoded(text, at, decoder) if complete[at] else None
        if found:
            yield at, _whole_characters(found[0]) if has_halves else found[0]
        opening = _OPENING.search(text, found[1] if found else at + 1)


def _decoded(text: str, at: int, decoder: json.JSONDecoder) -> tuple[Any, int] | None:
    try:
        return decoder.raw_decode(text, at)
    except ValueError:
        return None


def _scan(text: str, at: int, complete: dict[int, bool]) -> bool:
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
            complete[opened.pop()] = True
        elif kind in "{[":
            opened.append(at - 1)
        elif kind == ",":
            state = "key" if text[opened[-1]] == "{" else "value"
        if len(opened) > DEEPEST:
            return False
    complete.update(dict.fromkeys(opened, False))
    return True


def _whole_characters(value: Any) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
