"""What repeats in a bank: one call groups it, the better one stays, and opposites are never merged."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from checkeval_scripts import assignment, question
from hypoeval_scripts import criterion
from planted import Bank, banks, replies

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.questions import (
    Noun,
    blocks,
    find_redundant,
    wording as plain,
)
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import Assignment

BANKS = list(zip(banks(), replies(), strict=True))
NAMES = [bank.assignment.aspect.name for bank, _ in BANKS]
# That these are opposites cannot be told without knowing what the words mean.
KNOWLEDGE = {
    "Does the response stay with the present subject?",
    "Does the response move away from the present subject?",
}


def group(*members: str, relation: str = "same", best: str | None = None) -> dict[str, Any]:
    return {"reason": "Compared.", "relation": relation, "members": list(members), "best": best or members[0]}


def grouping(*groups: dict[str, Any]) -> FakeJudge:
    """Return a judge that names those of `groups` whose members are all shown."""

    def answer(prompt):
        shown = {entry["id"] for entry in prompt.fields["entries"]}
        return {"groups": [each for each in groups if shown >= set(each["members"])]}

    return FakeJudge(answer)


def of_names(names: str, **fields: Any) -> list[Criterion]:
    return [question(name, seed="x", **fields) for name in names]


async def repeating(
    tiers: Sequence[Sequence[Criterion]], judge: Any, noun: Noun = "question", about: Assignment | None = None
) -> dict[str, str]:
    return (await find_redundant(tiers, noun, about or assignment(), judge))[0]


async def dropped(bank: Bank, judge: Any) -> dict[str, str]:
    return await repeating([list(bank.criteria)], judge, bank.noun, bank.assignment)


def found(bank: Bank, out: dict[str, str], *relations: str) -> float:
    """Return the share of the planted pairs of which one, and one only, is dropped."""
    pairs = bank.planted(*relations)
    return sum(len(pair & out.keys()) == 1 for pair in pairs) / len(pairs)


# Planted repetitions


@pytest.mark.parametrize(("bank", "reply"), BANKS, ids=NAMES)
async def test_what_a_language_model_answered_finds_nine_in_ten_of_what_is_planted_in_one_call(bank, reply):
    judge = FakeJudge(lambda _: reply)
    out = await dropped(bank, judge)
    assert len(judge.prompts) == 1
    assert found(bank, out, "same", "nested") >= 0.9
    assert all(len(pair & out.keys()) == 0 for pair in bank.planted("opposite", "related"))


@pytest.mark.parametrize("bank", [bank for bank, _ in BANKS], ids=NAMES)
async def test_the_offline_judge_drops_nothing_that_is_opposite_or_merely_related(bank):
    out = await dropped(bank, EmbeddedJudge())
    assert all(len(pair & out.keys()) == 0 for pair in bank.planted("opposite", "related"))


# Equal wording


@pytest.mark.parametrize(
    "same",
    [
        "IS  the Order\nclear",
        "“Is the order clear?”",
        "'Is the order clear'",
        "Is the order clear.",
        "is the order clear ?",
    ],
)
async def test_the_same_words_need_no_call(same: str):
    judge = grouping()
    bank = [question("a", text="Is the order clear?"), question("b", text=same)]
    assert await repeating([bank], judge) == {"b": "worded like a"}
    assert judge.prompts == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Does the cause come before the effect?", "Does the effect come before the cause?"),
        ("Is it > 50 %?", "Is it < 50 %?"),
        ("Does it say -5?", "Does it say 5?"),
        ("Does it end with '!'?", "Does it end with '?'?"),
        ("Is it short and clear?", "Is it clear and short?"),
        ("Are all numbers in the summary correct?", "Are all names in the summary correct?"),
    ],
)
def test_another_order_or_sign_is_another_wording(one: str, other: str):
    assert plain(one) != plain(other)


async def test_hypotheses_that_share_their_statement_but_not_their_levels_are_asked_about():
    judge = grouping()
    twin = criterion("a").model_copy(update={"id": "b", "levels": criterion("b").levels})
    assert await repeating([[criterion("a"), twin]], judge, "hypothesis") == {}
    assert len(judge.prompts) == 1
    alike = criterion("a").model_copy(update={"id": "c"})
    assert list(await repeating([[criterion("a"), alike]], judge, "hypothesis")) == ["c"]


# Which one stays


async def test_the_better_tier_stays_and_within_a_tier_the_better_wording():
    judge = grouping(group("a", "c", best="c"), group("b", "d", best="d"))
    one = await repeating([of_names("a"), of_names("bcd")], judge)
    assert list(one) == ["c", "b"]
    assert one["b"] == "says what d says: Compared."


async def test_of_a_nested_group_parts_that_have_nothing_in_common_stay_if_the_whole_goes():
    judge = grouping(group("w", "p", "q", relation="nested"))
    assert list(await repeating([of_names("w"), of_names("pq")], judge)) == ["p", "q"]
    found = await repeating([of_names("p"), of_names("wq")], judge)
    assert found == {"w": "is nested with p: Compared."}


async def test_finer_points_are_nested_in_their_seed_by_design_and_stay():
    judge = grouping(group("s", "e", "f", relation="nested"), group("e", "f"))
    seed, finer = question("s"), [question(name, seed="s") for name in "ef"]
    assert list(await repeating([[seed], finer], judge)) == ["f"]
    same = grouping(group("s", "e"))
    assert list(await repeating([[seed], finer], same)) == ["e"]


# Large banks


@pytest.mark.parametrize(
    ("count", "most"), [(0, 4), (1, 4), (2, 4), (4, 4), (5, 4), (13, 4), (130, 60), (5, 2), (7, 5)]
)
def test_every_two_stand_together_in_a_prompt_of_bounded_size(count: int, most: int):
    bank = [criterion(f"h{place}") for place in range(count)]
    shown = [{each.id for each in block} for block in blocks(bank, most)]
    assert all(len(block) <= most for block in shown)
    assert all(any({a.id, b.id} <= block for block in shown) for a, b in itertools.combinations(bank, 2))


async def test_a_large_bank_takes_a_few_calls_and_pairs_over_their_bounds_are_found():
    judge = grouping(group("q0", "q129"))
    bank = [question(f"q{place}", seed="x") for place in range(130)]
    assert list(await repeating([bank], judge)) == ["q129"]
    assert len(judge.prompts) == 3


async def test_every_pair_by_itself_where_that_is_asked_for():
    judge = grouping()
    await find_redundant(
        [[criterion(f"h{place:02d}") for place in range(20)]], "hypothesis", assignment(), judge, most_shown=2
    )
    assert len(judge.prompts) == 190


# Replies that cannot be used


def busy(_: Any) -> Any:
    raise JudgeUnavailable("busy")


@pytest.mark.parametrize("script", [busy, lambda _: "none", lambda _: {"groups": [group("a", "z")]}])
async def test_without_a_usable_reply_everything_stays(script):
    assert await repeating([of_names("abc")], FakeJudge(script)) == {}


# Groupings of nearly everything


@pytest.mark.parametrize(("count", "members"), [(20, "abcdefghijklmnopqrst"), (20, "abcdefgh"), (4, "abcd")])
async def test_a_grouping_that_merges_more_than_a_third_is_asked_for_once_more_and_then_left_out(
    count: int, members: str
) -> None:
    judge = grouping(group(*members))
    bank = of_names("abcdefghijklmnopqrst"[:count])
    out, (note,) = await find_redundant([bank], "question", assignment(), judge)
    assert (out, len(judge.prompts)) == ({}, 2)
    assert f"at most a third of the {count} entries may repeat others" in judge.prompts[1].repair.complaint
    assert note.startswith("questions that repeat others in other words are kept: ")


async def test_a_grouping_that_merges_a_third_or_is_mended_when_asked_again_counts() -> None:
    assert len(await repeating([of_names("abcdefghijkl")], grouping(group(*"abcde")))) == 4
    replies = iter([{"groups": [group(*"abcdefghijkl")]}, {"groups": [group(*"ab")]}])
    out, notes = await find_redundant(
        [of_names("abcdefghijkl")], "question", assignment(), FakeJudge(lambda _: next(replies))
    )
    assert (list(out), notes) == (["b"], ())
