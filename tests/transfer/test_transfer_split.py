"""Which labelled texts actions may use."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from rubriclab.data import Aspect, Example, Scale
from rubriclab.errors import DataError
from rubriclab.transfer.source_target import TargetTexts


def texts(groups: int, size: int) -> list[Example]:
    return [Example(f"{g}-{n}", "A text.", f"g{g}") for g in range(groups) for n in range(size)]


def split(rows: Sequence[Example], labels: int | None, seed: int) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    aspect, scale = Aspect(name="coherence", definition="How well it fits together."), Scale(low=1, high=5, whole=True)
    return TargetTexts("texts", tuple(rows), tuple(rows), aspect, scale, labels).split(seed)


@given(st.integers(2, 12), st.integers(1, 6), st.data())
def test_no_group_is_on_both_sides_and_the_number_is_kept(groups: int, size: int, data: st.DataObject) -> None:
    rows = texts(groups, size)
    labels = data.draw(st.integers(1, len(rows)))
    use, check = split(rows, labels, 0)
    assert len(use) == labels
    assert not {text.group for text in use} & {text.group for text in check}
    assert len({text.id for text in (*use, *check)}) == len(use) + len(check)


def test_texts_are_of_as_many_groups_as_half_of_them() -> None:
    use, check = split(texts(20, 4), 10, 0)
    assert len({text.group for text in use}) == 10
    assert len(check) == 40


def test_all_are_used_unless_fewer_are_asked_for() -> None:
    rows = texts(4, 3)
    assert split(rows, None, 0) == (tuple(rows), ())
    assert split(rows, 12, 0) == (tuple(rows), ())


def test_the_draw_depends_on_the_seed_and_not_on_the_order() -> None:
    rows = texts(20, 4)
    drawn = {text.id for text in split(rows, 10, 0)[0]}
    assert drawn == {text.id for text in split(rows[::-1], 10, 0)[0]}
    assert drawn != {text.id for text in split(rows, 10, 1)[0]}


def test_more_labels_than_there_are_is_an_error() -> None:
    with pytest.raises(DataError, match="Expected at most 12 labels, as many as there are, got 13"):
        split(texts(4, 3), 13, 0)
