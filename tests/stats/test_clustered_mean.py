"""The mean of a number over texts."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.stats.mean import clustered_mean


def test_it_is_the_mean_within_its_interval() -> None:
    values = np.random.default_rng(0).normal(size=40)
    found = clustered_mean(values, np.arange(40) // 4)
    assert found.value == pytest.approx(values.mean())
    assert found.low < found.value < found.high


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
