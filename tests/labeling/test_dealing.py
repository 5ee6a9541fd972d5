"""The order in which texts are dealt."""

from __future__ import annotations

from itertools import groupby

from hypothesis import given, strategies as st
from label_samples import texts

from rubriclab.models.judgment import deal

SIZES = st.tuples(st.integers(1, 12), st.integers(1, 9))
NAMES = st.text(min_size=1, max_size=20)


@given(SIZES, NAMES)
def test_every_text_comes_once_and_a_tenth_twice(size: tuple[int, int], rater: str) -> None:
    own = texts(*size)
    items = deal(own, rater)
    first = [item.text for item in items if not item.again]
    again = [item.text for item in items if item.again]
    assert sorted(first) == sorted(text.key for text in own)
    assert len(again) == len(set(again)) == (len(own) + 5) // 10
    assert deal(own, rater) == items


@given(st.integers(6, 60), NAMES)
def test_a_repeat_comes_at_least_three_items_after_the_first_time(count: int, rater: str) -> None:
    items = deal(texts(count, 1), rater)
    place = {item.text: number for number, item in enumerate(items) if not item.again}
    distances = [number - place[item.text] for number, item in enumerate(items) if item.again]
    assert distances
    assert min(distances) >= (6 if count >= 20 and count % 10 == 0 else 3)


@given(NAMES)
def test_rivals_come_one_after_the_other(rater: str) -> None:
    own = texts(6, 4)
    group = {text.key: text.example.group for text in own}
    in_order = [group[item.text] for item in deal(own, rater) if not item.again]
    assert [name for name, _ in groupby(in_order)] == list(dict.fromkeys(in_order))


def test_raters_get_different_orders_and_repeats() -> None:
    own = texts(10, 3)
    assert len({deal(own, rater) for rater in ("anna", "ben", "cleo")}) == 3
    repeats = [frozenset(item.text for item in deal(own, rater) if item.again) for rater in ("anna", "ben", "cleo")]
    assert len(set(repeats)) == 3
