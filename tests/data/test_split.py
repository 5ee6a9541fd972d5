"""Splits into whole groups."""

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.errors import SettingsError
from rubriclab.models.text import Example, split_by_group

GROUPS = st.lists(st.sampled_from("abcdefghij"), min_size=2, max_size=60).filter(lambda groups: len(set(groups)) > 1)


def examples_of(groups):
    return [Example(id=str(i), output="A text.", group=group) for i, group in enumerate(groups)]


@settings(deadline=None, max_examples=80)
@given(groups=GROUPS, held_out=st.floats(0.01, 0.99), seed=st.integers(0, 1000))
def test_no_group_is_on_both_sides_and_nothing_is_lost(groups, held_out, seed):
    examples = examples_of(groups)
    train, held = split_by_group(examples, held_out, seed)
    assert train
    assert held
    assert not {e.group for e in train} & {e.group for e in held}
    assert sorted([*train, *held], key=lambda e: int(e.id)) == examples


@settings(deadline=None, max_examples=40)
@given(groups=GROUPS, seed=st.integers(0, 1000), data=st.data())
def test_the_order_of_the_examples_decides_nothing(groups, seed, data):
    examples = examples_of(groups)
    shuffled = data.draw(st.permutations(examples))
    assert {e.id for e in split_by_group(examples, 0.4, seed)[1]} == {
        e.id for e in split_by_group(shuffled, 0.4, seed)[1]
    }


def test_the_share_is_of_groups_and_order_is_kept():
    examples = examples_of(f"g{i % 10}" for i in range(50))
    train, held = split_by_group(examples, 0.3, seed=1)
    assert (len(train), len(held)) == (35, 15)
    assert [e.id for e in train] == sorted((e.id for e in train), key=int)


def test_another_seed_holds_out_other_groups():
    examples = examples_of(f"g{i}" for i in range(40))
    assert len({tuple(e.id for e in split_by_group(examples, 0.5, seed)[1]) for seed in range(5)}) == 5


@pytest.mark.parametrize("held_out", [0, 1, -0.1, 2, float("nan")])
def test_the_share_lies_between_none_and_all(held_out):
    with pytest.raises(SettingsError, match="between 0 and 1"):
        split_by_group(examples_of("ab"), held_out)
