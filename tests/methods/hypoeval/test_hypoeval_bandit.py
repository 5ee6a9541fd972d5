"""Rewards against the paper's formula by hand, and rankings that hang on nothing else."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.methods.hypoeval.learn import (
    Arm,
    is_wrong,
    ranked,
    reward,
    utility,
    wrong_needed,
)
from rubriclab.models.text import Scale

ONE_TO_FIVE = Scale(low=1, high=5, whole=True)
BOUNDS = st.floats(-1000, 1000, allow_nan=False)
SCALES = st.builds(lambda low, width: Scale(low=low, high=low + width, whole=False), BOUNDS, st.floats(0.5, 500))
SHARES = st.floats(0, 1)


def on(scale: Scale, share: float) -> float:
    return min(scale.low + share * scale.width, scale.high)


def visited_arm(name: str, utilities, step: int) -> Arm:
    return Arm(name, len(utilities), sum(utilities), step)


def total(arm: Arm, step: int, alpha: float = 0.5, procedure="improved") -> float:
    return reward(arm, step, alpha, procedure)


@pytest.mark.parametrize("rating", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("label", [1, 2.333333, 3.5, 5])
def test_utility_is_the_paper_s_on_its_own_scale(rating, label):
    assert utility(rating, label, ONE_TO_FIVE) == pytest.approx(1 - (rating - label) ** 2 / 16)
    assert utility(rating, label, ONE_TO_FIVE) == pytest.approx(1 - ((rating - label) / 4) ** 2)


@settings(deadline=None, max_examples=60)
@given(scale=SCALES, rating=SHARES, label=SHARES)
def test_utility_does_not_depend_on_the_scale_s_unit(scale, rating, label):
    same = utility(on(scale, rating), on(scale, label), scale)
    unit = Scale(low=0, high=1, whole=False)
    assert same == pytest.approx(utility(rating, label, unit), abs=1e-6)


def test_an_arm_without_a_visit_has_no_utility_and_the_largest_bonus():
    fresh, visited = Arm("h02"), visited_arm("h01", (0.0, 0.0), 9)
    assert total(fresh, 9) > total(visited, 9)
    assert total(Arm("h03"), 0) == 0


def test_the_published_bonus_goes_stale_and_the_fresh_one_does_not():
    early, late = visited_arm("h02", (0.9,) * 5, 5), visited_arm("h01", (0.9,) * 5, 30)
    assert total(early, 30) == total(late, 30)
    stale = total(late, 30, procedure="paper") - total(early, 30, procedure="paper")
    assert stale == pytest.approx(0.5 * (math.sqrt(math.log(30) / 5) - math.sqrt(math.log(5) / 5)), abs=1e-5)


def test_without_exploration_the_mean_utility_decides():
    arms = [visited_arm("h01", (0.5,) * 20, 30), visited_arm("h02", (0.6,), 3), visited_arm("h03", (0.9, 0.1), 30)]
    assert [arm.id for arm in ranked(arms, 30, 0.0, "improved")] == ["h02", "h01", "h03"]


def test_a_failed_rating_teaches_nothing():
    arm = visited_arm("h01", (0.5,), 3)
    assert arm.seen(None, 7) is arm
    assert arm.seen(0.25, 7) == visited_arm("h01", (0.5, 0.25), 7)


ARMS = st.lists(
    st.builds(
        visited_arm,
        st.integers(1, 99).map("h{:02d}".format),
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), max_size=4).map(tuple),
        st.integers(0, 30),
    ),
    max_size=12,
    unique_by=lambda arm: arm.id,
)


@settings(deadline=None, max_examples=60)
@given(arms=ARMS, step=st.integers(1, 40), procedure=st.sampled_from(["improved", "paper"]), data=st.data())
def test_the_ranking_is_by_reward_and_never_by_the_order_of_arrival(arms, step, procedure, data):
    order = ranked(arms, step, 0.5, procedure)
    assert order == ranked(data.draw(st.permutations(arms)), step, 0.5, procedure)
    rewards = [total(arm, step, procedure=procedure) for arm in order]
    assert rewards == sorted(rewards, reverse=True)
    for first, second in itertools.pairwise(order):
        assert total(first, step, procedure=procedure) > total(second, step, procedure=procedure) or (
            first.id < second.id
        )


@settings(deadline=None, max_examples=60)
@given(scale=SCALES, rating=SHARES, label=SHARES, theta=st.floats(0.05, 4))
def test_the_threshold_scales_with_the_width_of_the_scale(scale, rating, label, theta):
    distance = abs(rating - label) * 4
    if abs(distance - theta) > 1e-6:
        assert is_wrong(on(scale, rating), on(scale, label), theta, scale) == (distance > theta)


def test_w_hyp_rises_from_nothing_as_in_the_published_code():
    # len(top) * i / N * 0.8 with the 0-based number of the text
    assert wrong_needed(10, 1, 30) == 0
    assert wrong_needed(10, 16, 30) == pytest.approx(10 * 15 / 30 * 0.8)
    assert wrong_needed(10, 30, 30) == pytest.approx(10 * 29 / 30 * 0.8)
    steps = [wrong_needed(10, step, 30) for step in range(1, 31)]
    assert np.all(np.diff(steps) > 0)
