"""Accuracy at a price."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from score_tables import made_up

from rubriclab.learning.fitting import fit, held_out
from rubriclab.learning.floor import SURFACE
from rubriclab.learning.frontier import MOST_POINTS, frontier
from rubriclab.learning.gate import trust
from rubriclab.learning.settings import JointSettings
from rubriclab.stats.correlation import pearson

QUICK = JointSettings(recipe="squared correlation", calibration="linear", folds=5)


def test_prices_rise_and_the_last_is_the_whole_rubric():
    table = made_up(0, texts=60, groups=20, measures=2)
    points = frontier(table, QUICK)
    assert [point.calls for point in points] == [0, 1, 2]
    assert [set(point.parts) for point in points][::2] == [{"surface"}, {"surface", "direct", "hypoeval"}]
    assert [point.chosen for point in points] == [False, False, True]
    assert points[-1].criteria == len(fit(table, QUICK).columns)


def test_a_figure_is_that_of_the_same_rubric_held_out():
    table = made_up(1, texts=60, groups=30)
    for bound, point in zip((1, 0), frontier(table, QUICK), strict=True):
        found = held_out(table, QUICK.model_copy(update={"calls_per_text": bound}))
        assert point.pearson == round(pearson(np.nan_to_num(found.raw), table.labels), 6)
        assert point.error
        assert 0 < point.error < 0.3


@pytest.mark.parametrize("groups", [8, 20])
def test_the_rubric_s_own_size_has_the_figure_of_the_gate(groups):
    table = made_up(2, texts=60, groups=groups)
    whole = np.where(np.isnan(table.values), 3.0, table.values)
    found = replace(table, values=whole)
    raw = held_out(found, QUICK).raw
    gate = trust(found, np.zeros((60, len(SURFACE))), raw, raw, np.arange(60) % 5, alone={}, calls={"joint": 2}, seed=0)
    (own,) = [point for point in frontier(found, QUICK) if point.chosen]
    assert own.pearson == gate.standings[0].pearson.value


def test_what_hangs_on_one_text_has_no_error():
    table = made_up(0, texts=36, groups=12)
    points = frontier(replace(table, labels=np.where(np.arange(36) == 7, 4.0, 3.0)), QUICK)
    assert points
    assert {point.error for point in points} == {None}
    assert not any(point.within for point in points)


def test_labels_that_are_all_the_same_give_no_point():
    table = made_up(0, texts=36, groups=12)
    assert frontier(replace(table, labels=np.full(36, 3.0)), QUICK) == ()


def test_the_smallest_within_one_error_of_the_best_is_marked():
    for seed in range(4):
        points = frontier(made_up(seed, texts=60, groups=20, measures=2), QUICK)
        best = max(points, key=lambda point: point.pearson)
        enough = [point for point in points if point.pearson >= best.pearson - best.error]
        assert [point for point in points if point.within] == enough[:1]


def test_a_bound_marks_the_point_it_buys():
    table = made_up(0, texts=60, groups=20, measures=2)
    points = frontier(table, QUICK.model_copy(update={"calls_per_text": 1}))
    assert [point.calls for point in points if point.chosen] == [1]
    points = frontier(table, QUICK.model_copy(update={"calls_per_text": 5}), {"direct": 4, "hypoeval": 0.5})
    assert [point.calls for point in points if point.chosen] == [4.5]


def test_in_one_call_the_price_counts_criteria():
    table = made_up(0, texts=60, groups=20, informed=30, idle=10)
    together = replace(table, bundles=("all",) * 40)
    points = frontier(together, QUICK.model_copy(update={"ask": "in one call"}))
    assert {point.calls for point in points} == {1}
    assert [point.criteria for point in points] == sorted(point.criteria for point in points)
    assert 3 < len(points) <= MOST_POINTS
    assert points[-1].chosen
    assert points[-1].criteria == len(fit(together, QUICK).columns)


def test_order_of_texts_does_not_matter():
    table = made_up(0, texts=40, groups=10, measures=2)
    assert frontier(table, QUICK) == frontier(table.rows(np.arange(40)[::-1]), QUICK)


def test_without_anything_to_choose_from_there_is_no_point():
    table = made_up(0, texts=8, groups=8)
    assert frontier(replace(table, values=np.full((8, 8), np.nan)), QUICK) == ()
