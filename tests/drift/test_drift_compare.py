"""The comparison of scores before and after."""

from __future__ import annotations

import numpy as np
import pytest
from drift_samples import HUNDRED, Values, paired, scorers, texts, version
from hypothesis import given, settings, strategies as st

from rubriclab.comparison import compare_scores

NAMES = ("a", "b", "c")
BEFORE = version({"a": 2, "b": 1})
AFTER = version({"b": 1, "c": 2}, number=2, middle=2.5)


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.booleans())
def test_the_same_version_and_judge_do_not_drift(seed: int, combined: bool) -> None:
    made = version({"a": 2, "b": 1}, combined=combined)
    both = scorers(made, made)
    found = compare_scores(both, paired(both, texts(12, NAMES, seed)))
    assert (found.shift.mean.value, found.shift.mean.low, found.shift.mean.high) == (0, 0, 0)
    assert (found.shift.mean_absolute, found.flips.texts, found.flips.share.value) == (0, 0, 0)
    assert found.ranks[-1].spearman.value == pytest.approx(1)
    assert all(each.mean_absolute == 0 and each.flips == 0 for each in found.criteria)
    assert found.before.mean == found.after.mean


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_swapped_scorers_drift_in_the_opposite_direction(seed: int) -> None:
    given_texts = texts(15, NAMES, seed)
    forward, back = (
        compare_scores(both, paired(both, given_texts)) for both in (scorers(BEFORE, AFTER), scorers(AFTER, BEFORE))
    )
    assert forward.shift.mean.value == pytest.approx(-back.shift.mean.value)
    assert forward.shift.mean.low == pytest.approx(-back.shift.mean.high)
    assert (forward.flips.up, forward.flips.down) == (back.flips.down, back.flips.up)
    assert forward.ranks[-1].spearman.value == pytest.approx(back.ranks[-1].spearman.value)
    assert forward.ranks[-1].kendall.value == pytest.approx(back.ranks[-1].kendall.value)
    first, second = ({each.name: each for each in found.criteria} for found in (forward, back))
    for name, each in first.items():
        assert each.mean == pytest.approx(-second[name].mean, abs=1e-5)
        swapped = {"added": "removed", "removed": "added"}
        assert second[name].state == swapped.get(each.state, each.state)


def test_the_figures_are_those_of_the_scores() -> None:
    both = scorers(version({"a": 1}), version({"b": 1}, number=2), threshold=3.0)
    values = [(4.0, 2.0), (2.0, 2.5), (3.5, 3.5), (2.5, 4.5), (1.0, 1.2), (4.5, 4.0)]
    found = compare_scores(both, paired(both, [{"a": a, "b": b} for a, b in values]))
    before, after = np.array(values).T
    assert found.shift.mean.value == pytest.approx((after - before).mean(), abs=1e-6)
    assert found.shift.mean_absolute == pytest.approx(np.abs(after - before).mean(), abs=1e-6)
    assert found.shift.mean.low < found.shift.mean.value < found.shift.mean.high
    assert (found.flips.texts, found.flips.up, found.flips.down) == (2, 1, 1)
    assert [flip.id for flip in found.flips.largest] == ["t0", "t3"]
    assert [ranks.level for ranks in found.ranks] == ["group", "dataset"]


def test_the_criteria_that_flipped_a_text_are_listed() -> None:
    both = scorers(version({"a": 1, "b": 1}), version({"b": 1, "c": 3}, number=2))
    found = compare_scores(both, paired(both, [{"a": 5.0, "b": 4.0, "c": 1.0}, {"a": 4.0, "b": 4.0, "c": 4.0}]))
    (flip,) = found.flips.largest
    assert (flip.id, flip.before, flip.after) == ("t0", 4.5, 1.75)
    assert [(effect.criterion, effect.state, effect.change) for effect in flip.effects] == [
        ("c", "added", -1.5),
        ("a", "removed", -1.0),
        ("b", "kept", -0.25),
    ]
    assert {each.name: each.flips for each in found.criteria} == {"c": 1, "a": 0, "b": 0}
    assert found.effect_unit == "contribution"
    assert found.criteria[0].name == "c"
    assert found.criteria[0].mean == pytest.approx(-0.375)


def test_an_opposite_effect_is_not_listed() -> None:
    both = scorers(version({"a": 1, "b": 1}), version({"a": 1, "b": 1}, number=2), judges=("strict", "mild"))
    found = compare_scores(both, paired(both, [{"a": 4.0, "b": 3.0}], [{"a": 1.0, "b": 4.0}]))
    assert [(effect.criterion, effect.change) for effect in found.flips.largest[0].effects] == [("a", -1.5)]


def test_unscored_texts_are_counted_and_left_out() -> None:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2))
    first: list[Values] = [{"a": 4.0}, {"a": None}, {"a": None}, {"a": 2.0}]
    second: list[Values] = [{"a": 4.0}, {"a": 3.0}, {"a": None}, {"a": None}]
    found = compare_scores(both, paired(both, first, second))
    assert (found.texts, found.compared) == (4, 1)
    assert (found.before.scored, found.before.unscored, found.after.scored, found.after.unscored) == (2, 2, 2, 2)
    assert found.after.unscored_reason == "t3 has too few ratings"
    assert (found.shift.mean.value, found.before.mean, found.after.mean) == (0, 3.0, 3.5)


def test_without_a_common_text_there_are_no_figures() -> None:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2))
    found = compare_scores(both, paired(both, [{"a": None}, {"a": None}], [{"a": 3.0}, {"a": None}]))
    assert (found.compared, found.shift.mean.value, found.flips.share.value) == (0, None, None)
    assert found.ranks[-1].spearman.value is None
    assert found.flips.largest == ()
    assert all(each.mean is None for each in found.criteria)


def test_scores_on_another_scale_are_rescaled() -> None:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2, onto=HUNDRED))
    found = compare_scores(both, paired(both, texts(9, NAMES)))
    assert found.shift.mean_absolute == pytest.approx(0, abs=1e-5)
    assert (found.scale.high, found.after.scale.high) == (5, 100)
    assert found.before.mean == pytest.approx(found.after.mean, abs=1e-5)


def test_ranks_within_groups_need_groups_of_several_texts() -> None:
    both = scorers(BEFORE, AFTER)
    given_texts = texts(9, NAMES)
    alone = compare_scores(both, paired(both, given_texts, rivals=1))
    one = compare_scores(both, paired(both, given_texts, rivals=9))
    assert [[each.level for each in found.ranks] for found in (alone, one)] == [["dataset"], ["dataset"]]


def test_without_weights_effects_are_changes_of_ratings() -> None:
    made = version({"a": 1, "b": 1}, combined=False)
    both = scorers(made, made, judges=("strict", "mild"))
    found = compare_scores(both, paired(both, [{"a": 2.0, "b": 3.0}] * 2, [{"a": 4.0, "b": 3.0}] * 2))
    assert found.effect_unit == "rating"
    assert [(each.name, each.mean, each.flips) for each in found.criteria] == [("a", 0.5, 2), ("b", 0.0, 0)]


def test_the_same_texts_give_the_same_figures() -> None:
    both = scorers(BEFORE, AFTER)
    pairs = paired(both, texts(12, NAMES))
    assert compare_scores(both, pairs, seed=3) == compare_scores(both, pairs, seed=3)
