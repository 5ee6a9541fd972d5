"""Paired scores of a text."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from drift_samples import HUNDRED, paired, scored, scorers, texts, version
from hypoeval_scripts import example, rating, scripted
from hypothesis import given, strategies as st

from rubriclab.comparison import score_both
from rubriclab.data import Example, Scale
from rubriclab.errors import BudgetReached
from rubriclab.judges.judge import Reply
from rubriclab.prompts import Prompt

NAMES = ("a", "b", "c", "d")


@given(st.integers(0, 10**6), st.sampled_from([None, HUNDRED]))
def test_effects_sum_to_the_difference(seed: int, onto: Scale | None) -> None:
    both = scorers(
        version({"a": 2, "b": 1, "c": -1}), version({"b": 1, "c": 2, "d": 1}, number=2, middle=3.4, onto=onto)
    )
    for pair in paired(both, texts(4, NAMES, seed), texts(4, NAMES, seed + 1)):
        assert pair.changes.sum() == pytest.approx(pair.after - pair.before, abs=1e-5)


def test_the_effect_of_an_added_or_removed_criterion_is_its_contribution() -> None:
    both = scorers(version({"a": 1, "b": 1}), version({"b": 1, "c": 1}, number=2))
    (pair,) = paired(both, [{"a": 4.0, "b": 3.0, "c": 2.5}])
    found = dict(zip((row.name for row in both.rows), pair.changes, strict=True))
    assert found == pytest.approx({"b": 0.0, "c": -0.25, "a": -0.5, "intercept": 0.0})
    assert [row.state for row in both.rows] == ["kept", "added", "removed", "intercept"]


def test_the_intercept_explains_what_no_criterion_does() -> None:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2, middle=3.5))
    (pair,) = paired(both, [{"a": 4.0}])
    assert both.rows[-1].state == "intercept"
    assert pair.changes.tolist() == [0.0, 0.5]


def test_criteria_of_equal_wording_are_paired_whatever_their_ids() -> None:
    both = scorers(version({"h01": 1}, words={"h01": "links"}), version({"h07": 1}, number=2, words={"h07": "links"}))
    (row,) = both.criteria
    assert (row.state, row.name) == ("kept", "h01 -> h07")


def test_different_criteria_with_one_id_are_not_paired() -> None:
    both = scorers(version({"h01": 1}, words={"h01": "links"}), version({"h01": 1}, number=2, words={"h01": "order"}))
    assert {(row.state, row.name) for row in both.criteria} == {("added", "h01"), ("removed", "h01")}


def test_scores_on_another_scale_are_rescaled() -> None:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2, onto=HUNDRED))
    (pair,) = paired(both, [{"a": 4.0}])
    assert both.rescaled
    assert (pair.before, pair.after) == (4.0, 4.0)
    assert pair.changes.tolist() == [0.0, 0.0]


def test_a_score_that_is_missing_stays_missing() -> None:
    both = scorers(version({"a": 1, "b": 1}), version({"a": 1, "b": 1}, number=2))
    (pair,) = paired(both, [{"a": 4.0, "b": 2.0}], [{"a": None, "b": None}])
    assert (pair.after, pair.difference, both.flips(pair)) == (None, None, None)
    assert pair.unscored_after == "t0 has too few ratings"
    assert np.isnan(pair.changes).all()


def test_without_weights_effects_are_changes_of_ratings() -> None:
    both = scorers(version({"a": 1, "b": 1}, combined=False), version({"b": 1, "c": 1}, number=2))
    (pair,) = paired(both, [{"a": 4.0, "b": 2.0, "c": 1.0}], [{"a": 4.0, "b": 4.0, "c": 1.0}])
    assert not both.by_contribution
    assert dict(zip((row.name for row in both.rows), pair.changes, strict=True)) == pytest.approx(
        {"b": 0.5, "c": np.nan, "a": np.nan}, nan_ok=True
    )


def test_a_score_equal_to_the_threshold_is_above_it() -> None:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2), threshold=4.0)
    stays, falls = paired(both, [{"a": 4.0}, {"a": 4.0}], [{"a": 4.5}, {"a": 3.9}])
    assert (both.flips(stays), both.flips(falls)) == (False, True)


def test_the_default_threshold_is_the_middle_of_the_scale() -> None:
    assert scorers(version({"a": 1}, onto=HUNDRED), version({"a": 1})).threshold == 50
    assert scorers(version({"a": 1}), version({"a": 1}, onto=HUNDRED)).threshold == 3


def test_a_row_has_both_reasons_and_the_largest_effect_first() -> None:
    before, after = version({"a": 1, "b": 1}), version({"b": 1, "c": 1}, number=2)
    both = scorers(before, after)
    ours, theirs = scored(before, "t", {"a": 5.0, "b": 4.0}), scored(after, "t", {"b": 1.0, "c": 3.0})
    row = both.to_row(both.pair("g", ours, theirs), ours, theirs)
    assert (row["id"], row["group"], row["before"], row["after"], row["difference"]) == ("t", "g", 4.5, 2.0, -2.5)
    assert row["flips"] is True
    assert [each["criterion"] for each in row["criteria"]] == ["b", "a", "c", "intercept"]
    assert row["criteria"][0] == {
        "criterion": "b",
        "state": "kept",
        "change": -1.5,
        "score_before": 4.0,
        "score_after": 1.0,
        "reason_before": "b of t",
        "reason_after": "b of t",
    }
    assert row["criteria"][1]["reason_after"] is None


async def test_texts_come_in_order_and_few_are_held_at_a_time() -> None:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2))
    read: list[int] = []

    def rows() -> Iterator[Example]:
        for place in range(20):
            read.append(place)
            yield example(place, 3.0, f"g{place // 2}")

    strict, mild = scripted(rate=lambda _: rating(2, "Poor.")), scripted(rate=lambda _: rating(4, "Good."))
    found = []
    async for pair, before, after in score_both(both, rows(), strict, mild, under_way=3):
        found.append((pair.id, pair.group, pair.difference))
        assert len(read) <= len(found) + 3
        assert (before.score, after.score) == (2, 4)
    assert found == [(f"t{place:02d}", f"g{place // 2}", 2.0) for place in range(20)]


async def test_if_one_judge_fails_the_other_is_awaited() -> None:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2))
    answered = []
    good = scripted(rate=lambda _: rating(4, "Good."))

    class Slow:
        name = "slow"
        identity: ClassVar[dict[str, Any]] = {"model": "slow"}

        async def reply(self, prompt: Prompt[Any]) -> Reply:
            await asyncio.sleep(0.02)
            answered.append(prompt)
            return await good.reply(prompt)

    def refuse(_prompt: Prompt[Any]) -> str:
        raise BudgetReached("no more calls")

    with pytest.raises(BudgetReached):
        async for _ in score_both(both, [example(1, 3.0)], scripted(rate=refuse), Slow(), under_way=1):
            pass
    assert answered
