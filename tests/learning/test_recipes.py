"""The recipes: against scikit-learn and scipy, and what every one of them keeps to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.cross_decomposition import PLSRegression

from rubriclab.learning.recipes import RECIPES, STRENGTHS, centers_and_spreads, correlations, standardised, weights

NAMES = list(RECIPES)
names = st.sampled_from(NAMES)
seeds = st.integers(0, 10**6)


def columns(seed: int, texts: int = 25, candidates: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Values with some missing, and labels that the first half of the columns follows."""
    rng = np.random.default_rng(seed)
    labels = rng.normal(3, 1, texts)
    values = rng.normal(0, 1, (texts, candidates)) + np.outer(labels, np.arange(candidates) < candidates / 2)
    values[rng.random(values.shape) < 0.05] = np.nan
    return values, labels


def weighed(name: str, values: np.ndarray, labels: np.ndarray, signed: np.ndarray | None = None) -> np.ndarray:
    z = standardised(values, *centers_and_spreads(values))
    return weights(name, z, labels, np.zeros(values.shape[1], bool) if signed is None else signed, 30.0)


@given(names, seeds)
@settings(max_examples=40)
def test_sizes_of_weights_sum_to_one_and_judged_ones_are_never_below_zero(name, seed):
    found = weighed(name, *columns(seed))
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()


@given(names, seeds, st.floats(0.01, 100), st.floats(-50, 50))
@settings(max_examples=40)
def test_unit_and_zero_of_a_criterion_do_not_matter(name, seed, factor, shift):
    values, labels = columns(seed)
    moved = values.copy()
    moved[:, 2] = moved[:, 2] * factor + shift
    assert weighed(name, moved, labels) == pytest.approx(weighed(name, values, labels), abs=1e-6)
    assert weighed(name, values, labels * factor + shift) == pytest.approx(weighed(name, values, labels), abs=1e-6)


@given(names, seeds)
@settings(max_examples=40)
def test_a_signed_criterion_turned_around_gets_the_opposite_weight(name, seed):
    values, labels = columns(seed)
    signed = np.arange(6) % 2 == 0
    turned = np.where(signed, -values, values)
    expected = np.where(signed, -1, 1) * weighed(name, values, labels, signed)
    assert weighed(name, turned, labels, signed) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("equal", "nnls", "ridge")])
def test_signed_weights_have_the_sign_of_the_correlation(name):
    values, labels = columns(1)
    values[:, 0] *= -1
    z = standardised(values, *centers_and_spreads(values))
    assert (np.sign(weighed(name, values, labels, np.ones(6, bool))) == np.sign(correlations(z, labels))).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_column_that_does_not_vary_weighs_nothing(name):
    values, labels = columns(2)
    values[:, 1], values[:, 4] = 0.1 + 0.2, np.nan
    found = weighed(name, values, labels)
    assert found[[1, 4]].tolist() == [0, 0]
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", NAMES)
def test_without_any_variation_every_weight_is_zero(name):
    assert weighed(name, np.ones((5, 3)), np.arange(5.0)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "equal"])
def test_columns_that_all_track_the_wrong_way_weigh_the_same(name):
    labels = np.arange(20.0)
    values = -labels[:, np.newaxis] + np.random.default_rng(0).normal(0, 0.5, (20, 4))
    assert weighed(name, values, labels) == pytest.approx([0.25] * 4)


def test_missing_values_count_as_the_mean():
    values, labels = columns(3)
    z = standardised(values, *centers_and_spreads(values))
    filled = np.where(np.isnan(values), np.nanmean(values, axis=0), values)
    expected = [np.corrcoef(column, labels)[0, 1] for column in filled.T]
    assert correlations(z, labels) == pytest.approx(expected)
    assert weighed("correlation", values, labels) == pytest.approx(
        np.maximum(expected, 0) / np.maximum(expected, 0).sum()
    )
    assert weighed("squared correlation", values, labels) == pytest.approx(
        np.maximum(expected, 0) ** 2 / (np.maximum(expected, 0) ** 2).sum()
    )


def test_pls_is_the_first_component_of_scikit_learn():
    values, labels = columns(4)
    z = standardised(values, *centers_and_spreads(values))
    component = PLSRegression(n_components=1, scale=False).fit(z, labels).x_weights_[:, 0]
    positive = np.maximum(component * np.sign(component.sum()), 0)
    assert weighed("pls", values, labels) == pytest.approx(positive / positive.sum())


def test_nnls_is_that_of_scipy():
    values, labels = columns(5)
    z = standardised(values, *centers_and_spreads(values))
    found, _ = nnls(z, labels - labels.mean())
    assert weighed("nnls", values, labels) == pytest.approx(found / found.sum())


@pytest.mark.parametrize("strength", STRENGTHS)
def test_ridge_is_least_squares_on_texts_that_say_the_weights_are_equal(strength):
    values, labels = columns(6)
    z = standardised(values, *centers_and_spreads(values))
    y, total = labels - labels.mean(), z.sum(axis=1)
    equal = np.linalg.lstsq(total[:, np.newaxis], y, rcond=None)[0][0]
    rows = np.vstack([z, np.sqrt(strength) * np.eye(6)])
    solved = np.linalg.lstsq(rows, np.concatenate([y, np.sqrt(strength) * np.full(6, equal)]), rcond=None)[0]
    expected = np.maximum(solved, 0) / np.maximum(solved, 0).sum()
    assert weights("ridge", z, labels, np.zeros(6, bool), strength) == pytest.approx(expected)


def test_ridge_runs_from_least_squares_to_equal_weights():
    values, labels = columns(7, texts=60)
    z = standardised(values, *centers_and_spreads(values))
    off = np.zeros(6, bool)
    assert weights("ridge", z, labels, off, 1e9) == pytest.approx(np.full(6, 1 / 6), abs=1e-5)
    plain = np.maximum(np.linalg.lstsq(z, labels - labels.mean(), rcond=None)[0], 0)
    assert weights("ridge", z, labels, off, 1e-9) == pytest.approx(plain / plain.sum())
