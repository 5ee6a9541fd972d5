"""Which labels tell most: the design is right by brute force, and the same whatever the order of the pool."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.active_learning.optimal_design import CRITERIA, EVEN, GROUPS, REST, DesignPoints, select_texts
from rubriclab.stats.correlation import FloatArray

EQUAL = np.array([0.5, 0.3, 0.2])


def texts(rng: np.random.Generator, n: int, groups: int, *, missing: float = 0.0) -> DesignPoints:
    values = rng.integers(1, 6, (n, len(EQUAL))).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    return DesignPoints(values, [f"g{number}" for number in rng.integers(groups, size=n)])


def posterior_variance(pool: DesignPoints, labelled: DesignPoints, extra: list[int]) -> float:
    """The pool's mean variance by the textbook: the covariance of labels with what is wanted, conditioned on them."""
    values = np.vstack([pool.values, labelled.values])
    z = (values - values.mean(axis=0)) / values.std(axis=0)
    groups = np.array([*pool.groups, *labelled.groups])
    prior = CRITERIA * (EVEN / 3 + (1 - EVEN) * EQUAL)
    wanted: FloatArray = (z * prior) @ z.T
    noisy = wanted + GROUPS * (groups[:, None] == groups) + REST * np.eye(len(z))
    there = [*extra, *range(len(pool.groups), len(z))]
    known = np.linalg.solve(noisy[np.ix_(there, there)], wanted[there])
    return float(np.diag(wanted - wanted[:, there] @ known)[: len(pool.groups)].mean())


@pytest.mark.parametrize("seed", range(4))
def test_each_pick_leaves_the_least_variance_that_one_label_can(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool, labelled = texts(rng, 12, 4), texts(rng, 6, 3)
    chosen: list[int] = []
    for pick in select_texts(pool, labelled, EQUAL, 4):
        left = {
            place: posterior_variance(pool, labelled, [*chosen, place]) for place in range(12) if place not in chosen
        }
        assert pick.before == pytest.approx(posterior_variance(pool, labelled, chosen))
        assert pick.after == pytest.approx(left[pick.row]) == pytest.approx(min(left.values()))
        chosen.append(pick.row)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 25), st.integers(1, 30))
def test_no_text_is_picked_twice_and_every_label_narrows(seed: int, n: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    found = select_texts(texts(rng, n, 5, missing=0.2), texts(rng, 8, 5, missing=0.2), EQUAL, count)
    places = [pick.row for pick in found]
    assert len(set(places)) == len(places) == min(n, count)
    assert all(0 <= pick.after <= pick.before + 1e-12 for pick in found)
    assert all(one.after == two.before for one, two in pairwise(found))


def test_texts_that_tell_the_same_come_from_all_groups_in_turn() -> None:
    pool = DesignPoints(np.tile([5.0, 4.0, 1.0], (12, 1)), [f"g{number // 4}" for number in range(12)])
    labelled = DesignPoints(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]), ["seen", "seen"])
    groups = [pool.groups[pick.row] for pick in select_texts(pool, labelled, EQUAL, 9)]
    assert all(set(groups[start : start + 3]) == {"g0", "g1", "g2"} for start in (0, 3, 6))


def test_a_text_unlike_the_labelled_ones_comes_before_one_like_them() -> None:
    labelled = DesignPoints(np.array([[1.0, 3, 3], [3, 3, 3], [5, 3, 3]] * 3), [f"l{number}" for number in range(9)])
    pool = DesignPoints(np.array([[3.0, 3, 3], [1, 3, 3], [3, 5, 1]]), ["a", "b", "c"])
    first, *_ = select_texts(pool, labelled, EQUAL, 3)
    assert first.row == 2
    assert np.argmax(first.information) in (1, 2)


def test_with_nothing_to_tell_texts_apart_there_is_nothing_to_gain() -> None:
    pool, labelled = (
        DesignPoints(np.full((3, 3), 2.0), ["a", "b", "c"]),
        DesignPoints(np.full((2, 3), np.nan), ["d", "e"]),
    )
    found = select_texts(pool, labelled, EQUAL, 2)
    assert [pick.row for pick in found] == [0, 1]
    assert [(pick.before, pick.after) for pick in found] == [(0, 0), (0, 0)]
