"""Streams of scores of texts that are rated together: order, windows, marks, failures, and two orders of the texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypoeval_scripts import assignment
from rival_scripts import about_each, judging, number_in, one_to_five, rivals, shown
from single_call_scripts import CHECKLIST, DIRECT, HYPOTHESES, combined, part_of, sound

from rubriclab.data.rows import RowError
from rubriclab.errors import BudgetReached, SettingsError
from rubriclab.judges.judge import FakeJudge
from rubriclab.learning.estimate import estimate_scoring
from rubriclab.learning.scoring import OrderCheck, RivalCounts, Score, grouped_stream, score_stream, score_text
from rubriclab.models.aggregation import Aggregation, RivalLimits
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Example

REF = "r@1"
RUBRIC = combined("in one call", (HYPOTHESES, DIRECT))
LIMITS = RivalLimits()


def together(rubric: Rubric = RUBRIC, limits: RivalLimits = LIMITS) -> Rubric:
    """Return the rubric as learned with rivals together."""
    assert rubric.aggregation is not None
    return rubric.model_copy(update={"aggregation": rubric.aggregation.model_copy(update={"rivals": limits})})


async def scores_of(
    rows: Sequence[Example | RowError],
    judge: Any,
    *,
    rivals: Any = LIMITS,
    rubric: Rubric = RUBRIC,
    counts: RivalCounts | None = None,
    into: list[Score] | None = None,
) -> list[Score]:
    found = [] if into is None else into
    async for score in score_stream(rubric, rows, judge, REF, 4, rivals=rivals, counts=counts):
        found.append(score)
    return found


def mixed(groups: int, each: int) -> list[Example]:
    """Return texts of several groups, none beside another of its group."""
    columns = [rivals(each, f"g{group}", start=group * each) for group in range(groups)]
    return [text for row in zip(*columns, strict=True) for text in row]


async def test_texts_of_a_group_share_a_call_wherever_they_stand_and_scores_keep_the_rows_order() -> None:
    rows, judge, counts = mixed(5, 4), judging(), RivalCounts()
    found = await scores_of(rows, judge, counts=counts)
    assert [score.id for score in found] == [row.id for row in rows]
    assert [score.score for score in found] == [min(5, one_to_five(row.output) + 0.0) for row in rows]
    assert len(judge.prompts) == 5
    assert (counts.calls, counts.texts, counts.without_rivals, counts.continued) == (5, 20, 0, 0)


async def test_scores_are_marked_and_others_are_not() -> None:
    rows = rivals(3)
    assert {score.to_row()["rivals"] for score in await scores_of(rows, judging())} == {"together"}
    alone = await scores_of(rows, FakeJudge(sound), rivals=None)
    assert all("rivals" not in score.to_row() for score in alone)


async def test_a_rubric_learned_with_rivals_scores_so_unless_told_otherwise() -> None:
    rows, judge = rivals(3), judging()
    found = await scores_of(rows, judge, rivals=None, rubric=together())
    assert (len(judge.prompts), {score.rivals for score in found}) == (1, {"together"})
    single = await score_text(together(), rows[0], judging(), REF)
    assert (single.rivals, single.score) == ("together", 1)
    apart = FakeJudge(sound)
    await scores_of(rows, apart, rivals="apart", rubric=together())
    assert [prompt.name for prompt in apart.prompts] == ["single_call/judge"] * 3


def test_calls_about_one_text_only_are_part_of_no_rubric_that_asks_by_method() -> None:
    assert RUBRIC.aggregation is not None
    with pytest.raises(ValueError, match="rivals"):
        Aggregation.model_validate({**dict(RUBRIC.aggregation), "ask": "by method", "rivals": LIMITS})
    assert "rivals" not in RUBRIC.aggregation.model_dump()


async def test_a_faulty_row_stands_in_its_place() -> None:
    fault = RowError("texts.jsonl", 2, "output", "nothing", "a text")
    first, second = rivals(2)
    found = await scores_of([first, fault, second], judging())
    assert [score.id for score in found] == [first.id, "texts.jsonl:2", second.id]
    assert (found[1].unscored, found[1].rivals) == (str(fault), None)


@pytest.mark.parametrize(
    ("rubric", "reason"),
    [
        (combined("by method", (HYPOTHESES, DIRECT)), "once for each method"),
        (
            combined("in one call", (HYPOTHESES, part_of("checkeval", *CHECKLIST.criteria, answers="yes or no"))),
            "checkeval",
        ),
        (
            Rubric(task="t", aspect=assignment().aspect, scale=assignment().scale, parts=(HYPOTHESES,)),
            "a single method",
        ),
    ],
)
async def test_a_rubric_that_does_not_ask_in_one_call_is_refused_with_the_reason(rubric: Rubric, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        await scores_of(rivals(2), judging(), rubric=rubric)


async def test_a_direct_score_without_labels_can_be_asked_together() -> None:
    rubric = Rubric(task="t", aspect=assignment().aspect, scale=assignment().scale, parts=(DIRECT,))
    found = await scores_of(rivals(3), judging(), rubric=rubric)
    assert [score.score for score in found] == [1, 2, 3]


async def test_a_failure_that_concerns_every_text_ends_the_run_after_the_calls_under_way() -> None:
    ended = list[int]()

    def script(prompt: Any) -> Any:
        if prompt.fields["source"] == "The source of g2.":
            raise BudgetReached("Enough.")
        ended.append(number_in(shown(prompt)[0]))
        return about_each(prompt, one_to_five)

    rows = [text for group in range(8) for text in rivals(2, f"g{group}", start=2 * group)]
    found = list[Score]()
    with pytest.raises(BudgetReached):
        await scores_of(rows, FakeJudge(script), into=found)
    assert [score.id for score in found] == ["t00", "t01", "t02", "t03"]
    assert len(ended) <= 4


async def test_an_estimate_is_one_call_for_each_group_and_the_repeated_ones() -> None:
    rows = mixed(5, 4)
    most = estimate_scoring(RUBRIC, rows, LIMITS)
    repeated = estimate_scoring(RUBRIC, rows, LIMITS, repeated=2)
    assert (most.calls, repeated.calls, estimate_scoring(RUBRIC, rows).calls) == (5, 7, 20)
    judge = judging()
    await scores_of(rows, judge)
    assert most.completion_tokens == sum(prompt.max_tokens for prompt in judge.prompts)


# Groups that are not adjacent


async def processed(
    rows: Sequence[str], window: int, under_way: int = 2
) -> tuple[list[str], list[list[str]], int, int]:
    """Return the results, what was processed together, how many groups were begun again, and the most rows held."""
    groups, again, read, most = list[list[str]](), 0, 0, 0

    def reading() -> Iterator[str]:
        nonlocal read
        for row in rows:
            read += 1
            yield row

    def count() -> None:
        nonlocal again
        again += 1

    async def work(group: list[str]) -> list[str]:
        groups.append(group)
        return [row.upper() for row in group]

    results = list[str]()
    stream = grouped_stream(reading(), lambda row: row[0], work, under_way, window=window, on_continued=count)
    async for result in stream:
        most = max(most, read - len(results))
        results.append(result)
    return results, groups, again, most


@pytest.mark.parametrize("under_way", [1, 3, 50])
async def test_rows_further_apart_than_the_window_are_processed_apart_and_counted(under_way: int) -> None:
    rows = ["a1", "b1", "a2", "c1", "c2", "a3", "b2", "a4"]
    results, groups, again, most = await processed(rows, 4, under_way)
    assert results == [row.upper() for row in rows]
    assert sorted(groups) == [["a1", "a2"], ["a3", "a4"], ["b1"], ["b2"], ["c1", "c2"]]
    assert again == 2
    assert most <= 8


async def test_what_is_processed_together_does_not_depend_on_how_many_are_under_way() -> None:
    rows = [f"{chr(97 + number * 11 % 17)}{number}" for number in range(300)]
    found = [sorted((await processed(rows, 30, under_way))[1]) for under_way in (1, 7)]
    assert found[0] == found[1]


# Two orders


async def test_a_judge_that_looks_at_texts_alone_agrees_with_itself_in_the_reverse_order() -> None:
    counts = RivalCounts(orders=OrderCheck(2))
    judge = judging()
    await scores_of(mixed(4, 5), judge, counts=counts)
    agreement = counts.orders.agreement()
    assert agreement is not None
    assert (agreement.calls, agreement.texts, len(judge.prompts)) == (2, 10, 6)
    assert (agreement.spearman, agreement.difference, agreement.first_over_last) == (1, 0, 0)
    orders = [tuple(shown(prompt)) for prompt in judge.prompts]
    assert sum(order[::-1] in orders for order in orders) == 4


async def test_a_judge_that_prefers_the_first_text_is_found_out() -> None:
    def script(prompt: Any) -> Any:
        entries = about_each(prompt, lambda _: 3)
        for number, entry in enumerate(entries.values(), 1):
            for name in entry:
                entry[name] = {"reason": "Shown early.", "score": 6 - number}
        return entries

    counts = RivalCounts(orders=OrderCheck(3))
    await scores_of(mixed(3, 5), FakeJudge(script), counts=counts)
    agreement = counts.orders.agreement()
    assert agreement is not None
    assert agreement.spearman == -1
    assert agreement.first_over_last == pytest.approx(4)
    assert "+4.00 points" in agreement.describe()


def test_texts_without_a_score_in_one_order_do_not_count() -> None:
    check = OrderCheck(1)
    assert check.agreement() is None
    assert check.begin(1) is False
    assert (check.begin(3), check.begin(3)) == (True, False)
    check.add([1, None, 3], [3, 2, 2])
    agreement = check.agreement()
    assert agreement is not None
    assert (agreement.texts, agreement.difference) == (2, 0.5)
