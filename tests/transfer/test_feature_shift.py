"""How far single columns moved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubriclab.aggregation import Term
from rubriclab.transfer.feature_shift import movements, movements_from
from rubriclab.transfer.sample import Sample


def side(values: np.ndarray, groups: int | None = None) -> Sample:
    return Sample(values, tuple(f"g{place % (groups or len(values))}" for place in range(len(values))))


def test_a_movement_is_said_in_spreads_of_home() -> None:
    home, target = np.array([[1.0], [3.0], [1.0], [3.0]]), np.array([[5.0], [6.0], [np.nan]])
    (found,) = movements(["words"], side(home), side(target))
    assert (found.name, found.home, found.target, found.texts) == ("words", 2.0, 5.5, 2)
    assert (found.moved, found.distance, found.beyond) == (3.5, 1.0, 1.0)


def test_what_does_not_vary_at_home_has_no_unit_but_a_distance() -> None:
    (found,) = movements(["words"], side(np.ones((6, 1))), side(np.arange(6.0).reshape(-1, 1)))
    assert found.moved is None
    assert found.distance == pytest.approx(4 / 6, abs=1e-6)


def test_what_moved_most_comes_first_and_chance_is_told_from_movement() -> None:
    rng = np.random.default_rng(0)
    home, target = rng.normal(size=(30, 40)), rng.normal(size=(90, 40))
    target[:, 7] += 3
    found = movements([f"m{place}" for place in range(40)], side(home), side(target))
    assert found[0].name == "m7"
    assert [each.name for each in found if each.more_than_chance] == ["m7"]


def test_many_texts_of_few_groups_are_no_evidence_of_a_movement() -> None:
    wrong = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        home, target = (rng.normal(size=(5, 8))[np.arange(200) % 5] + rng.normal(size=(200, 8)) / 5 for _ in range(2))
        names = [f"m{place}" for place in range(8)]
        wrong += any(each.more_than_chance for each in movements(names, side(home, 5), side(target, 5)))
    assert wrong <= 1


def test_groups_of_other_sizes_are_no_movement() -> None:
    wrong = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        home, target = side(rng.normal(size=(30, 8))), side(rng.normal(size=(480, 8)), 30)
        wrong += any(each.more_than_chance for each in movements([f"m{place}" for place in range(8)], home, target))
    assert wrong <= 1


def test_terms_stand_for_texts_that_are_not_known() -> None:
    terms = [
        Term(criterion=name, weight=0.5, center=3.0, spread=0.5, low=0.4, high=0.6, selected=1.0)
        for name in ("near", "far", "unscored", "absent")
    ]
    scores = {"near": np.array([3.1, 3.1]), "far": np.array([1.0, np.nan]), "unscored": np.array([np.nan, np.nan])}
    found = movements_from(terms, scores)
    assert [(each.name, each.moved, each.texts, each.chance) for each in found] == [
        ("far", -4.0, 1, None),
        ("near", 0.2, 2, None),
    ]


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9))
def test_sides_that_change_places_have_the_same_distance_and_chance(seed: int, ours: int, theirs: int) -> None:
    rng = np.random.default_rng(seed)
    home, target = (side(rng.integers(0, 4, (count, 2)).astype(float)) for count in (ours, theirs))
    there, back = (
        {each.name: each for each in movements(["a", "b"], *pair)} for pair in ((home, target), (target, home))
    )
    for name, found in there.items():
        assert found.distance == pytest.approx(back[name].distance)
        assert found.chance == pytest.approx(back[name].chance)
