"""Finding JSON objects in a reply: what is found, and in how much time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.judges.judge import DEEPEST, json_objects

PIECES = ['{"a":', '{"a":1}', '"a"', '"a":1,"a":2', '\\"', "1e999", "NaN", "[", "]", "{}", "}{", '{"', "\\ud83d", "1.5"]
MEGABYTE = 1_000_000


DECODER = json.JSONDecoder(parse_int=lambda number: float(number) if len(number) > 4000 else int(number), strict=False)


def outermost_by_trying_every_brace(text: str) -> Iterator[tuple[int, int, Any]]:
    """Return what is at each brace by parsing anew from there: plain, and quadratic."""
    at = text.find("{")
    while at >= 0:
        try:
            value, end = DECODER.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            yield at, end, json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        at = text.find("{", end)


@given(
    st.text(alphabet='{}[]",:\\ a1', max_size=40) | st.lists(st.sampled_from([*'{}[]",:\\ a1', *PIECES])).map("".join)
)
@settings(max_examples=500)
def test_the_objects_found_are_complete_ones_that_no_damaged_one_encloses(text: str) -> None:
    every = {begin: (end, repr(value)) for begin, end, value in outermost_by_trying_every_brace(text)}
    found = list(json_objects(text))
    for each in found:
        assert every[each.begin] == (each.end, repr(each.value))
    if len(every) == 1 and text.find("{") in every:
        assert len(found) == 1


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
def test_an_object_with_an_unusable_value_is_found_with_its_fault_and_nothing_in_it(fault: str) -> None:
    (found,) = json_objects('{"a":{"x":{"y":[{}, 1]},' + fault + "}}")
    assert found.fault


def test_what_a_damaged_object_encloses_is_not_found() -> None:
    assert list(json_objects('{"a": {"b": 1},}')) == []
    assert [found.value for found in json_objects('{"a": x {"b": 1}')] == [{"b": 1}]


def test_nothing_is_found_after_an_object_that_is_nested_too_deep() -> None:
    deep = '{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1)
    assert list(json_objects(f'{deep} {{"b": 1}}')) == []
    assert len(list(json_objects(deep[5:-1]))) == 1
