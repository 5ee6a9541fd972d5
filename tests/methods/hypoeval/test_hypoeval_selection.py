"""Selection by Pearson correlation, against scipy, with missing ratings; and successive halving."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import pearsonr

from rubriclab.methods.hypoeval.learn import hopeless, predictions, select
from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.stats.correlation import label_correlations

NAN = np.nan
FIVE = HypoEvalSettings()
RATINGS = st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, NAN])


def matrices(texts: int = 12, criteria: int = 6) -> st.SearchStrategy:
    return arrays(float, (texts, criteria), elements=RATINGS)


LABELS = arrays(float, 12, elements=st.sampled_from([1.0, 1.5, 2.0, 3.0, 3.333333, 5.0]))


def by_scipy(column: np.ndarray, labels: np.ndarray) -> float:
    rated = ~np.isnan(column)
    if rated.sum() < 5 or np.ptp(column[rated]) == 0 or np.ptp(labels[rated]) == 0:
        return NAN
    return float(pearsonr(column[rated], labels[rated]).statistic)


@settings(deadline=None, max_examples=60)
@given(matrix=matrices(), labels=LABELS, keep=st.integers(1, 6))
def test_the_kept_are_the_best_by_scipy_among_those_rated_often_enough(matrix, labels, keep):
    kept = select(matrix, labels, HypoEvalSettings(selected=keep, procedure="paper"))
    r = np.nan_to_num([by_scipy(column, labels) for column in matrix.T], nan=-2.0)
    eligible = [c for c in range(6) if (~np.isnan(matrix[:, c])).sum() >= 6]
    assert len(kept) == min(keep, len(eligible))
    assert set(kept) <= set(eligible)
    worst = min((r[c] for c in kept), default=-9)
    assert all(r[c] <= worst + 1e-9 for c in eligible if c not in kept)


def test_what_runs_against_the_labels_is_left_out_even_if_fewer_are_kept_than_asked_for():
    labels = np.arange(10.0)
    matrix = np.column_stack([-labels, labels, labels**2, -(labels**3), np.ones(10)])
    assert select(matrix, labels, FIVE) == [1, 2]


def test_where_nothing_runs_with_the_labels_the_least_bad_are_kept():
    labels = np.arange(10.0)
    weak = np.array([5, 4, 5, 4, 4, 5, 4, 4, 5, 4.0])
    matrix = np.column_stack([-labels, weak])
    assert select(matrix, labels, FIVE) == [1, 0]


@pytest.mark.parametrize(("selected", "columns"), [(5, 20), (2, 20), (1, 4), (5, 7)])
def test_successive_rejects_keep_one_selection_s_worth_for_every_round_to_come(selected, columns):
    rng = np.random.default_rng(0)
    labels = rng.normal(size=15)
    matrix = labels[:, np.newaxis] * np.linspace(1, -1, columns) + rng.normal(size=(15, columns))
    chosen = HypoEvalSettings(selected=selected, procedure="paper")
    for rounds_left in (2, 1):
        out = hopeless(matrix, labels, rounds_left, chosen)
        assert columns - len(out) == min(columns, math.ceil(selected * {2: 3, 1: 1.5}[rounds_left]))
        r = label_correlations(matrix, labels)
        assert out == sorted(out)
        assert all(r[c] <= min(r[k] for k in range(columns) if k not in out) for c in out)


def test_those_without_a_correlation_leave_first_and_of_equals_the_later():
    labels = np.arange(10.0)
    constant = np.full(10, 3.0)
    matrix = np.column_stack([constant, -labels, labels, labels, labels])
    one = HypoEvalSettings(selected=1)
    assert hopeless(matrix, labels, 1, one) == [0, 1, 4]
    assert hopeless(matrix, labels, 2, one) == [0, 1]


@settings(deadline=None, max_examples=60)
@given(matrix=matrices())
def test_predictions_are_the_mean_of_what_is_there(matrix):
    columns = [0, 3, 5]
    found = predictions(matrix, columns)
    for row, value in zip(matrix[:, columns], found, strict=True):
        there = row[~np.isnan(row)]
        assert np.isnan(value) if len(there) == 0 else value == pytest.approx(there.mean(), abs=1e-6)
