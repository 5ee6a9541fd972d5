"""The cluster bootstrap: resamples, intervals, and what they refuse."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubriclab.stats import Interval, cluster_bootstrap, estimate, percentile_interval, resample_counts

OPTIONS: dict[str, Any] = {"resamples": 1000, "confidence": 0.95, "seed": 3, "batch": 400}


def mean_of(values):
    return lambda counts: counts @ values / counts.sum(axis=1)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), resamples=st.integers(1, 30), clusters=st.integers(1, 30))
def test_every_resample_draws_as_many_clusters_as_there_are(seed, resamples, clusters):
    counts = resample_counts(np.random.default_rng(seed), resamples, clusters)
    assert counts.shape == (resamples, clusters)
    assert (counts >= 0).all()
    assert (counts.sum(axis=1) == clusters).all()


def test_each_cluster_is_drawn_equally_often_and_with_replacement():
    counts = resample_counts(np.random.default_rng(0), 20_000, 5)
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=0.03)
    np.testing.assert_allclose(counts.var(axis=0), 4 / 5, atol=0.03)


@settings(max_examples=40, deadline=None)
@given(batch=st.integers(1, 60), clusters=st.integers(1, 9), seed=st.integers(0, 99))
def test_batch_changes_no_number(batch, clusters, seed):
    statistic = mean_of(np.arange(clusters) ** 2.0)
    in_batches = cluster_bootstrap(statistic, clusters, resamples=50, seed=seed, batch=batch)
    at_once = statistic(resample_counts(np.random.default_rng(seed), 50, clusters))
    np.testing.assert_allclose(in_batches, at_once, rtol=1e-12)


def test_equal_seeds_pair_the_resamples_of_two_statistics():
    values = np.random.default_rng(1).normal(size=30)
    first, second = (
        cluster_bootstrap(mean_of(values + shift), 30, resamples=200, seed=7, batch=64) for shift in (0, 1)
    )
    np.testing.assert_allclose(second - first, 1, rtol=1e-12)
    assert not np.array_equal(first, cluster_bootstrap(mean_of(values), 30, resamples=200, seed=8, batch=64))


def test_interval_of_a_mean_agrees_with_its_standard_error():
    values = np.random.default_rng(2).normal(size=400)
    result = estimate(mean_of(values), 400, **OPTIONS)
    error = values.std() / 20
    assert result.value == pytest.approx(values.mean())
    assert result.low == pytest.approx(values.mean() - 1.96 * error, abs=0.25 * error)
    assert result.high == pytest.approx(values.mean() + 1.96 * error, abs=0.25 * error)


def test_more_confidence_gives_a_wider_interval():
    values = np.random.default_rng(2).normal(size=40)
    wide, narrow = (estimate(mean_of(values), 40, **OPTIONS | {"confidence": c}) for c in (0.99, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_percentile_interval_leaves_undefined_resamples_out():
    values = np.concatenate([np.arange(101.0), np.full(50, np.nan)])
    assert percentile_interval(values, 0.9) == pytest.approx((5, 95))


@pytest.mark.parametrize("values", [[], [np.nan] * 5, [1.0, 2.0, np.nan, np.nan, np.nan]])
def test_mostly_undefined_resamples_give_no_interval(values):
    assert percentile_interval(np.array(values), 0.95) is None


def test_undefined_statistic_has_neither_value_nor_interval():
    nothing = Interval(None)
    assert estimate(lambda counts: np.full(len(counts), np.nan), 5, **OPTIONS) == nothing
    assert estimate(mean_of(np.empty(0)), 0, **OPTIONS) == nothing


def test_no_resamples_give_the_value_alone():
    assert estimate(mean_of(np.array([1.0, 2.0])), 2, **OPTIONS | {"resamples": 0}) == Interval(1.5, None, None)


@pytest.mark.parametrize(
    "wrong", [{"resamples": -1}, {"confidence": 0}, {"confidence": 1}, {"confidence": 95}, {"confidence": np.nan}]
)
def test_options_out_of_range_are_refused_by_name(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        estimate(mean_of(np.ones(3)), 3, **OPTIONS | wrong)
