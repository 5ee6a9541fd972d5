"""How far percentile intervals reach where there are few clusters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from rubriclab.stats.interval_expansion import expanded_confidence


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
