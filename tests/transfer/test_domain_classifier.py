"""The area under the curve of a classifier between two sets of texts."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rubriclab.transfer.domain_classifier import told_apart
from rubriclab.transfer.sample import MOST_TEXTS, Sample


def side(values: np.ndarray, groups: int, prefix: str) -> Sample:
    return Sample(values, tuple(f"{prefix}{place % groups}" for place in range(len(values))))


def noise(rng: np.random.Generator, texts: int, columns: int = 6, *, up: float = 0.0) -> np.ndarray:
    return rng.normal(size=(texts, columns)) + up


def test_sets_that_lie_apart_are_always_told_apart() -> None:
    rng = np.random.default_rng(0)
    found = told_apart(side(noise(rng, 30), 10, "a"), side(noise(rng, 60, up=8.0), 20, "b"))
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_draws_of_one_set_are_told_apart_by_guessing() -> None:
    rng = np.random.default_rng(1)
    found = [told_apart(side(noise(rng, 30), 10, "a"), side(noise(rng, 60), 20, "b"), seed) for seed in range(6)]
    assert 0.42 < np.mean([each.value for each in found]) < 0.58
    assert all(each.low <= each.value <= each.high and each.low < 0.6 for each in found)


def test_what_marks_the_groups_alone_does_not_tell_the_sets_apart() -> None:
    rng = np.random.default_rng(2)
    centers = noise(rng, 24, 40) * 5
    home, target = (
        Sample(np.repeat(own, 6, axis=0) + noise(rng, 72, 40) / 10, tuple(f"{name}{k // 6}" for k in range(72)))
        for name, own in (("a", centers[:12]), ("b", centers[12:]))
    )
    assert told_apart(home, target).low < 0.6


def test_a_group_on_both_sides_is_never_in_two_folds() -> None:
    rng = np.random.default_rng(3)
    centers = np.repeat(noise(rng, 15, 20) * 5, 4, axis=0)
    groups = tuple(f"g{place // 4}" for place in range(60))
    home, target = (Sample(centers + noise(rng, 60, 20) / 10, groups) for _ in range(2))
    assert 0.3 < told_apart(home, target).value < 0.7


def test_missing_values_count_as_average() -> None:
    rng = np.random.default_rng(4)
    ours, theirs = noise(rng, 30), noise(rng, 30, up=8.0)
    ours[::3, :3], theirs[1::3, 2:] = np.nan, np.nan
    assert told_apart(side(ours, 10, "a"), side(theirs, 10, "b")).value > 0.95


def test_nothing_is_said_of_a_single_text_or_without_columns() -> None:
    rng = np.random.default_rng(5)
    many, one = side(noise(rng, 9), 9, "a"), side(noise(rng, 1), 1, "b")
    assert told_apart(one, many).value is None
    assert told_apart(many, one).value is None
    empty = Sample(np.empty((9, 0)), many.groups)
    assert told_apart(empty, empty).value is None


def test_texts_of_one_group_stand_for_themselves() -> None:
    rng = np.random.default_rng(6)
    found = told_apart(side(noise(rng, 12), 1, "a"), side(noise(rng, 30, up=8.0), 10, "b"))
    assert found.value == 1.0


def test_of_very_many_texts_a_draw_stands_for_all() -> None:
    rng = np.random.default_rng(7)
    many = noise(rng, 3 * MOST_TEXTS, 2, up=1.0)
    found = told_apart(side(noise(rng, 40, 2), 40, "a"), side(many, len(many), "b"))
    assert 0.7 < found.value < 1.0


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 12), st.integers(1, 4), st.integers(1, 4))
def test_any_two_sets_have_an_area_within_its_interval(
    seed: int, ours: int, theirs: int, home_groups: int, target_groups: int
) -> None:
    rng = np.random.default_rng(seed)
    found = told_apart(side(noise(rng, ours, 2), home_groups, "g"), side(noise(rng, theirs, 2), target_groups, "g"))
    assert found.value is None or 0.0 <= found.value <= 1.0
    assert found.low is None or found.high is None or 0.0 <= found.low <= found.high <= 1.0
