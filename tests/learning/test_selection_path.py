"""Which rubric is kept: the cheapest that held-out labels justify, chosen anew for every fold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from score_tables import made_up

from rubriclab.errors import SettingsError
from rubriclab.learning.contributions import frontier, noise
from rubriclab.learning.fitting import fit
from rubriclab.learning.gate import paired_difference
from rubriclab.learning.selection_path import ONE_CALL, READABLE, candidate_rubrics, chosen_shares, select_rubric
from rubriclab.learning.settings import JointSettings

QUICK = JointSettings(calibration="linear", folds=4, repeats=1)


def both_ways(table, informed_one_call=True):
    """Return a table whose candidates are also rated in one call, by noise unless that is informed."""
    values = table.values if informed_one_call else np.random.default_rng(9).normal(size=table.values.shape)
    whole = np.array(table.methods) == "direct"
    table = replace(table, holistic=whole & (np.arange(len(whole)) == 0))
    return table.joined_with(replace(table, values=values, bundles=(ONE_CALL,) * len(table.methods)))


def test_one_call_that_rates_criteria_and_then_the_whole_is_kept_where_it_is_as_good():
    found = select_rubric(both_ways(made_up(0, texts=60, groups=20)), QUICK)
    kept = found.steps[found.kept]
    assert (kept.calls, kept.rubric.ask) == (1, "in one call")
    assert kept.criteria <= READABLE


def test_what_one_call_cannot_tell_is_asked_by_method():
    found = select_rubric(both_ways(made_up(0, texts=60, groups=20), informed_one_call=False), QUICK)
    assert found.steps[found.kept].rubric.ask == "by method"


def test_a_long_rubric_has_to_be_earned():
    assert len(select_rubric(made_up(1, texts=60, groups=20, informed=3, idle=27), QUICK).fit.columns) <= READABLE
    # Thirty weak criteria of which each says something of its own are worth more than eight.
    rng = np.random.default_rng(3)
    parts = rng.normal(size=(240, 30))
    many = replace(made_up(1, texts=240, groups=80, informed=30, idle=0), values=parts, labels=parts.sum(axis=1))
    assert len(select_rubric(many, QUICK).fit.columns) > READABLE


def test_accuracy_may_be_preferred():
    table = both_ways(made_up(2, texts=60, groups=20))
    best = select_rubric(table, QUICK.model_copy(update={"prefer": "accuracy"}))
    points = frontier(best, table)
    chosen = next(point for point in points if point.chosen)
    assert chosen.pearson == max(point.pearson for point in points)
    assert (
        chosen.pearson >= next(point for point in frontier(select_rubric(table, QUICK), table) if point.chosen).pearson
    )


def test_labels_of_a_fold_have_no_part_in_what_is_chosen_for_it():
    table = both_ways(made_up(3))
    before = select_rubric(table, QUICK).held_out
    for number in range(4):
        inside = before.folds[0] == number
        after = select_rubric(
            replace(table, labels=np.where(inside, 6 - table.labels[::-1], table.labels)), QUICK
        ).held_out
        assert after.raw[inside] == pytest.approx(before.raw[inside], abs=1e-9, nan_ok=True)


def test_the_order_of_texts_changes_nothing():
    table = both_ways(made_up(4))
    order = np.random.default_rng(0).permutation(30)
    one, other = select_rubric(table, QUICK), select_rubric(table.rows(order), QUICK)
    assert one.fit.columns == other.fit.columns
    assert other.held_out.raw == pytest.approx(one.held_out.raw[order])


def test_calls_per_text_bound_what_is_kept():
    table = made_up(0, texts=60, groups=20)
    found = select_rubric(table, QUICK.model_copy(update={"calls_per_text": 1}), {"direct": 4, "hypoeval": 1})
    assert {table.methods[place] for place in found.fit.columns} == {"hypoeval"}
    with pytest.raises(SettingsError, match=r"in 0\.5 calls per text; the least is 1"):
        select_rubric(table, QUICK.model_copy(update={"calls_per_text": 0.5}))


def test_criteria_of_one_call_stay_as_reasons_where_they_weigh_nothing():
    table = both_ways(made_up(5, texts=60, groups=20, informed=1, idle=7))
    against = table.values.copy()
    against[:, [9, 10, 11]] = 6 - table.labels[:, np.newaxis] + np.random.default_rng(1).normal(0, 0.5, (60, 3))
    table = replace(table, values=against)
    every = next(rubric for rubric in candidate_rubrics(table) if rubric.name == "one call: 7 criteria, then the whole")
    found = fit(table, QUICK, every.pool)
    weights = dict(zip(found.columns, found.weights, strict=True))
    assert [weights[place] for place in (9, 10, 11)] == [0, 0, 0]


def test_the_verdict_hangs_less_on_the_seed_of_the_folds_if_divisions_are_averaged():
    table = made_up(7, texts=36, groups=36, informed=3, idle=9)

    def spread(repeats):
        settings = QUICK.model_copy(update={"repeats": repeats})
        raws = (select_rubric(table, settings, seed=100 * seed).held_out.raw for seed in range(6))
        return np.std([np.corrcoef(np.nan_to_num(raw), table.labels)[0, 1] for raw in raws])

    assert spread(JointSettings().repeats) < 0.75 * spread(1)


def test_the_verdict_is_the_same_for_every_seed_where_criteria_clearly_track_the_labels():
    table = both_ways(made_up(8, texts=36, groups=36, informed=5, idle=3))
    for seed in range(3):
        raw = select_rubric(table, JointSettings(calibration="linear"), seed=seed).held_out.raw
        low = paired_difference(np.nan_to_num(raw), np.zeros(36), table.labels, table.groups, seed=seed).low
        assert low is not None
        assert low > 0


def test_candidates_hold_each_method_alone_and_all_together():
    names = {rubric.name for rubric in candidate_rubrics(both_ways(made_up(0)))}
    assert {"direct", "hypoeval", "direct + hypoeval", "one call: 1 criterion, then the whole"} <= names


def test_how_often_a_criterion_is_chosen_lies_between_never_and_always():
    table = both_ways(made_up(6))
    found = select_rubric(table, QUICK)
    shares = chosen_shares(found, table)
    assert shares.shape == found.fit.weights.shape
    assert ((shares >= 0) & (shares <= 1)).all()


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


def test_what_noise_gives_is_the_mean_over_labels_dealt_out_anew():
    table = both_ways(made_up(3))
    found = select_rubric(table, QUICK)
    told = noise(found, table, QUICK)
    assert noise(found, table.rows(np.random.default_rng(1).permutation(30)), QUICK) == told
    draw, own = np.random.default_rng(77), []
    for _ in range(100):
        other = replace(table, labels=draw.permutation(table.labels))
        raw = np.nan_to_num(fit(other, QUICK, found.steps[found.kept].rubric.pool).raw(table.values))
        own.append(np.corrcoef(raw, other.labels)[0, 1])
    assert told == pytest.approx(np.mean(own), abs=4 * np.std(own) * (1 / 40 + 1 / 100) ** 0.5)
    assert told > 0.02
    assert noise(found, replace(table, labels=np.full(30, 3.0)), QUICK) is None
