"""Shortcuts: who follows what anybody could count more than the raters do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gate_tables import follow, measures, table
from hypothesis import given, settings, strategies as st

from rubriclab.learning.shortcuts import shortcuts
from rubriclab.stats.correlation import partial_correlation, pearson

NAMES = ("direct", "h1", "h2", "long")


def of_length(seed: int = 0, n: int = 40, rivals: int = 1) -> tuple:
    """Return a table whose last candidate is next to nothing but length, which raters follow at 0.3."""
    rng = np.random.default_rng([seed, 9])
    labels = table(seed, n=n, rivals=rivals).labels
    length = follow(rng, labels, 0.3)
    judged = table(seed, n=n, rivals=rivals, long=follow(rng, length, 0.98))
    copied = rng.random(n)
    return judged, measures(seed, n, log_words=length, copied_share=copied, markup=np.zeros(n)), length, copied


def test_what_follows_length_more_than_the_raters_do_is_marked() -> None:
    judged, features, length, _ = of_length()
    rubric = judged.values[:, :3].mean(axis=1)
    rows = {each.name: each for each in shortcuts(judged, NAMES, features, rubric)}
    assert [name for name, row in rows.items() if row.marked] == ["long"]
    assert rows["long"].follows["length"] == pytest.approx(pearson(judged.values[:, 3], length), abs=1e-6)
    assert rows["raters"].follows["length"] == pytest.approx(pearson(judged.labels, length), abs=1e-6)


def test_raters_come_first_then_the_rubric_then_the_criteria() -> None:
    judged, features, *_ = of_length()
    rows = shortcuts(judged, NAMES, features, judged.labels)
    assert [row.name for row in rows] == ["raters", "rubric", *NAMES]
    assert (rows[0].agreement, rows[0].left, rows[0].marked) == (1, 1, False)


def test_what_is_left_is_the_partial_correlation() -> None:
    judged, features, length, copied = of_length()
    rows = {each.name: each for each in shortcuts(judged, NAMES, features, judged.labels)}
    held = np.column_stack([length, copied])
    for place, name in enumerate(NAMES):
        own = judged.values[:, place]
        assert rows[name].agreement == pytest.approx(pearson(own, judged.labels), abs=1e-6)
        assert rows[name].left == pytest.approx(partial_correlation(own, judged.labels, held), abs=1e-6)
    assert abs(rows["long"].left) < 0.35 < rows["direct"].left


def test_a_criterion_against_length_is_not_marked_for_what_raters_reward() -> None:
    judged, features, length, _ = of_length(n=60)
    values = judged.values.copy()
    values[:, 3] = follow(np.random.default_rng(0), length, -0.05)
    raters = follow(np.random.default_rng(1), length, 0.8)
    other = replace(judged, values=values, labels=raters)
    assert not any(row.marked for row in shortcuts(other, NAMES, features, raters))


def test_without_sources_and_layout_only_length_is_there_to_follow() -> None:
    judged, features, *_ = of_length()
    bare = measures(0, 40, log_words=features[:, 1], copied_share=np.full(40, np.nan), markup=np.zeros(40))
    assert {what for row in shortcuts(judged, NAMES, bare, judged.labels) for what in row.follows} == {"length"}


def test_nothing_to_follow_leaves_the_agreement_as_it_is() -> None:
    judged, *_ = of_length()
    bare = measures(0, 40, log_words=np.ones(40), copied_share=np.full(40, np.nan), markup=np.zeros(40))
    rows = shortcuts(judged, NAMES, bare, judged.labels)
    assert all(row.left == row.agreement and not row.follows and not row.marked for row in rows)


def test_missing_scores_and_constant_criteria_are_no_obstacle() -> None:
    judged, features, length, _ = of_length()
    values = judged.values.copy()
    values[:15, 0], values[:, 1], values[:, 2] = np.nan, 3.0, np.nan
    rows = {each.name: each for each in shortcuts(replace(judged, values=values), NAMES, features, judged.labels)}
    assert rows["direct"].follows["length"] == pytest.approx(pearson(values[15:, 0], length[15:]), abs=1e-6)
    assert (rows["h1"].agreement, rows["h1"].left, rows["h1"].follows) == (None, None, {})
    assert (rows["h2"].agreement, rows["h2"].left, rows["h2"].follows) == (None, None, {})


def test_among_rivals_what_differs_between_groups_is_no_length_to_follow() -> None:
    judged, features, length, _ = of_length(n=60, rivals=4)
    moved = np.repeat(np.random.default_rng(7).normal(scale=10, size=15), 4)
    shifted = features.copy()
    shifted[:, :] = features + moved[:, np.newaxis]
    before, after = (shortcuts(judged, NAMES, each, judged.labels) for each in (features, shifted))
    assert after[5].marked
    assert after[5].follows["length"] == pytest.approx(before[5].follows["length"], abs=1e-5)
    assert len(length) == 60


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_candidates_like_the_raters_are_seldom_marked(seed: int) -> None:
    rng = np.random.default_rng(seed)
    length = rng.normal(size=40)
    judged = replace(table(seed, n=40), labels=follow(rng, length, 0.5))
    alike = np.column_stack([follow(rng, length, 0.5) for _ in range(3)])
    features = measures(seed, 40, log_words=length)
    rows = shortcuts(replace(judged, values=alike), ("a", "b", "c"), features, judged.labels)
    assert sum(row.marked for row in rows) <= 1
