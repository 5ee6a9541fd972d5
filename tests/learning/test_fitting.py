"""Choosing, weighing and cross-validating: what no label may leak into, and what happens with next to nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_tables import SCALE, made_up

from rubriclab.errors import SettingsError
from rubriclab.learning.bundles import ranked
from rubriclab.learning.choice import choose
from rubriclab.learning.fitting import fit, held_out, weight_intervals
from rubriclab.learning.folds import grouped_folds
from rubriclab.learning.standardise import RECIPES
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.table import Table

QUICK = JointSettings(recipe="squared correlation", calibration="linear", folds=5)
CHOSEN = JointSettings(folds=3)
RECIPE_SETTINGS = [JointSettings(recipe=name, folds=5) for name in RECIPES]


def same(one, other) -> bool:
    """Whether two fits hold the same numbers, to the last bit."""
    arrays = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("weights", "centers", "spreads"))
    rest = ("columns", "recipe", "strength", "calibration", "dropped", "uncertain")
    return arrays and all(getattr(one, name) == getattr(other, name) for name in rest)


@given(st.integers(0, 1000), st.sampled_from([QUICK, CHOSEN]))
@settings(max_examples=6)
def test_order_of_texts_changes_no_bit(seed, chosen):
    table = made_up(seed, measures=2)
    order = np.random.default_rng(seed).permutation(len(table.labels))
    assert same(fit(table, chosen), fit(table.rows(order), chosen))
    one, other = held_out(table, chosen), held_out(table.rows(order), chosen)
    assert np.array_equal(one.scores[order], other.scores, equal_nan=True)
    assert np.array_equal(one.fold[order], other.fold)


@given(
    st.integers(0, 1000),
    st.integers(0, 4),
    st.sampled_from([QUICK, CHOSEN, QUICK.model_copy(update={"calls_per_text": 1})]),
)
@settings(max_examples=6)
def test_labels_of_a_fold_have_no_part_in_its_scores(seed, number, chosen):
    table = made_up(seed, measures=2)
    before = held_out(table, chosen)
    inside = before.fold == number % (before.fold.max() + 1)
    after = held_out(replace(table, labels=np.where(inside, 6 - table.labels[::-1], table.labels)), chosen)
    assert np.array_equal(after.fold, before.fold)
    assert np.array_equal(after.scores[inside], before.scores[inside], equal_nan=True)
    assert not np.array_equal(after.scores[~inside], before.scores[~inside], equal_nan=True)


@given(st.integers(0, 1000), st.integers(0, 4))
@settings(max_examples=6)
def test_candidates_that_saw_a_text_take_no_part_where_it_is_left_out(seed, number):
    table = made_up(seed)
    fold = held_out(table, QUICK).fold
    seen = table.seen.copy()
    seen[np.flatnonzero(fold == number)[0], :3] = True
    before = held_out(replace(table, seen=seen), QUICK)
    values = table.values.copy()
    values[:, :3] = values[::-1, :3]
    after = held_out(replace(table, seen=seen, values=values), QUICK)
    inside = fold == number
    assert not set(before.fits[number].columns) & {0, 1, 2}
    assert np.array_equal(after.scores[inside], before.scores[inside], equal_nan=True)


def test_what_every_text_had_a_part_in_leaves_no_held_out_score():
    table = made_up()
    found = held_out(replace(table, seen=np.ones_like(table.seen)), QUICK)
    assert np.isnan(found.scores).all()
    assert all(fitted.columns == () for fitted in found.fits)


@given(st.integers(0, 1000), st.sampled_from([QUICK, CHOSEN]), st.floats(0.1, 10), st.floats(-20, 20))
@settings(max_examples=6)
def test_unit_and_zero_of_a_criterion_change_no_score(seed, chosen, factor, shift):
    chosen = chosen.model_copy(update={"calibration": "linear"})
    table = made_up(seed)
    values = table.values.copy()
    values[:, 1] = values[:, 1] * factor + shift
    one, other = fit(table, chosen), fit(replace(table, values=values), chosen)
    assert one.columns == other.columns
    assert other.weights == pytest.approx(one.weights, abs=2e-6)
    assert other.scores(values, SCALE) == pytest.approx(one.scores(table.values, SCALE), abs=1e-4, nan_ok=True)


@pytest.mark.parametrize("chosen", RECIPE_SETTINGS, ids=list(RECIPES))
def test_every_column_is_kept_or_has_a_reason(chosen):
    table = made_up(3, measures=3)
    values = table.values.copy()
    values[:, 4], values[:, 5], values[:, 6] = 3.0, np.nan, 2 * values[:, 0] + 1
    found = fit(replace(table, values=values), chosen)
    assert sorted([*found.columns, *found.dropped]) == list(range(11))
    assert np.abs(found.weights).sum() == pytest.approx(1, abs=1e-5)
    assert (found.weights[~table.signed[list(found.columns)]] > 0).all()
    names = [f"c{place}" for place in range(11)]
    words = {place: left.words(names) for place, left in found.dropped.items()}
    assert words[4] == "has the same score for every training text"
    assert words[5] == "has no score for any training text"
    assert words[6] == "says what c0 says (r = 1.00), and tracks the labels no better"


def test_reasons_state_the_figures_they_rest_on():
    table = made_up(1)
    found = choose(replace(table, values=np.where(np.arange(8) == 0, 6 - table.values, table.values)), QUICK)
    left = found.dropped[0]
    assert left.words([]).startswith(
        f"tracks the labels the wrong way: r = {left.r:.2f}, below {left.high:.2f} with 90 %"
    )
    noise = next(found.dropped[place] for place in (4, 5, 6, 7) if place in found.dropped)
    assert noise.words([]).startswith(
        f"cannot be told from noise by these labels: r = {noise.r:.2f}, above {noise.low:.2f}"
    )


def test_uncertain_criteria_stay_if_asked_for_and_are_named():
    table = made_up(1)
    kept = fit(table, QUICK.model_copy(update={"keep_uncertain": True, "recipe": "equal"}))
    assert kept.columns == tuple(range(8))
    assert set(kept.uncertain) == set(fit(table, QUICK).dropped)


@given(st.integers(0, 1000))
@settings(max_examples=6)
def test_noise_leaves_one_criterion_or_the_few_that_chance_lets_through(seed):
    table = made_up(seed, informed=0, idle=8)
    found = fit(table, QUICK)
    assert found.columns
    assert len(found.columns) <= 4
    if found.uncertain:
        assert found.columns == found.uncertain


def test_of_two_that_say_the_same_the_one_that_tracks_the_labels_more_stays():
    table = made_up(2)
    values = table.values.copy()
    values[:, 0] = table.labels + np.random.default_rng(0).normal(0, 0.05, 30)
    values[:, 1] = table.labels
    assert fit(replace(table, values=values), QUICK).dropped[0].like == 1


def test_missing_scores_spread_their_weight_and_too_many_leave_no_score():
    table = made_up(4)
    found = fit(table, QUICK)
    values = np.full((3, 8), np.nan)
    heaviest = found.columns[int(np.argmax(found.weights))]
    values[1] = np.nanmean(table.values, axis=0)
    values[2, heaviest] = 3
    assert found.weights.max() < 0.5
    assert np.isnan(found.raw(values)).tolist() == [True, False, True]
    assert found.raw(values)[1] == pytest.approx(0, abs=1e-6)


def test_scores_stay_within_the_scale():
    table = made_up(5)
    found = fit(table, QUICK)
    assert found.scores(table.values * 100, SCALE).max() == 5
    assert found.scores(table.values * -100, SCALE).min() == 1


def uneven(texts: int) -> Table:
    """One criterion that says much, beside nine that say the same little thing."""
    table = made_up(0, texts=texts, groups=texts, informed=10, idle=0)
    rng = np.random.default_rng(1)
    crowd = table.labels + rng.normal(0, 2, texts)
    values = np.column_stack([table.labels + rng.normal(0, 0.5, texts), *crowd + rng.normal(0, 1, (9, texts))])
    return replace(table, values=values)


def test_ridge_shrinks_less_with_more_labels():
    few, many = (fit(uneven(texts), JointSettings(recipe="ridge", keep_uncertain=True)) for texts in (20, 300))
    assert many.weights[0] > few.weights[0] + 0.1


def test_few_labels_are_weighed_by_squared_correlations_and_many_by_ridge():
    assert fit(made_up(0), JointSettings()).recipe == "squared correlation"
    assert fit(made_up(0, texts=90, groups=30), JointSettings()).recipe == "ridge"


def test_another_recipe_is_taken_where_it_is_clearly_better():
    assert fit(uneven(79), JointSettings()).recipe in ("nnls", "ridge")


@given(st.lists(st.sampled_from("abcdefghij"), min_size=2, max_size=40), st.integers(2, 12), st.integers(0, 9))
@settings(max_examples=60)
def test_folds_keep_groups_together_and_are_even(groups, folds, seed):
    fold = grouped_folds(groups, folds, seed)
    count = len(set(groups)) if len(set(groups)) > 1 else len(groups)
    assert set(fold.tolist()) == set(range(min(folds, count)))
    if len(set(groups)) > 1:
        assert all(len(set(fold[np.array(groups) == group].tolist())) == 1 for group in groups)
    sizes = np.bincount(fold)
    assert sizes.max() - sizes.min() <= max(groups.count(group) for group in groups)


def test_folds_follow_groups_and_not_the_order_of_texts():
    groups = [f"g{number % 7}" for number in range(30)]
    order = np.random.default_rng(0).permutation(30)
    assert np.array_equal(grouped_folds(groups, 5, 3)[order], grouped_folds([groups[place] for place in order], 5, 3))


def small(texts: int, **changed: object) -> Table:
    return replace(made_up(0, texts=texts, groups=texts), **changed)


NEXT_TO_NOTHING = {
    "one text": small(1),
    "two texts": small(2),
    "five texts": small(5),
    "one group": small(10, groups=("g",) * 10),
    "two groups": small(10, groups=("g",) * 5 + ("h",) * 5),
    "labels all the same": small(8, labels=np.full(8, 3.0)),
    "labels of two values": small(8, labels=np.arange(8) % 2 + 1.0),
    "nothing varies": small(8, values=np.full((8, 8), 0.3)),
    "nothing was scored": small(8, values=np.full((8, 8), np.nan)),
    "no candidates": made_up(0, texts=8, groups=8, informed=0, idle=0),
}


@pytest.mark.parametrize("name", list(NEXT_TO_NOTHING))
@pytest.mark.parametrize("chosen", [QUICK, JointSettings(folds=3)], ids=["fixed", "chosen"])
def test_next_to_nothing_is_no_error(name, chosen):
    table = NEXT_TO_NOTHING[name]
    found, left_out = fit(table, chosen), held_out(table, chosen)
    nothing = name in ("one text", "nothing varies", "nothing was scored", "no candidates")
    assert (found.columns == ()) == nothing
    assert np.isnan(found.scores(table.values, SCALE)).all() == nothing
    assert left_out.scores.shape == (len(table.labels),)
    low, high, selected = weight_intervals(table, found, chosen.model_copy(update={"resamples": 100}))
    assert low.shape == high.shape == selected.shape == found.weights.shape
    assert (low <= high).all()


def test_weights_lie_within_their_intervals_and_strong_criteria_are_always_chosen():
    table = made_up(6, informed=5, idle=5)
    found = fit(table, QUICK)
    few = QUICK.model_copy(update={"resamples": 200})
    low, high, selected = weight_intervals(table, found, few)
    assert ((low <= found.weights) & (found.weights <= high)).all()
    assert selected[np.argmax(found.weights)] > 0.95
    again = weight_intervals(table.rows(np.arange(30)[::-1]), found, few)
    assert all(np.array_equal(one, other) for one, other in zip((low, high, selected), again, strict=True))


def test_a_bound_on_calls_buys_the_bundle_that_helps_most():
    table = made_up(0, texts=60, groups=20)
    better = np.where(np.array(table.methods) == "direct", table.values + 2 * table.labels[:, np.newaxis], table.values)
    table = replace(table, values=better)
    assert ranked(table, QUICK, table.bundles, 0) == ["direct", "hypoeval"]
    found = fit(table, QUICK.model_copy(update={"calls_per_text": 1}))
    assert {table.methods[place] for place in found.columns} == {"direct"}
    assert {found.dropped[place].why for place in range(1, 8, 2)} == {"beyond the bound"}
    cheap = fit(table, QUICK.model_copy(update={"calls_per_text": 1}), {"direct": 4, "hypoeval": 1})
    assert {table.methods[place] for place in cheap.columns} == {"hypoeval"}


def test_a_bound_below_the_cheapest_is_refused_unless_something_is_free():
    half = QUICK.model_copy(update={"calls_per_text": 0.5})
    with pytest.raises(SettingsError, match=r"in 0\.5 calls per text; the least is 1"):
        fit(made_up(), half)
    table = made_up(measures=3)
    assert {table.methods[place] for place in fit(table, half).columns} == {"surface"}


def test_the_mean_of_what_the_judge_said_needs_judged_criteria_alone():
    plain = QUICK.model_copy(update={"calibration": "none"})
    found = fit(made_up(), plain)
    assert found.calibration.kind == "none"
    with pytest.raises(SettingsError, match="surface measures have no part"):
        fit(made_up(measures=3), plain)
