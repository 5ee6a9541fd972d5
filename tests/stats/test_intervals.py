"""Intervals by the jackknife, of new scores and of repeated looks: against references, and how often they are right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import t, ttest_1samp

from rubriclab.stats import agreement
from rubriclab.stats.correlation import pearson, spearman_rows
from rubriclab.stats.intervals import (
    MAX_PARTS,
    Interval,
    confidence_sequence,
    enough_errors,
    error_bounds,
    estimate,
    jackknife_error,
    jackknife_interval,
    mean_interval,
)
from rubriclab.stats.score_agreement import agreement_value, difference

# Efron & Tibshirani 1993, table 3.1: mean LSAT and GPA of the classes of fifteen law schools.
LSAT = [576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594]
GPA = [3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96]


def mean_of(values):
    return lambda counts: counts @ values / counts.sum(axis=1)


def test_the_error_of_the_law_schools_correlation_is_published_and_its_interval_symmetric_on_fisher_s_scale():
    schools = np.column_stack([LSAT, GPA])
    without = np.array([pearson(*np.delete(schools, place, axis=0).T) for place in range(15)])
    assert pearson(LSAT, GPA) == pytest.approx(0.776, abs=5e-4)
    assert float(jackknife_error(without)) == pytest.approx(0.142, abs=1e-3)
    z = np.arctanh(without)
    margin = t.ppf(0.975, 14) * math.sqrt(14 / 15 * np.square(z - z.mean()).sum())
    found = agreement(LSAT, GPA, [f"{place:02}" for place in range(15)], level="dataset").pearson
    center = math.atanh(pearson(LSAT, GPA))
    assert (found.low, found.high) == pytest.approx((math.tanh(center - margin), math.tanh(center + margin)))


def test_a_statistic_that_one_cluster_defines_has_no_interval():
    alone = np.array([1.0, 0, 0, 0, 0, 0])
    assert estimate(lambda counts: np.where(counts @ alone > 0, 2.0, np.nan), 6, n_values=6) == Interval(2.0)
    assert estimate(lambda counts: np.full(len(counts), np.nan), 6, n_values=6) == Interval(None)
    assert jackknife_interval(0.5, np.array([0.4, 0.5, 0.6]), is_correlation=True) == Interval(0.5)
    assert jackknife_interval(None, np.ones(9)) == Interval(None)


@pytest.mark.parametrize("clusters", [5, 20, 60, 250])
def test_clusters_of_other_means_than_the_interval_of_equal_ones_allows_are_all_missed_in_5_percent(clusters):
    values, mean_range = np.zeros(clusters), (-1.0, 4.0)
    found = estimate(mean_of(values), clusters, n_values=1, mean_range=mean_range)
    assert mean_interval(values, np.arange(clusters), mean_range) == found == Interval(0.0, -found.high / 4, found.high)
    is_unlike = np.random.default_rng(1).random((20_000, clusters)) < found.high / 4
    assert (~is_unlike.any(axis=1)).mean() == pytest.approx(0.05, abs=0.005)
    assert estimate(mean_of(values), clusters, n_values=1) == Interval(0.0)


def test_many_clusters_are_left_out_in_parts_with_nearly_the_same_interval():
    values, evaluated = np.random.default_rng(1).normal(size=3000), []

    def statistic(counts):
        evaluated.append(len(counts))
        return mean_of(values)(counts)

    found, expected = estimate(statistic, 3000, n_values=3000), ttest_1samp(values, 0).confidence_interval()
    assert sum(evaluated) == MAX_PARTS + 1
    assert found.high - found.low == pytest.approx(expected.high - expected.low, rel=0.15)


def drawn(rng, groups, size):
    """Return human scores and those of two judges that are equally good, all with effects of the group."""
    quality = 0.5 * rng.normal(size=(groups, 1)) + rng.normal(size=(groups, size))
    human, first, second = (
        quality + 0.8 * rng.normal(size=quality.shape) + 0.4 * rng.normal(size=(groups, 1)) for _ in range(3)
    )
    return [scores.ravel() for scores in (first, second, human)]


@pytest.mark.parametrize(("level", "groups"), [("group", 5), ("dataset", 12)])
def test_intervals_hold_the_true_correlation_and_equal_judges_are_seldom_told_apart(level, groups):
    rng, size, runs = np.random.default_rng(groups), 6, 80
    many = 1000
    first, _, human = drawn(rng, many, size)
    names = [f"{place:04}" for place in np.repeat(np.arange(many), size)]
    true = agreement_value(first, human, names, level=level, coefficient=spearman_rows)
    held = apart = 0
    for _ in range(runs):
        one, other, human = drawn(rng, groups, size)
        found = agreement(one, human, names[: groups * size], level=level).spearman
        gap = difference(one, other, human, names[: groups * size], level=level).interval
        held += found.low <= true <= found.high
        apart += not gap.low <= 0 <= gap.high
    # Of 80 draws at 95 %, fewer than 71 come in one of a hundred, and so do more than 9 at 5 %.
    assert held >= 71
    assert apart <= 9


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 99), st.integers(0, 200), st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_bounds_are_the_weibull_quantiles_with_half_of_the_rest_on_each_side(seed, n, confidence):
    errors = np.sort(np.random.default_rng(seed).normal(size=n))
    found = error_bounds(errors.tolist(), confidence)
    if not enough_errors(n, confidence):
        assert found == (-math.inf, math.inf)
        return
    low, high = np.quantile(errors, [(1 - confidence) / 2, (1 + confidence) / 2], method="weibull")
    assert found == pytest.approx((min(low, 0), max(high, 0)))


def test_just_enough_errors_are_enough():
    for n, confidence in ((19, 0.9), (39, 0.95), (9, 0.8), (199, 0.99)):
        assert (enough_errors(n - 1, confidence), enough_errors(n, confidence)) == (False, True)


@pytest.mark.parametrize("n", [19, 30, 100])
def test_each_tail_of_skewed_errors_is_left_out_half_as_often_as_promised(n):
    draws = np.random.default_rng(n).gamma(2.0, size=(10_000, n + 1)) - 2.0
    known, new = np.sort(draws[:, :-1], axis=1), draws[:, -1]
    low, high = np.array([error_bounds(row, 0.9) for row in known.tolist()]).T
    assert (new < low).mean() == pytest.approx(0.05, abs=0.01)
    assert (new > high).mean() == pytest.approx(0.05, abs=0.01)


LOOKS, GROUPS, RATE = 100, 10, 0.05


def alarm(errors: np.ndarray) -> int | None:
    """Return the look at which the means of groups, shape (looks, groups), are found to have changed."""
    before = np.cumsum(errors, axis=0)[:-1] / np.arange(1, len(errors))[:, np.newaxis]
    sequence = confidence_sequence(list(errors[1:] - before), (-9, 9), RATE, tightest_at=10 * GROUPS)
    return next((look for look, each in enumerate(sequence, start=1) if each.low > 0 or each.high < 0), None)


def noise(kind: str, rng: np.random.Generator) -> np.ndarray:
    of_text = rng.normal(0, 1, GROUPS)
    if kind == "rare":
        return np.asarray(of_text + (rng.random((LOOKS, GROUPS)) < 0.05) * rng.choice([-1, 1], (LOOKS, GROUPS)))
    scores = of_text + rng.normal(0, 0.4, (LOOKS, GROUPS))
    return np.asarray(np.round(scores) if kind == "whole numbers" else scores)


@pytest.mark.parametrize("kind", ["normal", "whole numbers", "rare"])
def test_a_hundred_looks_raise_a_false_alarm_in_at_most_5_percent(kind: str) -> None:
    rng = np.random.default_rng(1)
    alarms = [alarm(noise(kind, rng)) is not None for _ in range(400)]
    assert np.mean(alarms) <= RATE


def test_a_lasting_change_is_found_within_some_looks_and_stays_found() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        errors = noise("normal", rng)
        errors[20:] += 0.5
        look = alarm(errors)
        assert look is not None
        assert 20 <= look <= 35


def test_an_interval_contains_its_mean_also_after_a_change_which_the_intervals_before_exclude() -> None:
    changes = [change + spread * np.linspace(-1, 1, GROUPS) for change, spread in ((0, 1e-4), (0, 1e-4), (0.4, 0.01))]
    sequence = confidence_sequence(changes, (-9, 9), RATE, tightest_at=10 * GROUPS)
    assert max(each.low for each in sequence) > min(each.high for each in sequence)
    assert all(each.low <= each.value <= each.high for each in sequence)
    assert [each.value for each in sequence] == pytest.approx([0, 0, 0.4 / 3])


def test_the_interval_is_that_of_the_asymptotic_confidence_sequence_for_many_observations() -> None:
    """By the formula of Theorem 2.2 at its tightest, which is 3.03 standard errors at a rate of 5 %."""
    observations = np.tile([-1.0, 1.0], 50_000)
    (interval,) = confidence_sequence([observations], (-9, 9), 0.05, tightest_at=100_000)
    assert interval.value == pytest.approx(0)
    assert interval.high == pytest.approx(3.03 / np.sqrt(100_000), rel=2e-3)
    equal = confidence_sequence([np.full(10, 0.3)] * 2, (-4, 4), 0.05, tightest_at=100)[-1]
    unseen = 1 - 0.05 ** (1 / 20)
    assert (equal.low, equal.high) == pytest.approx((0.3 - 4.3 * unseen, 0.3 + 3.7 * unseen))
