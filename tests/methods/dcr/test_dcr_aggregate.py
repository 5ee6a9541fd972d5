"""Equation 3, against the paper's numbers, and what it does without marks."""

import pytest
from hypothesis import given, settings as tries, strategies as st

from rubriclab.methods.dcr.score import consistency, usable_marks

SIGN = st.sampled_from([1, -1])


@tries(deadline=None, max_examples=50)
@given(marks=st.lists(SIGN, min_size=1, max_size=40))
def test_it_is_the_share_of_positive_marks(marks):
    """Two of three are consistent: Z = (1 + 1 - 1) / 3 = 1/3, so the score is (1/3 + 1) / 2 = 2/3."""
    assert consistency([1, 1, -1]) == pytest.approx(2 / 3)
    assert consistency(marks) == pytest.approx(marks.count(1) / len(marks))


@tries(deadline=None, max_examples=50)
@given(marks=st.lists(st.none() | SIGN, max_size=12))
def test_marks_count_while_less_than_half_of_them_are_missing(marks):
    there = tuple(mark for mark in marks if mark is not None)
    assert usable_marks(marks) == (there if marks.count(None) < len(marks) / 2 else ())
