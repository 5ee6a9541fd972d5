"""Finding JSON objects in a reply: what is found, and in how much time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubriclab.judges.json_objects import DECODER, DEEPEST, json_objects

PIECES = ['{"a":', '{"a":1}', '"a"', '"a":1,"a":2', '\\"', "1e999", "NaN", "[", "]", "{}", "}{", '{"', "\\ud83d", "1.5"]
MEGABYTE = 1_000_000


def by_trying_every_brace(text: str) -> Iterator[tuple[int, Any]]:
    """Return what stands at each brace by parsing anew from there: plain, and quadratic."""
    at = text.find("{")
    while at >= 0:
        try:
            value, end = DECODER.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            yield at, json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        at = text.find("{", end)


@given(
    st.text(alphabet='{}[]",:\\ a1', max_size=40) | st.lists(st.sampled_from([*'{}[]",:\\ a1', *PIECES])).map("".join)
)
@settings(max_examples=2000)
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


def test_an_object_nested_too_deep_is_none() -> None:
    deep = '{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1)
    assert list(json_objects(deep)) == []
    assert len(list(json_objects(deep[5:-1]))) == 1
