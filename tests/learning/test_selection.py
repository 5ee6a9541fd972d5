"""Which criteria a rubric of several methods has: the same procedure for all labels and without each fold's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from score_tables import made_up

from rubriclab.learning.fitting import JointSettings, candidate_pool, select_rubric as select_rubric_by
from rubriclab.learning.gate import EvaluatorComparison

QUICK = JointSettings(folds=4, repeats=1)


def with_whole(table):
    """Return a table whose first candidate is a score of the whole aspect."""
    return replace(table, holistic=np.arange(len(table.methods)) == 0)


def select_rubric(table, settings, **seed):
    return select_rubric_by(table, settings, "in one call", **seed)


def test_a_rubric_has_the_best_criteria_at_most_so_many_and_the_whole():
    table = with_whole(made_up(1, texts=60, groups=20, informed=5, idle=27))
    for most in (1, 3, 8):
        columns = select_rubric(table, QUICK.model_copy(update={"criteria": most})).fit.columns
        assert 0 in columns
        assert len(columns) <= most + 1
    three = select_rubric(table, QUICK.model_copy(update={"criteria": 3})).fit.columns
    assert set(three) <= {0, 1, 2, 3, 4}


def test_measures_of_the_text_are_there_beside_the_criteria():
    pool = candidate_pool(with_whole(made_up(2, measures=3)), 4, "in one call")
    assert pool.always == (0, 8, 9, 10)
    assert pool.columns == (1, 2, 3, 4, 5, 6, 7)
    assert pool.most == 4


@pytest.mark.parametrize(("ask", "kept"), [("in one call", True), ("by method", False)])
def test_criteria_that_weigh_nothing_stay_as_reasons_where_they_need_no_call(ask, kept):
    table = with_whole(made_up(5, texts=60, groups=20, informed=1, idle=7))
    against = table.values.copy()
    against[:, [2, 3, 4]] = 6 - table.labels[:, np.newaxis] + np.random.default_rng(1).normal(0, 0.5, (60, 3))
    found = select_rubric_by(replace(table, values=against), QUICK, ask).fit
    weights = dict(zip(found.columns, found.weights, strict=True))
    assert [weights.get(place) for place in (2, 3, 4)] == ([0, 0, 0] if kept else [None, None, None])


def test_labels_of_a_fold_have_no_part_in_what_is_chosen_for_it():
    table = with_whole(made_up(3))
    before = select_rubric(table, QUICK).held_out
    for number in range(4):
        inside = before.folds[0] == number
        after = select_rubric(
            replace(table, labels=np.where(inside, 6 - table.labels[::-1], table.labels)), QUICK
        ).held_out
        assert after.raw[inside] == pytest.approx(before.raw[inside], abs=1e-9, nan_ok=True)


def test_the_order_of_texts_changes_nothing():
    table = with_whole(made_up(4))
    order = np.random.default_rng(0).permutation(30)
    one, other = select_rubric(table, QUICK), select_rubric(table.rows(order), QUICK)
    assert one.fit.columns == other.fit.columns
    assert other.held_out.raw == pytest.approx(one.held_out.raw[order])


def test_the_verdict_is_the_same_for_every_seed_where_criteria_clearly_track_the_labels():
    table = with_whole(made_up(8, texts=36, groups=36, informed=5, idle=3))
    for seed in range(3):
        raw = select_rubric(table, JointSettings(), seed=seed).held_out.raw
        low = EvaluatorComparison(table).difference(np.nan_to_num(raw), np.zeros(36)).low
        assert low is not None
        assert low > 0


@pytest.mark.parametrize(
    "changed",
    [
        {"labels": np.full(8, 3.0)},
        {"values": np.full((8, 8), np.nan)},
        {"values": np.full((8, 8), 2.0)},
        {"groups": ("g",) * 8},
        {"seen": np.ones((8, 8), dtype=bool)},
    ],
    ids=["labels all the same", "nothing scored", "nothing varies", "one group", "made from all labels"],
)
def test_next_to_nothing_is_no_error(changed):
    table = replace(made_up(0, texts=8, groups=8), **changed)
    found = select_rubric(table, JointSettings(folds=3))
    assert found.held_out.raw.shape == (8,)
