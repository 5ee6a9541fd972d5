"""Equations 5 to 7, on verdicts of any kind."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings as tries, strategies as st

from rubriclab.methods.seal.score import (
    dimension_score,
    normalised,
    question_share,
    unit_scores,
)

WEIGHTS = st.lists(st.floats(0.01, 100), min_size=1, max_size=6)
VALUE = st.sampled_from([0.0, 1.0, math.nan]) | st.floats(0, 1)


@st.composite
def judged(draw, value=VALUE):
    """Return verdicts, shape (units, questions), with weights."""
    weights = draw(WEIGHTS)
    rows = draw(st.lists(st.lists(value, min_size=len(weights), max_size=len(weights)), min_size=1, max_size=6))
    return np.array(rows), weights


WHOLE = judged(st.sampled_from([0.0, 1.0]))


@pytest.mark.parametrize("weights", [[], [0.0], [0.5, -0.5], [1, math.nan], [math.inf, 1]])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ValueError, match="above zero"):
        normalised(weights)


@tries(max_examples=40)
@given(WHOLE)
def test_a_unit_s_score_is_the_weighted_sum_of_its_verdicts(case):
    values, weights = case
    exact = [
        sum(Fraction(w) for w, v in zip(weights, row, strict=True) if v) / sum(map(Fraction, weights)) for row in values
    ]
    np.testing.assert_allclose(unit_scores(values, weights), [float(each) for each in exact])
    assert dimension_score(values, weights) == pytest.approx(float(sum(exact) / len(exact)))


N = math.nan


@pytest.mark.parametrize(
    ("row", "weights", "expected"),
    [
        ([1, N], [1, 1], N),
        ([1, 1, N], [1, 1, 1], 1.0),
        ([1, 0, N], [1, 1, 1], 0.5),
        ([1, N], [1.001, 1], 1.0),
        ([1, N], [1, 1.001], N),
        ([1, N, N, N], [3, 1, 1, 1], N),
        ([N] * 5 + [1] * 5, [0.1] * 10, N),
        ([N], [1], N),
    ],
)
def test_a_unit_is_missing_where_verdicts_of_half_its_weight_are(row, weights, expected):
    np.testing.assert_allclose(unit_scores(np.array([row], dtype=float), weights), [expected])


@pytest.mark.parametrize(
    ("units", "expected"),
    [([1, N], None), ([1, 0, N], 0.5), ([1, N, N], None), ([N], None), ([], None), ([1, 1, 0, N, N], 2 / 3)],
)
def test_a_text_is_missing_where_half_of_its_units_are(units, expected):
    column = np.array(units, dtype=float)
    assert dimension_score(column.reshape(-1, 1), [1.0]) == pytest.approx(expected)
    assert question_share(column) == pytest.approx(expected, abs=1e-6)
