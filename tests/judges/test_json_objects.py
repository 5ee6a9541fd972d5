"""Finding JSON objects in a reply: what is found, and in how much time."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.judges.json_objects import DEEPEST, json_objects

PIECES = ['{"a":', '{"a":1}', '"a"', '"a":1,"a":2', '\\"', "1e999", "NaN", "[", "]", "{}", "}{", '{"', "\\ud83d", "1.5"]
MEGABYTE = 1_000_000


def finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError
    return value


def unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if any(values[key] != value for key, value in pairs):
        raise ValueError
    return values


USABLE = json.JSONDecoder(parse_float=finite, parse_constant=finite, object_pairs_hook=unambiguous, strict=False)


def by_trying_every_brace(text: str) -> Iterator[tuple[int, Any]]:
    """Return what stands at each brace by parsing anew from there: plain, and quadratic."""
    at = text.find("{")
    while at >= 0:
        try:
            value, end = USABLE.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            yield at, json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        at = text.find("{", end)


@given(
    st.text(alphabet='{}[]",:\\ a1', max_size=40) | st.lists(st.sampled_from([*'{}[]",:\\ a1', *PIECES])).map("".join)
)
@settings(max_examples=500)
def test_the_objects_found_are_those_that_trying_every_brace_finds(text: str) -> None:
    assert list(json_objects(text)) == list(by_trying_every_brace(text))


@pytest.mark.parametrize(
    "unit",
    [
        "{ ",
        '{"',
        '"{',
        '{"a":',
        '{"a":[',
        '{"a":"x',
        '{"\\',
        '{"a":1}{',
        '{"":x',
        '{"a":1,"a":2,"b":',
        "{x} ",
        '{"a":{},',
    ],
)
def test_a_megabyte_of_anything_takes_seconds_at_most(unit: str) -> None:
    began = time.process_time()
    sum(1 for _ in json_objects(unit * (MEGABYTE // len(unit))))
    # About one second at worst; trying every brace takes a minute and more for most of these.
    assert time.process_time() - began < 10


@pytest.mark.parametrize("fault", ['"z":NaN', '"z":1,"z":2', '"z":[[1e999]]', '"z":' + "9" * 5000])
def test_what_lies_in_nested_unusable_objects_is_decoded_once(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    decoded = 0
    decode = json.JSONDecoder.raw_decode

    def counting(self: json.JSONDecoder, text: str, at: int = 0) -> tuple[Any, int]:
        nonlocal decoded
        decoded += 1
        return decode(self, text, at)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counting)
    depth = DEEPEST - 4
    found = list(json_objects('{"a":' * depth + '{"x":{"y":[{}, 1]},' + fault + "}" * (depth + 1)))
    assert [value for _, value in found] == [{"y": [{}, 1]}]
    assert decoded <= 2  # once as the whole reply, once with all that lies in it


def test_an_object_nested_too_deep_is_none() -> None:
    deep = '{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1)
    assert list(json_objects(deep)) == []
    assert len(list(json_objects(deep[5:-1]))) == 1
