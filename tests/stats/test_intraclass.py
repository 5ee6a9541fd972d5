"""Variances of ratings and the ceiling they allow, against Shrout & Fleiss and in designs with gaps."""

import numpy as np
import pytest
from scipy import stats

from rubriclab.stats.reliability import ceiling, ceiling_interval, variances

# Six targets by four judges: Shrout & Fleiss 1979, table 2; their results are in table 4.
WORKED = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float).T


def test_the_ceiling_is_the_root_of_the_published_consistency_of_the_mean():
    assert round(ceiling(WORKED) ** 2, 2) == 0.91


def test_a_complete_design_is_the_analysis_of_variance():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(4, 12)) + rng.normal(size=12) + rng.normal(size=(4, 1))
    k, n = table.shape
    left = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    rest = np.square(left).sum() / ((k - 1) * (n - 1))
    found = variances(table)
    assert found.rest == pytest.approx(rest)
    assert found.rater == pytest.approx(table.mean(axis=1).var(ddof=1) - rest / n)
    assert found.text == pytest.approx(table.mean(axis=0).var(ddof=1) - rest / k)


def gappy(rng, raters=5, texts=60):
    worth, severity = rng.normal(size=texts), rng.normal(size=raters) * 0.7
    table = worth + severity[:, np.newaxis] + rng.normal(size=(raters, texts)) * 1.2
    table[rng.random(table.shape) < 0.5] = np.nan
    return table, worth


def test_the_ceiling_is_what_a_judge_reaches_who_knows_the_worth():
    rng = np.random.default_rng(1)
    ceilings, reached = [], []
    for _ in range(100):
        table, worth = gappy(rng)
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


def test_the_ceiling_of_agreement_to_the_point_is_1():
    table = np.tile([1.0, 3, 2, 5, 4], (3, 1))
    assert ceiling(table) == pytest.approx(1)


def test_raters_who_see_nothing_have_no_ceiling_to_speak_of():
    table = np.array([[1, 5, 1, 5.0], [5, 1, 5, 1]])
    assert ceiling(table) is None


@pytest.mark.parametrize(
    "table",
    [
        np.empty((2, 0)),
        np.full((2, 3), np.nan),
        np.array([[1.0, np.nan], [np.nan, 2]]),
        np.full((2, 4), 3.0),
        [[1.0], [2]],
    ],
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
    found = ceiling_interval(table, [str(group) for group in groups], within=within)
    assert (found.value, found.low, found.high) == pytest.approx(np.tanh([center, center - margin, center + margin]))


def test_the_ceiling_of_few_groups_has_no_interval():
    table = np.array([[1.0, 2, 4, 3, 5, 1], [2.0, 2, 5, 3, 4, 1]])
    found = ceiling_interval(table, ["a", "a", "a", "b", "b", "b"], within=False)
    assert found.value == pytest.approx(ceiling(table))
    assert found.low is None
