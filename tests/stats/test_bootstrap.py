"""The cluster bootstrap: resamples, intervals, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm, t

from rubriclab.stats import Interval
from rubriclab.stats.bootstrap import (
    cluster_bootstrap,
    clustered_mean,
    estimate,
    expanded_confidence,
    percentile_interval,
    resample_counts,
)

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


def test_texts_that_are_alike_inside_clusters_make_it_less_sure() -> None:
    values = np.repeat(np.random.default_rng(1).normal(size=10), 10)
    alone, together = (clustered_mean(values, cluster) for cluster in (np.arange(100), np.repeat(np.arange(10), 10)))
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_of_nothing_there_is_no_mean() -> None:
    found = clustered_mean(np.empty(0), np.empty(0, dtype=np.int64))
    assert (found.value, found.low, found.high) == (None, None, None)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng, held = np.random.default_rng(2), 0
    for seed in range(100):
        values = np.repeat(rng.normal(size=30), 3) + rng.normal(size=90)
        found = clustered_mean(values, np.repeat(np.arange(30), 3), seed=seed)
        held += found.low <= 0 <= found.high
    assert 86 <= held <= 100


@pytest.mark.parametrize(("clusters", "tail"), [(5, 0.0010), (10, 0.0086), (20, 0.0159), (40, 0.0203), (100, 0.0231)])
def test_tails_are_those_of_hesterberg_s_formula(clusters: int, tail: float) -> None:
    reach = math.sqrt(clusters / (clusters - 1)) * t.ppf(0.975, clusters - 1)
    assert (1 - expanded_confidence(0.95, clusters)) / 2 == pytest.approx(norm.cdf(-reach), rel=1e-9)
    assert norm.cdf(-reach) == pytest.approx(tail, abs=5e-5)


@given(st.floats(0.5, 0.99), st.integers(2, 500))
def test_intervals_only_widen_and_less_so_with_more_clusters(confidence: float, clusters: int) -> None:
    found = expanded_confidence(confidence, clusters)
    assert confidence < found < 1
    assert found >= expanded_confidence(confidence, clusters + 1)


def test_with_many_clusters_nothing_changes() -> None:
    assert expanded_confidence(0.95, 10**6) == pytest.approx(0.95, abs=1e-5)


@pytest.mark.parametrize("clusters", [0, 1])
def test_a_single_cluster_has_nothing_to_expand(clusters: int) -> None:
    assert expanded_confidence(0.9, clusters) == 0.9


@pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan])
def test_a_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(ValueError, match="expected a share between 0 and 1"):
        expanded_confidence(confidence, 10)


def test_means_of_few_draws_are_covered_as_often_as_promised() -> None:
    rng = np.random.default_rng(0)
    clusters, samples = 6, 800
    data = rng.normal(size=(samples, clusters))
    means = data[np.arange(samples)[:, None, None], rng.integers(clusters, size=(samples, 400, clusters))].mean(axis=2)

    def covered(confidence: float) -> float:
        low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2], axis=1)
        return float(((low <= 0) & (high >= 0)).mean())

    assert covered(0.9) < 0.86
    assert 0.87 < covered(expanded_confidence(0.9, clusters)) < 0.94
