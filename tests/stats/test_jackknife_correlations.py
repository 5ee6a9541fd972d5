"""Correlations without each unit, and the comparison of dependent correlations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import norm

from rubriclab.stats.correlation import pearson
from rubriclab.stats.jackknife_correlations import (
    dependent_correlation,
)


def steiger(r12: float, r13: float, r23: float, n: int) -> float:
    """Steiger 1980, equation 14: Z for r12 = r13, with the pooled correlation in the covariance."""
    pooled = (r12 + r13) / 2
    psi = r23 * (1 - 2 * pooled**2) - 0.5 * pooled**2 * (1 - 2 * pooled**2 - r23**2)
    covariance = psi / (1 - pooled**2) ** 2
    return float((math.atanh(r12) - math.atanh(r13)) * math.sqrt((n - 3) / (2 - 2 * covariance)))


def drawn(rng: np.random.Generator, n: int, *loadings: float) -> tuple[np.ndarray, np.ndarray]:
    target = rng.normal(size=n)
    columns = [load * target + math.sqrt(1 - load**2) * rng.normal(size=n) for load in loadings]
    return target, np.column_stack(columns)


@pytest.mark.parametrize("seed", range(4))
def test_independent_rows_give_steiger_s_z(seed: int) -> None:
    rng = np.random.default_rng(seed)
    target, columns = drawn(rng, 500, 0.5, 0.4)
    found = dependent_correlation(columns[:, :1], columns[:, 1], target, np.arange(500))
    between = pearson(columns[:, 0], columns[:, 1])
    z = steiger(float(found.r[0]), float(found.benchmark[0]), between, 500)
    assert norm.isf(found.p[0] / 2) == pytest.approx(abs(z), rel=0.15)


def test_equals_are_told_apart_no_more_often_than_by_chance() -> None:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(150):
        cluster = np.sort(np.r_[np.arange(20), rng.integers(20, size=20)])
        target, columns = drawn(rng, 40, 0.5, 0.5, 0.5)
        shared = rng.normal(size=(20, 3))[cluster]
        mixed = 0.8 * columns + 0.6 * shared
        found.extend(dependent_correlation(mixed[:, :2], mixed[:, 2], target, cluster).p < 0.05)
    assert np.mean(found) < 0.09


def test_what_follows_further_is_found() -> None:
    target, columns = drawn(np.random.default_rng(0), 40, 0.95, -0.95, 0.3)
    found = dependent_correlation(columns[:, :2], columns[:, 2], target, np.arange(40))
    assert (found.p < 0.001).all()
    assert found.further.all()


def test_a_benchmark_that_follows_further_is_no_finding_against_a_variable() -> None:
    target, columns = drawn(np.random.default_rng(0), 40, 0.1, 0.9)
    found = dependent_correlation(columns[:, :1], columns[:, 1], target, np.arange(40))
    assert found.p[0] < 0.01
    assert not found.further[0]


@given(st.integers(0, 10**6))
def test_correlations_are_those_of_the_rows_that_are_there(seed: int) -> None:
    rng = np.random.default_rng(seed)
    target, columns = drawn(rng, 25, 0.5, 0.2, 0.4)
    columns[rng.random(25) < 0.3, 0] = np.nan
    target[:2] = np.nan
    found = dependent_correlation(columns[:, :2], columns[:, 2], target, np.arange(25))
    for place in (0, 1):
        there = ~np.isnan(columns[:, place]) & ~np.isnan(target)
        assert found.r[place] == pytest.approx(pearson(columns[there, place], target[there]), abs=1e-9)
        assert found.benchmark[place] == pytest.approx(pearson(columns[there, 2], target[there]), abs=1e-9)


def test_what_does_not_vary_is_undefined_and_no_finding() -> None:
    target, columns = drawn(np.random.default_rng(0), 12, 0.5)
    variables = np.column_stack([np.full(12, 0.1), np.full(12, np.nan)])
    found = dependent_correlation(variables, columns[:, 0], target, np.arange(12))
    assert not found.defined.any()
    assert found.p.tolist() == [1.0, 1.0]
    single = dependent_correlation(columns, columns[:, 0], target, np.zeros(12, dtype=int))
    assert single.p.tolist() == [1.0]
