"""Maps onto the raters' scale: against scikit-learn, and what each promises."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from sklearn.linear_model import LinearRegression

from rubriclab.learning import calibration
from rubriclab.models.text import Scale
from rubriclab.stats.intervals import standard_error

ONE_TO_FIVE = Scale(low=1, high=5, whole=False)


def noisy(n: int, seed: int = 0, slope: float = 1.0, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    raw = draw.normal(size=n)
    return raw, np.clip(3 + slope * raw + noise * draw.normal(size=n), 1, 5)


def test_few_labels_give_a_line_as_much_less_steep_as_adjusting_r_squared_says():
    raw, labels = noisy(30, noise=1.0)
    line = LinearRegression().fit(raw[:, None], labels)
    fit = line.score(raw[:, None], labels)
    adjusted = 1 - (1 - fit) * 29 / (29 - calibration.N_PARAMETERS)
    found = calibration.fit_linear(raw, labels)
    assert found.y[1] - found.y[0] == pytest.approx(line.coef_[0] * adjusted / fit, abs=2e-6)
    assert found(float(raw.mean())) == pytest.approx(labels.mean(), abs=2e-6)


def test_a_weak_relation_keeps_a_rest_of_its_slope_so_that_the_order_stays():
    raw, other = noisy(30, slope=0)
    line = LinearRegression().fit(raw[:, None], other)
    labels = other - line.predict(raw[:, None]) + 0.05 * raw
    found = calibration.fit_linear(raw, labels)
    assert found.y[1] - found.y[0] == pytest.approx(calibration.MIN_SHRINKAGE * 0.05, abs=2e-6)


@pytest.mark.parametrize(
    ("raw", "labels"),
    [([1, 2, 3, 4], [4, 3, 2, 1]), ([2, 2, 2], [1, 3, 5]), ([1, 2, 3], [3, 3, 3]), ([7], [3])],
    ids=["falling", "no raw value differs", "no label differs", "one text"],
)
def test_where_nothing_rises_every_text_gets_the_mean(raw, labels):
    found = calibration.fit_linear(np.array(raw, dtype=float), np.array(labels, dtype=float))
    assert [found(x) for x in (-5.0, 0.0, 9.0)] == pytest.approx([np.mean(labels)] * 3)


@settings(max_examples=60, deadline=None)
@example(pairs=[(0.0, 2.0), (-8e-71, 1.0)], random=Random(0))
@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(1, 5)), min_size=1, max_size=40), st.randoms())
def test_maps_never_fall_and_the_order_of_texts_changes_nothing(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    found, again = (calibration.fit_linear(*np.array(some).T) for some in (pairs, shuffled))
    assert (np.diff(found.apply(np.linspace(-4, 4, 30))) >= -1e-12).all()
    np.testing.assert_allclose(found.apply(np.linspace(-4, 4, 30)), again.apply(np.linspace(-4, 4, 30)), atol=1e-5)


def test_the_map_as_judged_is_the_weighted_mean_in_points_of_the_scale():
    weights, centers, spreads = np.array([0.6, 0.4]), np.array([3.2, 0.7]), np.array([0.8, 0.3])
    found = calibration.mean_rating_map(weights, centers, spreads, np.array([False, True]), ONE_TO_FIVE)
    rating, answers = 4.0, 0.5
    raw = 0.6 * (rating - 3.2) / 0.8 + 0.4 * (answers - 0.7) / 0.3
    # In points of the scale half of the answers are a 3, and their spread of 0.3 is one of 1.2.
    shares = 0.6 / 0.8, 0.4 / 1.2
    assert found(raw) == pytest.approx((shares[0] * 4.0 + shares[1] * 3.0) / sum(shares), abs=1e-5)
    assert found.kind == "none"


def test_the_standard_error_takes_the_texts_of_a_group_together():
    values = np.random.default_rng(0).normal(size=40)
    alone = standard_error(values, np.arange(40))
    assert alone == pytest.approx(values.std(ddof=1) / math.sqrt(40))
    twice = np.repeat(values, 2)
    assert standard_error(twice, np.arange(80) // 2) == pytest.approx(alone)
    assert standard_error(values, np.zeros(40, dtype=int)) == math.inf


def test_texts_without_a_score_bound_nothing_and_too_few_give_no_intervals():
    labels = np.arange(1.0, 11.0)
    scores = np.where(labels > 8, np.nan, labels)
    assert calibration.held_out_errors(scores, labels, 0.8) is None
    found = calibration.held_out_errors(scores, labels, 0.7)
    assert found.errors == (0.0,) * 8
