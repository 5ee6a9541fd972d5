"""Equation 3: its bounds, its worked example, and what it does without marks."""

import math

import pytest
from hypothesis import given, settings as tries, strategies as st

from rubriclab.methods.dcr.score import consistency, usable_marks

SIGN = st.sampled_from([1, -1])
MARKS = st.lists(SIGN, min_size=1, max_size=40)
SHIFT = st.floats(-20, 20)


def test_the_worked_example_of_appendix_e4():
    assert consistency([-1, 1, -1], alpha=1, beta=-1) == 0.5
    assert consistency([1, -1]) == 0.5
    assert consistency([-1, 1, -1]) == pytest.approx(1 / 3)


@tries(deadline=None, max_examples=100)
@given(marks=MARKS)
def test_without_alpha_and_beta_it_is_the_share_of_positive_marks(marks):
    assert consistency(marks) == pytest.approx(marks.count(1) / len(marks))


@tries(deadline=None, max_examples=100)
@given(marks=MARKS, alpha=SHIFT, beta=SHIFT)
def test_it_is_equation_3_clipped_to_0_and_1(marks, alpha, beta):
    found, length = consistency(marks, alpha, beta), len(marks) + beta
    if length <= 0:
        assert found is None
    else:
        assert 0 <= found <= 1
        raw = ((sum(marks) + alpha) / length + 1) / 2
        assert found == (raw if 0 <= raw <= 1 else float(raw > 1))


@tries(deadline=None, max_examples=100)
@given(marks=MARKS, alpha=SHIFT, beta=SHIFT, data=st.data())
def test_a_mark_that_turns_positive_never_lowers_it(marks, alpha, beta, data):
    place = data.draw(st.integers(0, len(marks) - 1))
    low, high = ([*marks[:place], sign, *marks[place + 1 :]] for sign in (-1, 1))
    if consistency(marks, alpha, beta) is not None:
        assert consistency(low, alpha, beta) <= consistency(high, alpha, beta)
        assert consistency(low) < consistency(high)


@tries(deadline=None, max_examples=50)
@given(marks=MARKS, data=st.data())
def test_the_order_of_the_marks_does_not_matter(marks, data):
    assert consistency(data.draw(st.permutations(marks)), 0.5, 1) == consistency(marks, 0.5, 1)


@pytest.mark.parametrize(("beta", "found"), [(-2, None), (-3, None), (-1.5, 1.0), (-2 + 1e-12, 1.0)])
def test_a_divisor_that_is_not_above_zero_gives_no_score(beta, found):
    assert consistency([1, 1], beta=beta) == found


@pytest.mark.parametrize("beta", [0, 5])
def test_without_a_mark_there_is_no_score(beta):
    assert consistency([], beta=beta) is None


@tries(deadline=None, max_examples=100)
@given(marks=st.lists(st.none() | SIGN, max_size=12))
def test_marks_count_while_less_than_half_of_them_are_missing(marks):
    there = tuple(mark for mark in marks if mark is not None)
    assert usable_marks(marks) == (there if marks.count(None) < len(marks) / 2 else ())
    assert not math.isnan(consistency(usable_marks(marks)) or 0)
