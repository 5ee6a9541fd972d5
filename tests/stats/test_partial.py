"""Partial correlation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubriclab.stats import pearson
from rubriclab.stats.partial import partial_correlation

# The example of the R package ppcor (Kim 2015, Communications for Statistical Applications and Methods 22).
LAYERS = {
    "hl": [7, 15, 19, 15, 21, 22, 57, 15, 20, 18],
    "disp": [0.000, 0.964, 0.000, 0.000, 0.921, 0.000, 0.000, 1.006, 0.000, 1.011],
    "deg": [9, 2, 3, 4, 1, 3, 1, 3, 6, 1],
    "bc": [1.78e-02, 1.05e-06, 1.37e-05, 7.18e-03, 0, 0, 0, 4.48e-03, 2.10e-06, 0],
}


@pytest.mark.parametrize(
    ("x", "y", "r"),
    [
        ("hl", "disp", -0.6720863),
        ("hl", "deg", -0.6161163),
        ("hl", "bc", 0.1148459),
        ("disp", "deg", -0.7215522),
        ("disp", "bc", 0.2855420),
        ("deg", "bc", 0.6940953),
    ],
)
def test_the_published_example_comes_out(x: str, y: str, r: float) -> None:
    held = np.column_stack([LAYERS[name] for name in LAYERS if name not in (x, y)])  # type: ignore[arg-type]
    assert partial_correlation(LAYERS[x], LAYERS[y], held) == pytest.approx(r, abs=5e-8)  # type: ignore[arg-type]


seeds = st.integers(0, 10**6)


@given(seeds, st.integers(0, 3), st.integers(8, 40))
def test_it_is_the_inverse_of_the_correlation_matrix(seed: int, controls: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(n, 2 + controls)) @ rng.normal(size=(2 + controls, 2 + controls))
    precision = np.linalg.inv(np.corrcoef(data.T))
    expected = -precision[0, 1] / math.sqrt(precision[0, 0] * precision[1, 1])
    assert partial_correlation(data[:, 0], data[:, 1], data[:, 2:]) == pytest.approx(expected, abs=1e-6)


@given(seeds)
def test_it_is_the_correlation_of_regression_residuals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held = rng.normal(size=(20, 2))
    x, y = held @ [1, -2] + rng.normal(size=20), held @ [3, 1] + rng.normal(size=20)
    design = np.column_stack([np.ones(20), held])
    left = [values - design @ np.linalg.pinv(design) @ values for values in (x, y)]
    assert partial_correlation(x, y, held) == pytest.approx(pearson(*left), abs=1e-9)


@given(seeds)
def test_constant_and_repeated_controls_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y, z = rng.normal(size=(3, 15))
    more = np.column_stack([z, np.full(15, 3.0), 2 * z - 1])
    assert partial_correlation(x, y, more) == pytest.approx(partial_correlation(x, y, z[:, None]), abs=1e-9)


def test_nothing_is_left_of_what_is_held_constant() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 12))
    assert math.isnan(partial_correlation(2 * x + 1, y, x[:, None]))
    assert math.isnan(partial_correlation(np.ones(12), y, x[:, None]))


def test_too_few_texts_leave_it_undefined() -> None:
    assert math.isnan(partial_correlation([1, 2, 4, 3], [2, 1, 3, 4], np.arange(8).reshape(4, 2)))


@pytest.mark.parametrize(
    ("x", "controls", "complaint"),
    [([1.0, 2.0], np.ones((3, 1)), "as many rows"), ([1.0, 2.0, math.nan], np.ones((3, 1)), "expected finite numbers")],
)
def test_what_does_not_fit_is_refused(x: list[float], controls: np.ndarray, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        partial_correlation(x, x, controls)
