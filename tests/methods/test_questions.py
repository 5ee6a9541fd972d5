"""What labels say of the questions: which ones leave, and which stay."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings as trying, strategies as st
from planted import Bank, banks, replies
from scipy.stats import pearsonr
from scripted_judge import assignment, criterion, question

from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.questions import AnswerMatrix, Noun, find_redundant, make_blocks, questions_to_drop, read_answer
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import Assignment

N = 30
LABELS = np.arange(N) / N
GOOD = (LABELS > 0.5).astype(float)


def column(*zeros: int, n: int = N) -> np.ndarray:
    found = np.ones(n)
    found[list(zeros)] = 0.0
    return found


def sheet(*columns: np.ndarray, labels: np.ndarray = LABELS, not_applicable: Any = ()) -> AnswerMatrix:
    good = np.column_stack(columns)
    applies = np.ones(good.shape, dtype=bool)
    for place in not_applicable:
        applies[:, place] = ~np.isnan(good[:, place])
    return AnswerMatrix(good, applies, labels)


def many(count: int, **fields: Any) -> list[Criterion]:
    return [question(f"q{place}", seed="a1", **fields) for place in range(count)]


def chosen(given_: AnswerMatrix, questions: list[Criterion] | None = None, ends: float = 0) -> dict[str, str]:
    """Return what is dropped; nothing is tried on the worst and the best texts unless a test asks for it."""
    return dict(questions_to_drop(questions or many(given_.good.shape[1]), given_, end_share=ends)[0])


RNG = np.random.default_rng(3)
UNRELATED = [RNG.permutation(GOOD) for _ in range(4)]


def test_a_question_that_the_worst_texts_earn_as_often_as_the_best_leaves_with_the_figures():
    """Of 30 texts with different labels 0.4 are 12 at each end: texts 0 to 11 and 18 to 29."""
    alike, earned = column(*range(6), *range(24, 30)), column(*range(7), *range(24, 30))
    assert chosen(sheet(GOOD, alike, earned), ends=0.4) == {
        "q1": "the worst texts get its good answer as often as the best: "
        "6 of the 12 rated lowest, 6 of the 12 rated highest"
    }


def test_what_a_person_asks_stays_and_a_seed_that_was_generated_does_not():
    by_hand, generated = question("s1"), question("s2", author="prior knowledge")
    alike = column(*range(6), *range(24, 30))
    found = chosen(sheet(GOOD, alike, alike[::-1]), [*many(1), by_hand, generated], ends=0.4)
    assert list(found) == ["s2"]
    assert found["s2"].startswith("the worst texts get its good answer")


def test_a_question_whose_answer_never_varies_leaves():
    found = chosen(sheet(GOOD, np.ones(N), np.zeros(N)))
    assert found == dict.fromkeys(("q1", "q2"), "the same answer for all 30 training texts that it was asked of")


def test_a_question_that_can_be_asked_of_no_text_leaves_but_one_that_failed_throughout_does_not():
    nothing = np.full(N, np.nan)
    found = chosen(sheet(GOOD, nothing, nothing, not_applicable=[1]))
    assert found == {"q1": "it cannot be asked of any of the 30 training texts"}


def test_a_question_against_the_labels_leaves_with_the_figures():
    found = chosen(sheet(GOOD, 1 - GOOD, UNRELATED[0]))
    r, p = pearsonr(1 - GOOD, LABELS, alternative="less")
    reason = f"correlation {r:.2f} over 30 training texts, so low by chance in {p:.1%} of cases"
    assert found == {"q1": f"runs against the labels: {reason}"}


@given(st.integers(0, 10_000))
def test_pairs_are_correlated_as_by_numpy(draw: int):
    rng = np.random.default_rng(draw)
    x, y = rng.integers(0, 2, 20).astype(float), rng.integers(0, 2, 20).astype(float)
    x[rng.random(20) < 0.2] = np.nan
    both = ~np.isnan(x)
    with patch.multiple("rubriclab.methods.questions", REPEATED_CORRELATION=0.3, MIN_ANSWERS=3):
        found = chosen(sheet(x, y, labels=np.zeros(20)))
    if len(set(x[both])) > 1 and len(set(y)) > 1:
        r = np.corrcoef(x[both], y[both])[0, 1] if len(set(y[both])) > 1 else 0.0
        rarer = min(*(min(v[both].sum(), (1 - v[both]).sum()) for v in (x, y)))
        assert ("q1" in found) == (r >= 0.3 and rarer >= 3)


def test_where_every_question_would_leave_the_best_of_each_sub_dimension_stays():
    questions = [question("a", "Side 1"), question("b", "Side 1"), question("c", "Side 2")]
    strong, weak = 1 - GOOD, 1 - column(*range(8))
    found, notes = questions_to_drop(questions, sheet(strong, 1 - weak[::-1], np.ones(N)))
    assert list(found) == ["a"]
    assert notes == ("every question would be dropped by the labels: the best of each sub-dimension stay (2)",)


@trying(max_examples=50)
@given(st.integers(0, 10_000))
def test_at_least_one_question_stays(draw: int):
    rng = np.random.default_rng(draw)
    n, q = int(rng.integers(1, 25)), int(rng.integers(1, 6))
    good = (rng.random((n, q)) < rng.random(q)).astype(float)
    good[rng.random((n, q)) < rng.choice([0, 0.3])] = np.nan
    questions = [question(f"q{at}", f"Side {at % 2}", seed="a1") for at in range(q)]
    given_ = AnswerMatrix(good, rng.random((n, q)) < 0.9, rng.integers(1, 4, n).astype(float))
    with patch.multiple("rubriclab.methods.questions", MIN_ANSWERS=3, SIGNIFICANCE_AGAINST_LABELS=0.5):
        found, _ = questions_to_drop(questions, given_)
    assert set(found) < {each.id for each in questions}


@trying(max_examples=25)
@given(st.permutations(range(N)))
def test_the_order_of_texts_does_not_matter(order: list[int]):
    given_ = sheet(GOOD, 1 - GOOD, GOOD, *UNRELATED, np.ones(N))
    assert chosen(AnswerMatrix(given_.good[order], given_.applies[order], given_.labels[order])) == chosen(given_)


READ = {
    "yes": "yes",
    "no": "no",
    "`n/a`": "n/a",
    "NA": "n/a",
    "N.A.": "n/a",
    "yes - because the names agree": "yes",
    "Yes\n\nThe order is kept.": "yes",
    "n/a, since there is only one sentence": "n/a",
    "No, I know it is notable": "no",
    "No. No other person occurs": "no",
    "ｙｅｓ": "yes",
    "Yes\u200b": "yes",
}

UNREAD = [
    "",
    "I know it is notable",
    "yes - no",
    "yes, or maybe not",
    "no, but partly",
    "it depends",
    "true",
    "Yes. No, it does not.",
    "№",
    "yes\u200bno",
    "No. 5 is wrong",
    "no errors found",
    "the answer is yes",
    *("maybe", "yes, partly", "unsure", "I don't know", "no, n/a", "y", "4", "ja", "oui"),
]


@pytest.mark.parametrize(("said", "meant"), READ.items())
def test_an_answer_is_read(said: str, meant: str):
    assert read_answer(said) == meant


@pytest.mark.parametrize("said", UNREAD)
def test_what_could_mean_something_else_is_no_answer(said: str):
    assert read_answer(said) is None


BANKS = list(zip(banks(), replies(), strict=True))
NAMES = [bank.assignment.aspect.name for bank, _ in BANKS]


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


@pytest.mark.parametrize(("bank", "reply"), BANKS, ids=NAMES)
async def test_what_a_language_model_answered_finds_nine_in_ten_of_what_is_planted_in_one_call(bank, reply):
    judge = FakeJudge(lambda _: reply)
    out = await dropped(bank, judge)
    assert len(judge.prompts) == 1
    assert found(bank, out, "same", "nested") >= 0.9
    assert all(len(pair & out.keys()) == 0 for pair in bank.planted("opposite", "related"))


@pytest.mark.parametrize("same", ["“Is the order clear?”", "'Is the order clear'"])
async def test_the_same_words_need_no_call(same: str):
    judge = grouping()
    bank = [question("a", text="Is the order clear?"), question("b", text=same)]
    assert await repeating([bank], judge) == {"b": "worded like a"}
    assert judge.prompts == []


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


@pytest.mark.parametrize(
    ("count", "most"), [(0, 4), (1, 4), (2, 4), (4, 4), (5, 4), (13, 4), (130, 60), (5, 2), (7, 5)]
)
def test_every_two_stand_together_in_a_prompt_of_bounded_size(count: int, most: int):
    bank = [criterion(f"h{place}") for place in range(count)]
    shown = [{each.id for each in block} for block in make_blocks(bank, most)]
    assert all(len(block) <= most for block in shown)
    assert all(any({a.id, b.id} <= block for block in shown) for a, b in itertools.combinations(bank, 2))


# Replies that cannot be used


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
