"""Correlations against scipy's, and weighted ones against the same data written out in full."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from rubriclab.stats.correlation import PAIR_LIMIT, is_constant, kendall_rows, pearson, pearson_rows, spearman_rows

quick = settings(max_examples=40, deadline=None)


def spearman(x, y):
    return float(spearman_rows(x, y)[0])


def kendall(x, y):
    return float(kendall_rows(x, y)[0])


PAIRED = [(pearson, pearson_rows), (spearman, spearman_rows), (kendall, kendall_rows)]
VECTOR_FUNCTIONS = [vector for vector, _ in PAIRED]
ROW_FUNCTIONS = [rows for _, rows in PAIRED]
AGAINST = [(pearson, pearsonr), (spearman, spearmanr), (kendall, kendalltau)]

tied = st.integers(1, 5).map(float)
thirds = st.integers(-9, 15).map(lambda third: third / 3)
wide = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda number: round(number, 3))


@st.composite
def two_vectors(draw, min_size=2):
    n = draw(st.integers(min_size, 30))
    scores = st.sampled_from([tied, thirds, wide])
    x, y = (draw(st.lists(draw(scores), min_size=n, max_size=n)) for _ in range(2))
    return np.array(x), np.array(y)


@st.composite
def weighted_vectors(draw):
    x, y = draw(two_vectors())
    rows = draw(st.integers(1, 4))
    counts = st.lists(st.integers(0, 4), min_size=len(x), max_size=len(x))
    return x, y, np.array(draw(st.lists(counts, min_size=rows, max_size=rows)))


def varies(*vectors):
    return all(len(set(vector)) > 1 for vector in vectors)


@pytest.mark.parametrize(("ours", "scipys"), AGAINST)
@quick
@given(vectors=two_vectors())
def test_correlation_equals_scipys(ours, scipys, vectors):
    x, y = vectors
    assume(varies(x, y))
    assert ours(x, y) == pytest.approx(scipys(x, y).statistic, abs=1e-9)


@pytest.mark.parametrize(("vector", "rows"), PAIRED)
@given(weighted=weighted_vectors())
def test_weights_count_as_copies(vector, rows, weighted):
    x, y, weights = weighted
    written_out = [vector(np.repeat(x, row), np.repeat(y, row)) for row in weights]
    np.testing.assert_allclose(rows(x, y, weights), written_out, atol=1e-9)


def test_kendall_of_long_vectors_equals_scipys():
    rng = np.random.default_rng(5)
    n = PAIR_LIMIT + 1
    x = rng.integers(1, 6, n)
    y = x + rng.integers(0, 4, n)
    weights = rng.integers(0, 3, (2, n))
    assert kendall(x, y) == pytest.approx(kendalltau(x, y).statistic, abs=1e-12)
    written_out = [kendalltau(np.repeat(x, row), np.repeat(y, row)).statistic for row in weights]
    np.testing.assert_allclose(kendall_rows(x, y, weights), written_out, atol=1e-12)


@pytest.mark.parametrize("correlate", VECTOR_FUNCTIONS)
@pytest.mark.parametrize(
    ("x", "y"), [([], []), ([1], [2]), ([3, 3, 3], [1, 2, 3]), ([1, 2, 3], [0.1, 0.1, 0.1]), ([0, 0], [0, 0])]
)
def test_undefined_correlation_is_nan_without_a_warning(correlate, x, y):
    with np.errstate(all="raise"), warnings.catch_warnings(action="error"):
        assert np.isnan(correlate(x, y))


@pytest.mark.parametrize("correlate", ROW_FUNCTIONS)
def test_row_is_undefined_where_its_weights_leave_one_value(correlate):
    x, y = [0.1, 0.1, 0.7], [1.0, 2.0, 3.0]
    with np.errstate(all="raise"):
        values = correlate(x, y, [[1, 1, 0], [0, 0, 0], [0, 0, 5], [1, 0, 1]])
    assert np.isnan(values[:3]).all()
    assert values[3] == pytest.approx(1)


@pytest.mark.parametrize("correlate", VECTOR_FUNCTIONS)
@pytest.mark.parametrize("factor", [1e-320, 1e-200, 1e-9, 1e9, 1e200, 8e307])
def test_unit_of_the_scores_does_not_matter(correlate, factor):
    x, y = np.array([-2.0, 0, 1, 1, 2]), np.array([1.0, 2, 2, 5, 4])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert correlate(x * factor, y) == pytest.approx(correlate(x, y), rel=1e-2 if factor < 1e-300 else 1e-9)


@pytest.mark.parametrize("correlate", VECTOR_FUNCTIONS)
@pytest.mark.parametrize(
    ("x", "y", "said"),
    [([1, 2, 3], [1, 2], "equally many"), ([1, 2], [1, np.inf], "finite"), ([np.nan, 2], [1, 2], "missing values")],
)
def test_bad_vectors_are_refused(correlate, x, y, said):
    with pytest.raises(ValueError, match=said):
        correlate(x, y)


def test_constant_rows_are_told_by_exact_equality():
    rows = [[0.1, 0.1, 0.1], [0.3, 0.1 + 0.2, 0.3], [1, 1, 2]]
    assert is_constant(rows).tolist() == [True, False, False]  # type: ignore[arg-type]
    assert is_constant(rows, [1, 0, 1]).tolist() == [True, True, False]  # type: ignore[arg-type]
    assert is_constant([5.0]).tolist() == [True]
