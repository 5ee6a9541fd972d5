"""What is kept of a text that two sides have scored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from drift_samples import HUNDRED, paired, scored, sides, texts, version
from hypoeval_scripts import example, rating, scripted
from hypothesis import given
from hypothesis import strategies as st

from rubriclab.data.example import Example
from rubriclab.drift import score_both
from rubriclab.errors import BudgetReached
from rubriclab.judges.judge import Reply
from rubriclab.prompts import Prompt

NAMES = ("a", "b", "c", "d")


@given(st.integers(0, 10**6), st.sampled_from([None, HUNDRED]))
def test_what_criteria_did_sums_to_the_difference(seed: int, onto: object) -> None:
    both = sides(version({"a": 2, "b": 1, "c": -1}), version({"b": 1, "c": 2, "d": 1}, number=2, middle=3.4, onto=onto))
    for pair in paired(both, texts(4, NAMES, seed), texts(4, NAMES, seed + 1)):
        assert pair.changes.sum() == pytest.approx(pair.after - pair.before, abs=1e-5)


def test_a_criterion_of_one_side_moved_the_score_by_all_that_it_contributes() -> None:
    both = sides(version({"a": 1, "b": 1}), version({"b": 1, "c": 1}, number=2))
    (pair,) = paired(both, [{"a": 4.0, "b": 3.0, "c": 2.5}])
    found = dict(zip((row.name for row in both.rows), pair.changes, strict=True))
    assert found == pytest.approx({"b": 0.0, "c": -0.25, "a": -0.5, "average text": 0.0})
    assert [row.state for row in both.rows] == ["kept", "added", "removed", "average text"]


def test_what_no_criterion_explains_is_the_average_texts() -> None:
    both = sides(version({"a": 1}), version({"a": 1}, number=2, middle=3.5))
    (pair,) = paired(both, [{"a": 4.0}])
    assert both.rows[-1].state == "average text"
    assert pair.changes.tolist() == [0.0, 0.5]


def test_criteria_of_the_same_words_are_one_whatever_their_ids() -> None:
    both = sides(version({"h01": 1}, words={"h01": "links"}), version({"h07": 1}, number=2, words={"h07": "links"}))
    (row,) = both.criteria
    assert (row.state, row.name) == ("kept", "h01 -> h07")


def test_one_id_for_two_criteria_is_two() -> None:
    both = sides(version({"h01": 1}, words={"h01": "links"}), version({"h01": 1}, number=2, words={"h01": "order"}))
    assert {(row.state, row.name) for row in both.criteria} == {("added", "h01"), ("removed", "h01")}


def test_scores_on_another_scale_are_moved_with_their_intervals() -> None:
    both = sides(version({"a": 1}), version({"a": 1}, number=2, onto=HUNDRED))
    (pair,) = paired(both, [{"a": 4.0}])
    assert both.mapped
    assert (pair.before, pair.after) == (4.0, 4.0)
    assert pair.interval_after == pytest.approx(pair.interval_before)
    assert pair.changes.tolist() == [0.0, 0.0]


def test_a_score_that_is_missing_stays_missing() -> None:
    both = sides(version({"a": 1, "b": 1}), version({"a": 1, "b": 1}, number=2))
    (pair,) = paired(both, [{"a": 4.0, "b": 2.0}], [{"a": None, "b": None}])
    assert (pair.after, pair.difference, both.crossed(pair)) == (None, None, None)
    assert pair.unscored_after == "t0 has too few ratings"
    assert np.isnan(pair.changes).all()


def test_without_weights_changes_are_those_of_the_scores_as_shares() -> None:
    both = sides(version({"a": 1, "b": 1}, combined=False), version({"b": 1, "c": 1}, number=2))
    (pair,) = paired(both, [{"a": 4.0, "b": 2.0, "c": 1.0}], [{"a": 4.0, "b": 4.0, "c": 1.0}])
    assert not both.by_contribution
    assert dict(zip((row.name for row in both.rows), pair.changes, strict=True)) == pytest.approx(
        {"b": 0.5, "c": np.nan, "a": np.nan}, nan_ok=True
    )


def test_a_text_exactly_on_the_line_is_above_it() -> None:
    both = sides(version({"a": 1}), version({"a": 1}, number=2), flip_at=4.0)
    stays, falls = paired(both, [{"a": 4.0}, {"a": 4.0}], [{"a": 4.5}, {"a": 3.9}])
    assert (both.crossed(stays), both.crossed(falls)) == (False, True)


def test_the_line_is_the_middle_unless_said_otherwise() -> None:
    assert sides(version({"a": 1}, onto=HUNDRED), version({"a": 1})).flip_at == 50
    assert sides(version({"a": 1}), version({"a": 1}, onto=HUNDRED)).flip_at == 3


def test_a_row_has_both_sides_reasons_what_moved_most_first() -> None:
    before, after = version({"a": 1, "b": 1}), version({"b": 1, "c": 1}, number=2)
    both = sides(before, after)
    ours, theirs = scored(before, "t", {"a": 5.0, "b": 4.0}), scored(after, "t", {"b": 1.0, "c": 3.0})
    row = both.to_row(both.pair("g", ours, theirs), ours, theirs)
    assert (row["id"], row["group"], row["before"], row["after"], row["difference"]) == ("t", "g", 4.5, 2.0, -2.5)
    assert row["flips"] is True
    assert [each["criterion"] for each in row["criteria"]] == ["b", "a", "c", "average text"]
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
    both = sides(version({"a": 1}), version({"a": 1}, number=2))
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


async def test_where_one_side_ends_the_run_the_other_is_waited_for() -> None:
    both = sides(version({"a": 1}), version({"a": 1}, number=2))
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
