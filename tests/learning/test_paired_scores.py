"""Scores of the same texts by two versions or judges: pairs, differences, flips, rankings and limits."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from drift_samples import HUNDRED, Values, compared, paired, scored, texts, version
from hypothesis import given, settings, strategies as st
from scripted_judge import example, rating

from rubriclab.errors import BudgetReached
from rubriclab.judges.judge import FakeJudge
from rubriclab.judges.replies import Reply
from rubriclab.learning.paired_scores import Comparison, DriftLimits, pair_rubrics, score_by_several
from rubriclab.prompts.prompt import Prompt

NAMES = ("a", "b", "c")
ONE, OTHER = version({"a": 1}), version({"a": 1}, number=2)


def moved(*values: tuple[float | None, float | None], **limits: float) -> Comparison:
    """Return the comparison of texts with these scores, each in a group of its own."""
    first, second = [{"a": a} for a, _ in values], [{"a": b} for _, b in values]
    return compared(ONE, OTHER, first, second, rivals=1, limits=DriftLimits(**limits))


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.booleans())
def test_the_same_version_and_judge_do_not_drift(seed: int, combined: bool) -> None:
    made = version({"a": 2, "b": 1}, combined=combined)
    found = compared(made, made, texts(12, NAMES, seed))
    most = round(4 * (1 - 0.05 ** (1 / found.groups)), 6)  # by the rule of three
    assert (found.difference.value, found.difference.low, found.difference.high) == (0, -most, most)
    assert (found.mean_absolute, found.flips.texts, found.flips.share.value) == (0, 0, 0)
    assert found.ranks[-1].spearman.value == pytest.approx(1)
    assert all(each.difference.value == 0 for each in found.criteria)
    assert found.before.mean == found.after.mean


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_swapped_versions_drift_in_the_opposite_direction(seed: int) -> None:
    one, other = version({"a": 2, "b": 1}), version({"b": 1, "c": 2}, number=2, middle=2.5)
    forward, back = (compared(*both, texts(15, NAMES, seed)) for both in ((one, other), (other, one)))
    assert forward.difference.value == pytest.approx(-(back.difference.value or 0))
    assert forward.difference.low == pytest.approx(-(back.difference.high or 0))
    assert forward.flips
    assert back.flips
    assert (forward.flips.up, forward.flips.down) == (back.flips.down, back.flips.up)
    assert forward.ranks[-1].kendall.value == pytest.approx(back.ranks[-1].kendall.value)
    second = {each.id: each for each in back.criteria}
    swapped = {"added": "removed", "removed": "added"}
    for each in forward.criteria:
        assert each.contribution == pytest.approx(-(second[each.id].contribution or 0), abs=1e-5)
        assert second[each.id].state == swapped.get(each.state, each.state)


@pytest.mark.parametrize(("after", "before", "enough"), [(0, 0, True), (2, 0, True), (3, 0, False), (2, 2, False)])
def test_too_few_are_scored_if_more_than_a_tenth_of_the_same_texts_lack_a_score(
    after: int, before: int, enough: bool
) -> None:
    missing = [*[(2.0, None)] * after, *[(None, 2.0)] * before]
    found = moved(*missing, *[(2.0, 3.0)] * (20 - len(missing)))
    assert (found.pairing, found.enough_scored) == ("text", enough)


def test_the_figures_are_those_of_the_scores() -> None:
    values = [(4.0, 2.0), (2.0, 2.5), (3.5, 3.5), (2.5, 4.5), (1.0, 1.2), (4.5, 4.0)]
    found = compared(ONE, version({"b": 1}, number=2), [{"a": a, "b": b} for a, b in values])
    before, after = np.array(values).T
    assert found.difference.value == pytest.approx((after - before).mean(), abs=1e-6)
    assert found.mean_absolute == pytest.approx(np.abs(after - before).mean(), abs=1e-6)
    assert (found.flips.texts, found.flips.up, found.flips.down) == (2, 1, 1)
    assert [flip.id for flip in found.flips.largest] == ["t0", "t3"]
    assert [ranks.level for ranks in found.ranks] == ["group", "dataset"]
    assert (found.rubric, found.judge, found.before.name) == ("news@1 to news@2", "a", "news@1 with a")


def test_unscored_texts_are_counted_and_left_out() -> None:
    first: list[Values] = [{"a": 4.0}, {"a": None}, {"a": None}, {"a": 2.0}]
    second: list[Values] = [{"a": 4.0}, {"a": 3.0}, {"a": None}, {"a": None}]
    found = compared(ONE, OTHER, first, second)
    assert (found.pairs, found.before.texts, found.before.scored, found.after.scored) == (1, 4, 2, 2)
    assert found.after.unscored == {"t2 has too few ratings": 1, "t3 has too few ratings": 1}
    assert (found.difference.value, found.before.mean.value, found.after.mean.value) == (0, 3.0, 3.5)
    assert (found.unpaired_before, found.unpaired_after, found.other_sources, found.same_texts) == (0, 0, 0, 0)


def test_without_a_common_text_there_are_no_figures_and_no_limit_is_met() -> None:
    found = compared(ONE, OTHER, [{"a": None}] * 2, [{"a": 3.0}, {"a": None}], limits=DriftLimits(1.0, 1.0, -1.0))
    assert (found.pairs, found.difference.value, found.flips.share.value, found.flips.largest) == (0, None, None, ())
    assert found.ranks[-1].spearman.value is None
    assert [each.outcome for each in found.checks] == ["inconclusive"] * 3
    assert found.outcome == "inconclusive"


def test_scores_on_another_scale_are_mapped_to_the_scale_before() -> None:
    found = compared(ONE, version({"a": 1}, number=2, onto=HUNDRED), texts(9, NAMES))
    assert found.mean_absolute == pytest.approx(0, abs=1e-5)
    assert found.scale == (1, 5)
    assert found.before.mean.value == pytest.approx(found.after.mean.value, abs=1e-5)
    assert found.criteria[0].contribution == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize(
    ("limits", "outcome"),
    [
        ({}, "within"),
        ({"max_shift": 0.25}, "within"),
        ({"max_shift": 0.2}, "beyond"),
        ({"max_flips": 0.25}, "within"),
        ({"max_flips": 0.2}, "beyond"),
        ({"min_rank": 0.9}, "within"),
        ({"min_rank": 0.95}, "beyond"),
        ({"max_shift": 0.2, "max_flips": 0.5, "min_rank": 0.5}, "beyond"),
    ],
)
def test_a_limit_is_passed_only_by_more_than_it_allows(limits: dict[str, float], outcome: str) -> None:
    assert moved((2.0, 2.5), (2.5, 3.5), (4.0, 3.5), (4.5, 4.5), **limits).outcome == outcome


def test_limits_bound_falls_and_constant_scores_have_no_ranking_unless_none_moved() -> None:
    assert moved((4.0, 3.5), (3.5, 3.0), max_shift=0.4).outcome == "beyond"
    assert moved((2.0, 3.0), (2.0, 2.0), min_rank=0.5).outcome == "inconclusive"
    assert moved((2.0, 3.0), (2.0, 2.0), max_shift=0.1, min_rank=0.5).outcome == "beyond"
    assert moved((2.0, 2.0), (2.0, 2.0), max_shift=0, max_flips=0, min_rank=1).outcome == "within"


def test_an_added_or_removed_criterion_changes_the_score_by_its_contribution() -> None:
    both, (pair,) = paired(version({"a": 1, "b": 1}), version({"b": 1, "c": 1}, number=2), [{"a": 4, "b": 3, "c": 2.5}])
    found = dict(zip((each.name for each in both.criteria), pair.changes[:, 1], strict=True))
    assert found == pytest.approx({"b": 0.0, "c": -0.25, "a": -0.5})
    assert [each.state for each in both.criteria] == ["kept", "added", "removed"]


def test_criteria_are_paired_by_wording_whatever_their_ids() -> None:
    linked, renamed = version({"h01": 1}, words={"h01": "links"}), version({"h07": 1}, words={"h07": "links"})
    (pair,) = pair_rubrics(linked.rubric, renamed.rubric).criteria
    assert (pair.state, pair.name) == ("kept", "h01 -> h07")
    (part,) = linked.rubric.parts
    reworded = part.criteria[0].model_copy(update={"statement": f"{part.criteria[0].statement} Or not."})
    rubric = linked.rubric.model_copy(update={"parts": (part.model_copy(update={"criteria": (reworded,)}),)})
    assert [each.state for each in pair_rubrics(linked.rubric, rubric).criteria] == ["changed"]
    other = version({"h01": 1}, words={"h01": "order"})
    found = {(each.state, each.name) for each in pair_rubrics(linked.rubric, other.rubric).criteria}
    assert found == {("added", "h01"), ("removed", "h01")}


def test_a_row_has_both_scores_and_both_reasons() -> None:
    before, after = version({"a": 1, "b": 1}), version({"b": 1, "c": 1}, number=2)
    ours, theirs = scored(before, "t", {"a": 5.0, "b": 4.0}), scored(after, "t", {"b": 1.0, "c": 3.0})
    both = pair_rubrics(before.rubric, after.rubric)
    pair = both.pair_scores("g", ours, theirs)
    row = both.to_row(pair, ours, theirs, 3.0)
    assert (row["before"], row["after"], row["difference"], row["flips"]) == (4.5, 2.0, -2.5, True)
    flips = [both.to_row(pair, ours, theirs, threshold)["flips"] for threshold in (2.0, 4.5, 4.6)]
    assert flips == [False, True, False]
    assert list(row["criteria"][0].values()) == ["b", "kept", -0.75, -1.5, 4.0, 1.0, "b of t", "b of t"]
    assert row["criteria"][2]["reason_after"] is None


async def test_if_one_judge_fails_the_other_is_awaited() -> None:
    class Slow(FakeJudge):
        async def reply(self, prompt: Prompt[Any]) -> Reply:
            await asyncio.sleep(0.02)
            return await super().reply(prompt)

    def refuse(_prompt: Prompt[Any]) -> str:
        raise BudgetReached("no more calls")

    slow = Slow(lambda _: rating(4, "Good."))
    with pytest.raises(BudgetReached):
        async for _ in score_by_several([(ONE, FakeJudge(refuse)), (OTHER, slow)], [example(1, 3.0)], under_way=1):
            pass
    assert slow.prompts
