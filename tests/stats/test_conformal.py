"""Conformal bounds: against numpy's quantiles and against what they promise of exchangeable errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.stats.intervals import enough_errors, error_bounds


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 99), st.integers(1, 200), st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_bounds_are_the_weibull_quantiles_with_half_of_the_rest_on_each_side(seed, n, confidence):
    errors = np.sort(np.random.default_rng(seed).normal(size=n))
    found = error_bounds(errors.tolist(), confidence)
    if not enough_errors(n, confidence):
        assert found == (-math.inf, math.inf)
        return
    low, high = np.quantile(errors, [(1 - confidence) / 2, (1 + confidence) / 2], method="weibull")
    assert found == pytest.approx((min(low, 0), max(high, 0)))


@pytest.mark.parametrize(("n", "confidence"), [(19, 0.9), (39, 0.95), (9, 0.8), (199, 0.99)])
def test_just_enough_errors_are_enough(n, confidence):
    errors = [float(step - n // 2) for step in range(n)]
    assert error_bounds(errors, confidence) == (errors[0], errors[-1])
    assert enough_errors(n, confidence)
    assert not enough_errors(n - 1, confidence)
    assert error_bounds([], confidence) == (-math.inf, math.inf)


def test_the_score_itself_is_never_outside():
    assert error_bounds([0.5] * 30, 0.9) == (0.0, 0.5)
    assert error_bounds([-0.5] * 30, 0.9) == (-0.5, 0.0)


@pytest.mark.parametrize("n", [19, 30, 100])
def test_each_tail_of_skewed_errors_is_left_out_half_as_often_as_promised(n):
    draws = np.random.default_rng(n).gamma(2.0, size=(10_000, n + 1)) - 2.0
    known, new = np.sort(draws[:, :-1], axis=1), draws[:, -1]
    low, high = np.array([error_bounds(row, 0.9) for row in known.tolist()]).T
    assert (new < low).mean() == pytest.approx(0.05, abs=0.01)
    assert (new > high).mean() == pytest.approx(0.05, abs=0.01)
