"""Intervals by the jackknife over clusters: against published figures and scipy, and how often they are right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import t, ttest_1samp

from rubriclab.stats import agreement
from rubriclab.stats.agreement import difference
from rubriclab.stats.correlation import pearson
from rubriclab.stats.intervals import (
    BATCH_ELEMENTS,
    MAX_PARTS,
    MIN_GROUPS,
    Interval,
    estimate,
    jackknife_error,
    student_interval,
)

# Efron & Tibshirani 1993, table 3.1: mean LSAT and GPA of the classes of fifteen law schools.
LSAT = [576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594]
GPA = [3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96]


def mean_of(values):
    return lambda counts: counts @ values / counts.sum(axis=1)


def without_each(values, statistic):
    return np.array([statistic(np.delete(values, place, axis=0)) for place in range(len(values))])


def test_the_error_of_the_law_schools_correlation_is_the_published_one():
    schools = np.column_stack([LSAT, GPA])
    without = without_each(schools, lambda rows: pearson(rows[:, 0], rows[:, 1]))
    assert pearson(LSAT, GPA) == pytest.approx(0.776, abs=5e-4)
    assert float(jackknife_error(without)) == pytest.approx(0.142, abs=1e-3)


@settings(max_examples=30, deadline=None)
@given(clusters=st.integers(MIN_GROUPS, 60), seed=st.integers(0, 99), confidence=st.sampled_from([0.5, 0.9, 0.95]))
def test_the_interval_of_a_mean_is_student_s(clusters, seed, confidence):
    values = np.random.default_rng(seed).normal(size=clusters)
    found = estimate(mean_of(values), clusters, elements=clusters, confidence=confidence)
    expected = ttest_1samp(values, 0).confidence_interval(confidence)
    assert (found.low, found.value, found.high) == pytest.approx((expected.low, values.mean(), expected.high))


def test_the_interval_of_a_correlation_is_symmetric_on_fisher_s_scale():
    schools = np.column_stack([LSAT, GPA])
    z = np.arctanh(without_each(schools, lambda rows: pearson(rows[:, 0], rows[:, 1])))
    margin = t.ppf(0.975, 14) * math.sqrt(14 / 15 * np.square(z - z.mean()).sum())
    found = agreement(LSAT, GPA, [f"{place:02}" for place in range(15)], level="dataset").pearson
    center = math.atanh(pearson(LSAT, GPA))
    assert (found.low, found.high) == pytest.approx((math.tanh(center - margin), math.tanh(center + margin)))


@pytest.mark.parametrize("clusters", [0, 1, MIN_GROUPS - 1])
def test_fewer_than_five_clusters_have_no_interval(clusters):
    found = estimate(mean_of(np.arange(clusters) * 1.0), clusters, elements=clusters)
    assert found == Interval((clusters - 1) / 2 if clusters else None)


def test_a_statistic_that_one_cluster_defines_has_no_interval():
    alone = np.array([1.0, 0, 0, 0, 0, 0])
    assert estimate(lambda counts: np.where(counts @ alone > 0, 2.0, np.nan), 6, elements=6) == Interval(2.0)
    assert estimate(lambda counts: np.full(len(counts), np.nan), 6, elements=6) == Interval(None)


@pytest.mark.parametrize(("clusters", "expected"), [(5, Interval(1.0)), (6, Interval(1.0, 1.0, 1.0))])
def test_equal_clusters_are_certain_only_where_the_sign_test_is(clusters, expected):
    assert estimate(mean_of(np.ones(clusters)), clusters, elements=1) == expected
    assert estimate(mean_of(np.zeros(clusters)), clusters, elements=1) == Interval(0.0, 0.0, 0.0)


def test_batches_change_nothing():
    values = np.random.default_rng(0).normal(size=30)
    whole, single = (estimate(mean_of(values), 30, elements=size) for size in (1, BATCH_ELEMENTS))
    assert (single.low, single.high) == pytest.approx((whole.low, whole.high))


def test_many_clusters_are_left_out_in_parts_with_nearly_the_same_interval():
    values, evaluated = np.random.default_rng(1).normal(size=3000), []

    def statistic(counts):
        evaluated.append(len(counts))
        return mean_of(values)(counts)

    found, expected = estimate(statistic, 3000, elements=3000), ttest_1samp(values, 0).confidence_interval()
    assert sum(evaluated) == MAX_PARTS + 1
    assert found.high - found.low == pytest.approx(expected.high - expected.low, rel=0.15)


@pytest.mark.parametrize("confidence", [0, 1, 95, math.nan])
def test_a_confidence_is_a_share(confidence):
    with pytest.raises(ValueError, match="confidence: expected a share between 0 and 1"):
        estimate(mean_of(np.ones(9)), 9, elements=9, confidence=confidence)


def test_undefined_and_single_values_have_no_ends():
    assert student_interval(None, np.ones(9)) == Interval(None)
    assert student_interval(0.5, np.ones(1)) == Interval(0.5)
    assert student_interval(0.5, np.array([0.1, np.nan, 0.3])) == Interval(0.5)


def drawn(rng, groups, size):
    """Return human scores and those of two judges that are equally good, all with effects of the group."""
    quality = 0.5 * rng.normal(size=(groups, 1)) + rng.normal(size=(groups, size))
    human, first, second = (
        quality + 0.8 * rng.normal(size=quality.shape) + 0.4 * rng.normal(size=(groups, 1)) for _ in range(3)
    )
    return [scores.ravel() for scores in (first, second, human)]


@pytest.mark.parametrize("level", ["group", "dataset"])
@pytest.mark.parametrize("groups", [5, 12])
def test_intervals_hold_the_true_correlation_and_equal_judges_are_seldom_told_apart(level, groups):
    rng, size, runs = np.random.default_rng(groups), 6, 200
    many = 3000
    first, _, human = drawn(rng, many, size)
    names = [f"{place:04}" for place in np.repeat(np.arange(many), size)]
    true = agreement(first, human, names, level=level).spearman.value
    held = apart = 0
    for _ in range(runs):
        one, other, human = drawn(rng, groups, size)
        found = agreement(one, human, names[: groups * size], level=level).spearman
        gap = difference(one, other, human, names[: groups * size], level=level).spearman
        held += found.low <= true <= found.high
        apart += not gap.low <= 0 <= gap.high
    # Of 200 draws at 95 %, fewer than 182 come in one of a hundred, and so do more than 18 at 5 %.
    assert held >= 182
    assert apart <= 18
