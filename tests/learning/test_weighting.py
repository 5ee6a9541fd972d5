"""Weights in closed form, and within the limits that a person sets, against independent computations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from constrained_weights import nearest_weights
from hypothesis import given, settings, strategies as st
from rating_matrices import made_up, with_whole

from rubriclab.learning.weighting import (
    COMPOSITE_ERROR,
    NOISE,
    WEIGHT_VARIANCE,
    Moments,
    _prior,
    constrain_weights,
    design_matrix,
    posterior,
    shrunken_correlations,
)


def moments(table, rows=None) -> Moments:
    return design_matrix(table).moments(np.ones(len(table.labels), dtype=bool) if rows is None else rows)


def test_labels_that_are_all_the_same_leave_what_is_believed():
    table = with_whole(replace(made_up(0, texts=200, groups=50), labels=np.full(200, 3.0)))
    found = posterior(table, moments(table), range(8))
    assert found.label_spread == 0
    spreads = np.sqrt(design_matrix(table).moments(np.ones(200, dtype=bool)).zz.diagonal() / 200)
    assert (found.mean > 0).all()
    assert found.mean[1:] == pytest.approx(np.full(7, found.mean[1]))
    # Half of the belief is in the score of the whole, the other half in the mean of seven criteria.
    assert found.mean[0] * spreads[0] > 2 * found.mean[1]


def test_weights_are_those_of_a_gaussian_model_written_out():
    table = with_whole(made_up(1, texts=40, groups=20))
    table = replace(table, values=np.nan_to_num(table.values, nan=3.0))
    made = design_matrix(table)
    z = np.clip(made.z, -3, 3)
    centred, y = z - z.mean(axis=0), (table.labels - table.labels.mean()) / table.labels.std()
    prior, precision = _prior(table, list(range(8)), centred.T @ centred / 40)
    # Columns are the whole and seven criteria, and composites are scaled to a standard deviation of one.
    composites = [np.eye(8)[0], np.array([0.0, *[1 / 7] * 7])]
    scaled = [each / np.std(centred @ each) for each in composites]
    covariance = WEIGHT_VARIANCE / 8 * np.eye(8) + COMPOSITE_ERROR**2 * sum(np.outer(each, each) for each in scaled)
    assert np.linalg.inv(precision) == pytest.approx(covariance)
    gain = covariance @ centred.T @ np.linalg.inv(centred @ covariance @ centred.T + NOISE**2 * np.eye(40))
    expected = prior + gain @ (y - centred @ prior)
    found = posterior(table, moments(table), range(8))
    if (expected > 0).all():
        assert found.mean == pytest.approx(expected)
    else:
        assert found.mean[expected < 0] == pytest.approx(0)


def test_texts_that_made_a_criterion_have_no_part_in_its_weight_or_its_rank():
    table = made_up(2)
    values, seen = table.values.copy(), table.is_from_own_group.copy()
    values[:10, 7] = table.labels[:10]
    seen[:10, 7] = True
    dipped, honest = replace(table, values=values), replace(table, values=values, is_from_own_group=seen)
    assert shrunken_correlations(dipped, moments(dipped))[7] > shrunken_correlations(honest, moments(honest))[7] + 0.1
    assert posterior(dipped, moments(dipped), range(8)).mean[7] > posterior(honest, moments(honest), range(8)).mean[7]


def test_folds_are_left_out_by_subtraction():
    table = made_up(4, measures=2)
    inside = np.arange(30) < 7
    made = design_matrix(table)
    rest = made.moments(np.ones(30, dtype=bool)) - made.moments(inside)
    directly = made.moments(~inside)
    assert rest.zz == pytest.approx(directly.zz)
    assert rest.label_correlations == pytest.approx(directly.label_correlations)
    assert posterior(table, rest, range(10)).mean == pytest.approx(posterior(table, directly, range(10)).mean)


def test_judged_criteria_never_weigh_below_zero_and_measures_may():
    table = made_up(5, texts=120, groups=40, measures=2)
    values = table.values.copy()
    values[:, 0] = 6 - table.labels
    found = posterior(table := replace(table, values=values), moments(table), range(10))
    assert found.mean[0] == 0
    assert (found.mean[8:] < 0).all()


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
    found = constrain_weights(mean, precision, limits, np.sign(mean), fallback=np.ones(len(mean)))
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
    found = constrain_weights(mean, np.eye(3), limits, np.sign(mean), fallback=np.ones(3))
    shares = found / np.abs(found).sum()
    assert limits[0, 0] - LEAST <= shares[0] <= limits[0, 1] + LEAST
    assert shares[2] * mean[2] >= -LEAST


def test_limits_that_the_weights_left_cannot_meet_are_scaled_in_proportion() -> None:
    limits = np.array([[0.2, 0.2], [0.1, 0.1]])
    found = constrain_weights(np.array([0.1, 0.9]), np.eye(2), limits, np.ones(2), fallback=np.ones(2))
    np.testing.assert_allclose(found / found.sum(), [2 / 3, 1 / 3], atol=1e-9)


def test_if_every_weight_would_be_zero_the_given_weights_within_the_limits_are_returned() -> None:
    limits = np.array([[0.5, 1.0], [0.0, 1.0]])
    found = constrain_weights(np.array([-1.0, -1.0]), np.eye(2), limits, np.ones(2), fallback=np.array([0.6, 0.4]))
    np.testing.assert_allclose(found / found.sum(), [0.6, 0.4], atol=1e-9)
