"""The order in which texts are dealt."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given, strategies as st
from label_samples import texts

from rubriclab.labeling.dealing import MOST_ORDERED, Mode, Order, deal

SIZES = st.tuples(st.integers(1, 12), st.integers(1, 9))
NAMES = st.text(min_size=1, max_size=20)


@given(SIZES, NAMES, st.sampled_from(["groups", "given", "random"]))
def test_every_text_comes_once_and_a_tenth_twice(size: tuple[int, int], rater: str, order: Order) -> None:
    own = texts(*size)
    items = deal(own, rater, order=order)
    first = [item.texts[0] for item in items if not item.again]
    again = [item.texts[0] for item in items if item.again]
    assert sorted(first) == sorted(text.key for text in own)
    assert len(again) == len(set(again)) == (len(own) + 5) // 10
    assert deal(own, rater, order=order) == items


@given(st.integers(6, 60), NAMES)
def test_a_repeat_comes_at_least_three_items_after_the_first_time(count: int, rater: str) -> None:
    items = deal(texts(count, 1), rater)
    place = {item.texts[0]: number for number, item in enumerate(items) if not item.again}
    distances = [number - place[item.texts[0]] for number, item in enumerate(items) if item.again]
    assert distances
    assert min(distances) >= (6 if count >= 20 and count % 10 == 0 else 3)


@given(NAMES)
def test_rivals_come_one_after_the_other(rater: str) -> None:
    own = texts(6, 4)
    group = {text.key: text.example.group for text in own}
    in_order = [group[item.texts[0]] for item in deal(own, rater) if not item.again]
    assert [name for name, _ in groupby(in_order)] == list(dict.fromkeys(in_order))


def test_raters_get_different_orders_and_repeats() -> None:
    own = texts(10, 3)
    assert len({deal(own, rater) for rater in ("anna", "ben", "cleo")}) == 3
    repeats = [frozenset(item.texts for item in deal(own, rater) if item.again) for rater in ("anna", "ben", "cleo")]
    assert len(set(repeats)) == 3


def test_the_given_order_is_kept() -> None:
    own = texts(4, 2)
    given_order = [item.texts[0] for item in deal(own, "anna", order="given") if not item.again]
    assert given_order == [text.key for text in own]


@pytest.mark.parametrize("mode", ["order", "pairs"])
@given(size=SIZES, rater=NAMES)
def test_comparisons_relate_all_rivals_and_nobody_else(mode: Mode, size: tuple[int, int], rater: str) -> None:
    groups, rivals = size
    own = texts(groups, rivals)
    group = {text.key: text.example.group for text in own}
    items = [item for item in deal(own, rater, mode=mode) if not item.again]
    for item in items:
        assert len({group[key] for key in item.texts}) == 1
        assert 2 <= len(set(item.texts)) == len(item.texts) <= (2 if mode == "pairs" else MOST_ORDERED)
    for name in set(group.values()):
        related, left = set[str](), [set(item.texts) for item in items if group[item.texts[0]] == name]
        while left and (new := next((one for one in left if not related or one & related), None)):
            related |= new
            left.remove(new)
        assert len(related) == (rivals if rivals > 1 else 0)
    if mode == "pairs" and rivals > 2:
        assert set(Counter(key for item in items for key in item.texts).values()) == {2}


def test_a_repeated_comparison_is_shown_the_other_way_round() -> None:
    items = deal(texts(10, 3), "anna", mode="pairs")
    first = {item.id[0]: item.texts for item in items if not item.again}
    repeats = [item for item in items if item.again]
    assert repeats
    assert all(first[item.id[0]] == item.texts[::-1] for item in repeats)
