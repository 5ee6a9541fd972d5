"""Caches hold a bounded number of characters, however long the texts are."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from rubriclab.data.mapping import DEFAULTS
from rubriclab.data.readers import decimal_mark
from rubriclab.judges.embedded import _roots, values_of
from rubriclab.methods.questions import read_answer
from rubriclab.models.base import OVERHEAD, cached_by_size


def test_latest_results_are_cached_up_to_the_limit() -> None:
    computed = list[str]()

    @cached_by_size(2 * (OVERHEAD + 10))
    def upper(text: str) -> str:
        computed.append(text)
        return text.upper()

    one, two, three = "a" * 10, "b" * 10, "c" * 10
    for text in (one, two, one, three, one, two):
        assert upper(text) == text.upper()
    assert computed == [one, two, three, two]


def test_result_larger_than_the_cache_displaces_nothing() -> None:
    computed = list[str]()

    @cached_by_size(OVERHEAD + 10)
    def upper(text: str) -> str:
        computed.append(text)
        return text.upper()

    for text in ("a", "b" * 1000, "a", "b" * 1000):
        upper(text)
    assert computed == ["a", "b" * 1000, "b" * 1000]


def test_missing_result_is_cached_like_any_other() -> None:
    computed = list[str]()

    @cached_by_size(1000)
    def nothing(text: str) -> None:
        computed.append(text)

    nothing("a")
    nothing("a")
    assert computed == ["a"]


@pytest.mark.parametrize(
    ("use", "size", "calls"),
    [
        (read_answer, 400_000, 20),
        (_roots, 40_000, 200),
        (lambda text: values_of({"output": text}), 1_000_000, 30),
        (lambda text: decimal_mark("file", [(1, {"output": "One.", "coherence": text})], DEFAULTS), 100_000, 200),
    ],
    ids=["answers", "sentences", "features", "cells"],
)
def test_long_texts_do_not_stay_in_memory(use: Callable[[str], object], size: int, calls: int) -> None:
    use("warm up")
    tracemalloc.start()
    try:
        for number in range(calls):
            use(f"{number} " + "." * size)
        held, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 6_000_000
