"""Weights within the limits that a person sets, against an independent optimisation."""

from __future__ import annotations

import numpy as np
from constrained_weights import nearest_weights
from hypothesis import given, settings, strategies as st

from rubriclab.learning.weighting import within_limits

LEAST = 1e-9


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A posterior of two to five weights, and limits that some weights meet."""
    size = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    root = rng.normal(0, 1, (size, size))
    shares = rng.dirichlet(np.ones(size))
    width = rng.uniform(0, 0.4, size) * rng.integers(0, 2, size)
    limits = np.column_stack([np.maximum(shares - width, 0), np.minimum(shares + width, 1)])
    free = rng.integers(0, 2, size).astype(bool)
    limits[free] = (0, 1)
    return rng.normal(0.3, 0.5, size), root @ root.T + 0.3 * np.eye(size), limits


@settings(max_examples=40)
@given(problems())
def test_the_weights_are_the_most_probable_ones_within_the_limits(
    problem: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    mean, precision, limits = problem
    found = within_limits(mean, precision, limits, np.sign(mean), instead=np.ones(len(mean)))
    shares = found / found.sum()
    assert (shares >= limits[:, 0] - LEAST).all()
    assert (shares <= limits[:, 1] + LEAST).all()
    expected = nearest_weights(mean, precision, limits)
    distance, best = ((x - mean) @ precision @ (x - mean) for x in (found, expected))
    if expected.sum() > 1e-6:
        assert distance <= best + 1e-6 * max(1.0, best)


@given(st.integers(0, 10_000), st.booleans())
def test_a_signed_weight_keeps_its_sign_and_the_size_that_its_limits_allow(seed: int, negative: bool) -> None:
    rng = np.random.default_rng(seed)
    mean, low = rng.normal(0.5, 0.3, 3), rng.uniform(0.1, 0.5)
    limits = np.array([[-low - 0.2, -low] if negative else [low, low + 0.2], [0, 1], [-1, 1]])
    found = within_limits(mean, np.eye(3), limits, np.sign(mean), instead=np.ones(3))
    shares = found / np.abs(found).sum()
    assert limits[0, 0] - LEAST <= shares[0] <= limits[0, 1] + LEAST
    assert shares[2] * mean[2] >= -LEAST


def test_limits_that_the_weights_left_cannot_meet_are_scaled_in_proportion() -> None:
    limits = np.array([[0.2, 0.2], [0.1, 0.1]])
    found = within_limits(np.array([0.1, 0.9]), np.eye(2), limits, np.ones(2), instead=np.ones(2))
    np.testing.assert_allclose(found / found.sum(), [2 / 3, 1 / 3], atol=1e-9)


def test_if_every_weight_would_be_zero_the_given_weights_within_the_limits_are_returned() -> None:
    limits = np.array([[0.5, 1.0], [0.0, 1.0]])
    found = within_limits(np.array([-1.0, -1.0]), np.eye(2), limits, np.ones(2), instead=np.array([0.6, 0.4]))
    np.testing.assert_allclose(found / found.sum(), [0.6, 0.4], atol=1e-9)
