"""Alpha and the ceiling: published examples, formulas written out, symmetries, and designs with gaps."""

from __future__ import annotations

import dataclasses
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from rubriclab.stats.intervals import Interval, jackknife_interval
from rubriclab.stats.rater_agreement import ceiling, ceiling_interval, krippendorff_alpha, rater_variances

METRICS = ["nominal", "interval"]
NONE = np.nan

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability": examples A (binary), B (nominal) and C (missing).
JON_AND_MEG = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
BEN_AND_GERRY = [[ord(answer) for answer in answers] for answers in ("aabbdcccedda", "babbbccceddd")]
FOUR_OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
    [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
]
answers = st.lists(
    st.lists(st.sampled_from([1.0, 2.0, 3.0, 5.0, NONE]), min_size=3, max_size=3), min_size=2, max_size=12
).map(lambda units: np.array(units).T)
quick = settings(max_examples=30, deadline=None)


def simulated(raters=4, units=40, levels=5, missing=0.15, seed=0):
    rng = np.random.default_rng(seed)
    table = np.clip(np.round(rng.normal(3, 1, units) + rng.normal(0, 0.8, (raters, units))), 1, levels)
    table[rng.random(table.shape) < missing] = np.nan
    return table


def all_figures(table, groups=None):
    return {metric: krippendorff_alpha(table, metric, groups) for metric in METRICS}  # type: ignore[arg-type]


def values(table):
    return np.array([np.nan if found.value is None else found.value for found in all_figures(table).values()])


def textbook_alpha(table, metric):
    """Alpha from the matrix of coincidences, term by term as Krippendorff 2011 writes it; nan where undefined."""
    categories = sorted(set(table[~np.isnan(table)]))
    coincidences = np.zeros((len(categories), len(categories)))
    for unit in table.T:
        given = [categories.index(answer) for answer in unit if not np.isnan(answer)]
        for c, k in permutations(given, 2):
            coincidences[c, k] += 1 / (len(given) - 1)
    totals = coincidences.sum(axis=0)
    observed = expected = 0.0
    for c, k in permutations(range(len(categories)), 2):
        distance = 1.0 if metric == "nominal" else (categories[c] - categories[k]) ** 2
        observed += coincidences[c, k] * distance
        expected += totals[c] * totals[k] * distance / (totals.sum() - 1)
    return 1 - observed / expected if expected else np.nan


def test_krippendorff_s_worked_examples():
    assert krippendorff_alpha(JON_AND_MEG, "nominal").value == pytest.approx(0.095, abs=5e-4)
    assert krippendorff_alpha(BEN_AND_GERRY, "nominal").value == pytest.approx(0.692, abs=5e-4)
    for metric, published in zip(METRICS, (0.743, 0.849), strict=True):
        assert krippendorff_alpha(FOUR_OBSERVERS, metric).value == pytest.approx(published, abs=5e-4)  # type: ignore[arg-type]


@quick
@given(answers)
def test_alpha_is_the_textbook_s_wherever_both_are_defined(table):
    paired = (~np.isnan(table)).sum(axis=0) >= 2
    for metric in METRICS:
        found, expected = krippendorff_alpha(table, metric).value, textbook_alpha(table, metric)  # type: ignore[arg-type]
        if paired.sum() < 2 or np.isnan(expected):
            assert found is None
        else:
            assert found == pytest.approx(expected, abs=1e-9)


@quick
@given(answers, st.randoms(use_true_random=False))
def test_the_order_of_raters_and_of_units_does_not_matter(table, random):
    raters, units = (random.sample(range(size), size) for size in table.shape)
    np.testing.assert_allclose(values(table[raters][:, units]), values(table), atol=1e-9)


@quick
@given(answers, st.floats(-50, 50), st.floats(0.01, 100), st.sampled_from([-1, 1]))
def test_nothing_depends_on_the_unit_and_the_origin_of_the_scale(table, origin, unit, sign):
    np.testing.assert_allclose(values(origin + sign * unit * table), values(table), atol=1e-6)


@pytest.mark.parametrize(
    "table",
    [
        np.empty((0, 0)),
        [[1, NONE, 2], [NONE, 2, NONE]],
        [[1, 2, NONE], [2, NONE, 3]],
        [[4, 4, 4], [4, 4, 4]],
        [[4, 4, NONE], [4, 4, NONE], [NONE, NONE, 5]],
    ],
    ids=["no raters", "no pairs", "one pair", "no variation", "none in pairs"],
)
def test_what_cannot_be_corrected_for_chance_is_undefined(table):
    assert set(all_figures(np.array(table, dtype=float)).values()) == {Interval(None)}


@pytest.mark.parametrize("groups", [None, ["one"] * 24, [f"g{n // 4}" for n in range(24)], ["one"] * 12])
def test_intervals_are_those_of_the_data_without_each_group_or_each_text_of_a_single_group(groups):
    cluster = np.arange(24) % len(groups or range(24))  # twelve texts by two criteria are 24 units
    cluster = cluster // 4 if groups and "g0" in groups else cluster
    table = simulated(seed=5, units=24, missing=0.2)
    found = all_figures(table, groups)
    compared = np.unique(cluster[(~np.isnan(table)).sum(axis=0) >= 2])
    without = np.array([values(table[:, cluster != place]) for place in compared])
    for column, estimate in zip(without.T, found.values(), strict=True):
        expected = jackknife_interval(estimate.value, column, is_correlation=True)
        np.testing.assert_allclose(dataclasses.astuple(estimate), dataclasses.astuple(expected), atol=1e-9)


# Six targets by four judges: Shrout & Fleiss 1979, table 2; their results are in table 4.
WORKED = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float).T


def test_the_ceiling_is_the_root_of_the_published_reliability_of_the_mean():
    assert [round(ceiling(WORKED, raters_known=known) ** 2, 2) for known in (True, False)] == [0.91, 0.44]


def test_a_complete_design_is_the_analysis_of_variance():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(4, 12)) + rng.normal(size=12) + rng.normal(size=(4, 1))
    k, n = table.shape
    left = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    rest = np.square(left).sum() / ((k - 1) * (n - 1))
    severity = table.mean(axis=1).var(ddof=1) - rest / n
    assert rater_variances(table, raters_known=True) == pytest.approx((severity, rest))


def test_raters_without_two_common_texts_count_as_unknown():
    apart = np.array([[1, NONE], [2, NONE], [NONE, 4], [NONE, 6]])
    assert ceiling(apart) == ceiling(apart, raters_known=False) > 0


def test_the_ceiling_is_what_a_judge_reaches_who_knows_the_worth():
    rng = np.random.default_rng(1)
    ceilings, reached = [], []
    for _ in range(100):
        worth, severity = rng.normal(size=60), rng.normal(size=5) * 0.7
        table = worth + severity[:, np.newaxis] + rng.normal(size=(5, 60)) * 1.2
        table[rng.random(table.shape) < 0.5] = np.nan
        rated = ~np.isnan(table).all(axis=0)
        ceilings.append(ceiling(table))
        reached.append(np.corrcoef(np.nanmean(table[:, rated], axis=0), worth[rated])[0, 1])
    assert np.mean(ceilings) == pytest.approx(np.mean(reached), abs=0.03)


def test_within_groups_the_ceiling_knows_that_rivals_are_alike_and_had_the_same_raters():
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(15), 4)
    ceilings, reached = [], []
    for _ in range(60):
        worth = 1.5 * rng.normal(size=15)[group] + rng.normal(size=60)
        table = np.full((20, 60), np.nan)
        severity = rng.normal(size=20)
        for each in range(15):
            for text in np.flatnonzero(group == each):
                who = np.arange(each, each + 3) % 20
                table[who, text] = worth[text] + severity[who] + rng.normal(size=3)
        own = [values - np.bincount(group, values)[group] / 4 for values in (np.nanmean(table, axis=0), worth)]
        ceilings.append(ceiling(table, group))
        reached.append(np.corrcoef(*own)[0, 1])  # type: ignore[arg-type]
    assert np.mean(ceilings) == pytest.approx(np.mean(reached), abs=0.03)


@pytest.mark.parametrize(
    "table", [np.empty((2, 0)), np.array([[1.0, np.nan], [np.nan, 2]]), np.full((2, 4), 3.0), [[1.0], [2]]]
)
def test_nothing_is_said_of_ratings_that_say_nothing(table):
    assert ceiling(table) is None


@pytest.mark.parametrize("within", [False, True])
def test_the_interval_of_the_ceiling_is_the_jackknife_over_groups_on_fisher_s_scale(within):
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(8), 4)
    table = rng.normal(size=32) + rng.normal(scale=0.8, size=(3, 32))

    def of(texts):
        return ceiling(table[:, texts], groups[texts] if within else None)

    without = np.arctanh([of(groups != left_out) for left_out in range(8)])
    error = np.sqrt(7 / 8 * np.square(without - without.mean()).sum())
    center, margin = np.arctanh(of(groups >= 0)), stats.t.ppf(0.975, 7) * error
    found = ceiling_interval(table, [str(group) for group in groups], within_groups=within)
    assert (found.value, found.low, found.high) == pytest.approx(np.tanh([center, center - margin, center + margin]))
    few = ceiling_interval(table[:, :16], [str(group) for group in groups[:16]], within_groups=within)
    assert few == Interval(pytest.approx(of(groups < 4)))  # type: ignore[arg-type]
