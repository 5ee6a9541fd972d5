"""What changes from one side to the other."""

from __future__ import annotations

import numpy as np
import pytest
from drift_samples import HUNDRED, paired, sides, texts, version
from hypothesis import given, settings
from hypothesis import strategies as st

from rubriclab.drift import drift
from rubriclab.drift.compare import NAMED

NAMES = ("a", "b", "c")
BEFORE = version({"a": 2, "b": 1})
AFTER = version({"b": 1, "c": 2}, number=2, middle=2.5)


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.booleans())
def test_the_same_version_by_the_same_judge_drifts_nowhere(seed: int, combined: bool) -> None:
    made = version({"a": 2, "b": 1}, combined=combined)
    both = sides(made, made)
    found = drift(both, paired(both, texts(12, NAMES, seed)))
    assert (found.shift.mean.value, found.shift.mean.low, found.shift.mean.high) == (0, 0, 0)
    assert (found.shift.absolute, found.shift.moved, found.flips.texts, found.flips.share.value) == (0, 0, 0, 0)
    assert found.movers == ()
    assert found.ranks[-1].spearman.value == pytest.approx(1)
    assert all(each.absolute == 0 and each.flips == 0 for each in found.criteria)
    assert found.before.mean == found.after.mean


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_sides_that_change_places_drift_the_other_way(seed: int) -> None:
    given_texts = texts(15, NAMES, seed)
    there, back = (drift(both, paired(both, given_texts)) for both in (sides(BEFORE, AFTER), sides(AFTER, BEFORE)))
    assert there.shift.mean.value == pytest.approx(-back.shift.mean.value)
    assert there.shift.mean.low == pytest.approx(-back.shift.mean.high)
    assert (there.flips.up, there.flips.down) == (back.flips.down, back.flips.up)
    assert there.ranks[-1].spearman.value == pytest.approx(back.ranks[-1].spearman.value)
    assert there.ranks[-1].kendall.value == pytest.approx(back.ranks[-1].kendall.value)
    ours, theirs = ({each.name: each for each in found.criteria} for found in (there, back))
    for name, each in ours.items():
        assert each.total == pytest.approx(-theirs[name].total, abs=1e-5)
        swapped = {"added": "removed", "removed": "added"}
        assert theirs[name].state == swapped.get(each.state, each.state)


def test_the_figures_are_those_of_the_scores() -> None:
    both = sides(version({"a": 1}), version({"b": 1}, number=2), flip_at=3.0)
    values = [(4.0, 2.0), (2.0, 2.5), (3.5, 3.5), (2.5, 4.5), (1.0, 1.2), (4.5, 4.0)]
    found = drift(both, paired(both, [{"a": a, "b": b} for a, b in values]))
    before, after = np.array(values).T
    assert found.shift.mean.value == pytest.approx((after - before).mean(), abs=1e-6)
    assert found.shift.in_spreads == pytest.approx((after - before).mean() / before.std(ddof=1), abs=1e-6)
    assert found.shift.absolute == pytest.approx(np.abs(after - before).mean(), abs=1e-6)
    assert (found.shift.moved, found.shift.tolerance) == (pytest.approx(4 / 6, abs=1e-6), 0.4)
    assert found.shift.mean.low < found.shift.mean.value < found.shift.mean.high
    assert (found.flips.texts, found.flips.up, found.flips.down) == (2, 1, 1)
    assert [flip.id for flip in found.flips.named] == ["t0", "t3"]
    assert [ranks.level for ranks in found.ranks] == ["group", "dataset"]


def test_the_criteria_that_flipped_a_text_are_named() -> None:
    both = sides(version({"a": 1, "b": 1}), version({"b": 1, "c": 3}, number=2))
    found = drift(both, paired(both, [{"a": 5.0, "b": 4.0, "c": 1.0}, {"a": 4.0, "b": 4.0, "c": 4.0}]))
    (flip,) = found.flips.named
    assert (flip.id, flip.before, flip.after) == ("t0", 4.5, 1.75)
    assert [(cause.criterion, cause.state, cause.change) for cause in flip.causes] == [
        ("c", "added", -1.5),
        ("a", "removed", -1.0),
        ("b", "kept", -0.25),
    ]
    assert {each.name: each.flips for each in found.criteria} == {"c": 1, "a": 0, "b": 0}
    assert found.by == "contribution"
    assert found.criteria[0].name == "c"
    assert found.criteria[0].total == pytest.approx(-0.75)


def test_what_pushed_the_other_way_is_no_cause_of_a_fall() -> None:
    both = sides(version({"a": 1, "b": 1}), version({"a": 1, "b": 1}, number=2), judges=("strict", "mild"))
    found = drift(both, paired(both, [{"a": 4.0, "b": 3.0}], [{"a": 1.0, "b": 4.0}]))
    assert [(cause.criterion, cause.change) for cause in found.flips.named[0].causes] == [("a", -1.5)]


def test_unscored_texts_are_counted_and_never_numbers() -> None:
    both = sides(version({"a": 1}), version({"a": 1}, number=2))
    ours = [{"a": 4.0}, {"a": None}, {"a": None}, {"a": 2.0}]
    theirs = [{"a": 4.0}, {"a": 3.0}, {"a": None}, {"a": None}]
    found = drift(both, paired(both, ours, theirs))
    assert (found.texts, found.compared, found.unscored_both) == (4, 1, 1)
    assert (found.before.scored, found.before.unscored, found.after.scored, found.after.unscored) == (2, 2, 2, 2)
    assert found.after.why == "t3 has too few ratings"
    assert (found.shift.mean.value, found.before.mean, found.after.mean) == (0, 3.0, 3.5)


def test_without_a_common_text_there_are_no_figures() -> None:
    both = sides(version({"a": 1}), version({"a": 1}, number=2))
    found = drift(both, paired(both, [{"a": None}, {"a": None}], [{"a": 3.0}, {"a": None}]))
    assert (found.compared, found.shift.mean.value, found.flips.share.value) == (0, None, None)
    assert found.ranks[-1].spearman.value is None
    assert (found.movers, found.flips.named, found.intervals) == ((), (), None)
    assert all(each.mean is None for each in found.criteria)


def test_scales_that_differ_are_one() -> None:
    both = sides(version({"a": 1}), version({"a": 1}, number=2, onto=HUNDRED))
    found = drift(both, paired(both, texts(9, NAMES)))
    assert found.shift.absolute == pytest.approx(0, abs=1e-5)
    assert (found.scale.high, found.after.scale.high) == (5, 100)
    assert found.before.mean == pytest.approx(found.after.mean, abs=1e-5)


def test_ranks_are_compared_within_groups_only_where_there_are_rivals() -> None:
    both = sides(BEFORE, AFTER)
    given_texts = texts(9, NAMES)
    alone = drift(both, paired(both, given_texts, rivals=1))
    one = drift(both, paired(both, given_texts, rivals=9))
    assert [[each.level for each in found.ranks] for found in (alone, one)] == [["dataset"], ["dataset"]]


def test_the_text_whose_rank_changes_most_comes_first() -> None:
    both = sides(version({"a": 1}), version({"a": 1}, number=2))
    ours = [{"a": 1.0 + place / 10} for place in range(30)]
    theirs = [{"a": 4.9}, *ours[1:]]
    found = drift(both, paired(both, ours, theirs))
    assert (found.movers[0].id, found.movers[0].rank_before, found.movers[0].rank_after) == ("t0", 30, 1)
    assert len(found.movers) == NAMED


def test_intervals_that_lie_apart_are_counted() -> None:
    both = sides(version({"a": 1}), version({"a": 1}, number=2))
    found = drift(both, paired(both, [{"a": 1.5}, {"a": 3.0}], [{"a": 5.0}, {"a": 3.1}]))
    assert (found.intervals.texts, found.intervals.apart, found.intervals.outside) == (2, 1, 1)
    assert found.intervals.width_before > 0
    without = sides(version({"a": 1}, intervals=False), version({"a": 1}, number=2))
    assert drift(without, paired(without, [{"a": 1.5}])).intervals is None


def test_without_weights_scores_of_criteria_stand_for_contributions() -> None:
    made = version({"a": 1, "b": 1}, combined=False)
    both = sides(made, made, judges=("strict", "mild"))
    found = drift(both, paired(both, [{"a": 2.0, "b": 3.0}] * 2, [{"a": 4.0, "b": 3.0}] * 2))
    assert found.by == "score"
    assert [(each.name, each.mean, each.flips) for each in found.criteria] == [("a", 0.5, 2), ("b", 0.0, 0)]


def test_the_same_texts_give_the_same_figures() -> None:
    both = sides(BEFORE, AFTER)
    pairs = paired(both, texts(12, NAMES))
    assert drift(both, pairs, seed=3) == drift(both, pairs, seed=3)
