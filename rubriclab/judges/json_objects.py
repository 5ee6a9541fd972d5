"""The JSON objects in a reply, read strictly, whatever prose stands around them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is not a number to reckon with")
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

    Half of a character that was cut in two (`\\ud83d` alone) becomes a question mark: no file could hold it.
    """
    has_halves = "\\ud" in text.lower()
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            end = at + 1
        except RecursionError:  # thousands of levels deep is no answer, and trying each level would take seconds
            return
        else:
            yield at, _whole_characters(value) if has_halves else value
        at = text.find("{", end)


def _whole_characters(value: Any) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
