"""Conformal bounds: against a worked example and against what they promise of exchangeable errors."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.stats.conformal import enough, error_bound, expected_error


def test_the_bound_is_the_next_error_s_rank_worked_by_hand():
    # Of ten errors, nine bound nine tenths of eleven draws only if the largest is taken: ceil(11 * 0.9) = 10.
    errors = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert error_bound(errors, 0.9) == 1.0
    assert error_bound(errors, 0.8) == 0.9  # ceil(8.8) = 9
    assert error_bound(errors, 0.5) == 0.6  # ceil(5.5) = 6


@pytest.mark.parametrize(("n", "confidence"), [(9, 0.9), (19, 0.95), (4, 0.8), (99, 0.99)])
def test_just_enough_errors_are_enough(n, confidence):
    errors = list(range(n))
    assert error_bound(errors, confidence) == n - 1
    assert error_bound(errors[:-1], confidence) == math.inf
    assert not enough(n - 1, confidence)


def test_no_error_at_all_bounds_nothing():
    assert error_bound([], 0.9) == math.inf


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 400), st.integers(1, 99))
def test_the_rank_is_exact_where_floats_are_not(n, percent):
    confidence = percent / 100
    rank = math.ceil((n + 1) * Fraction(percent, 100))
    assert error_bound(list(range(1, n + 1)), confidence) == (rank if rank <= n else math.inf)


@pytest.mark.parametrize("n", [12, 30, 100])
def test_bounds_of_exchangeable_errors_hold_as_often_as_promised(n):
    # Vovk, Gammerman & Shafer 2005: at least the confidence, and at most 1 / (n + 1) more where no errors are tied.
    draws = np.random.default_rng(n).gamma(2.0, size=(20_000, n + 1))
    known, new = np.sort(draws[:, :-1], axis=1), draws[:, -1]
    rank = math.ceil((n + 1) * 0.9)
    bounds = np.array([error_bound(row, 0.9) for row in known.tolist()])
    assert (bounds == known[:, rank - 1]).all()
    held = float((new <= bounds).mean())
    assert held == pytest.approx(rank / (n + 1), abs=0.01)
    assert 0.9 <= rank / (n + 1) <= 0.9 + 1 / (n + 1)


def test_errors_in_units_of_what_was_expected_keep_the_promise_and_vary_the_width():
    draw = np.random.default_rng(1)
    hard = draw.uniform(0, 3, size=(5_000, 31))
    errors = np.abs(draw.normal(size=hard.shape)) * (1 + hard)
    units = errors / expected_error(hard, 1.0)
    bounds = np.array([error_bound(sorted(row), 0.9) for row in units[:, :-1].tolist()])
    held = errors[:, -1] <= bounds * expected_error(hard[:, -1], 1.0)
    assert held.mean() == pytest.approx(28 / 31, abs=0.015)
    for third in (hard[:, -1] < 1, hard[:, -1] > 2):
        assert held[third].mean() == pytest.approx(28 / 31, abs=0.025)
    # Intervals of one width for all hold too often for the easy texts, and too seldom for the hard ones.
    flat = np.array([error_bound(sorted(row), 0.9) for row in errors[:, :-1].tolist()]) >= errors[:, -1]
    assert flat[hard[:, -1] < 1].mean() > 0.97
    assert flat[hard[:, -1] > 2].mean() < 0.82
