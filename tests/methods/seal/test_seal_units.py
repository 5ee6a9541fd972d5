"""Texts taken apart: into sentences, pairs, facts, or not at all."""

from typing import Any

import pytest
from hypothesis import given, settings as tries, strategies as st
from seal_scripts import assignment, scripted, sentences

from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.prompting import chunks
from rubriclab.methods.seal.score import (
    Decomposition,
    Fact,
    Facts,
    SealScoringSettings,
    Unit,
    decompose,
    decompose_by_rule,
    extract_facts,
    fact_units,
)
from rubriclab.models.text import split_sentences

WORDS = assignment().words


def units(count: int, kind: Any, **settings: Any) -> Decomposition:
    return decompose_by_rule(sentences(count), kind, SealScoringSettings(**settings))


@pytest.mark.parametrize("kind", ["sentence", "sentence pair"])
@pytest.mark.parametrize(
    ("count", "least", "whole"), [(2, 3, True), (3, 3, False), (4, 5, True), (5, 5, False), (1, 2, True)]
)
def test_a_text_of_fewer_sentences_than_the_threshold_is_judged_whole(kind: Any, count: int, least: int, whole: bool):
    found = units(count, kind, whole_below_sentences=least)
    assert (found.kind == "whole") is whole
    if whole:
        assert found.units == (Unit("u1", sentences(count)),)


def test_a_pair_stands_in_both_of_its_sentences():
    first, second = units(3, "sentence pair").units
    assert (first.sentences, second.sentences) == ((0, 1), (1, 2))
    assert (first.second, first.words) == (second.text, sentences(2))


@pytest.mark.parametrize("kind", ["response", "triple"])
def test_a_response_is_one_unit_of_its_kind_however_short_or_long(kind: Any):
    for count in (1, 30):
        assert units(count, kind) == Decomposition(kind, (Unit("u1", sentences(count)),))


# Facts


async def test_facts_are_asked_for_in_portions_that_know_what_stands_before_them():
    judge = scripted(per_sentence=1)
    found = await extract_facts(sentences(45), "source", WORDS, judge)
    ids = [[each["id"] for each in prompt.fields["sentences"]] for prompt in judge.prompts]
    assert [len(each) for each in ids] == [15, 15, 15]
    assert [number for each in ids for number in each] == list(range(1, 46))
    assert judge.prompts[0].fields["before"] == ""
    assert judge.prompts[1].fields["before"] == " ".join(split_sentences(sentences(15))[12:])
    assert [fact.sentence for fact in found.found] == list(range(45))
    assert found.lost == {}


def said(*entries: tuple[Any, Any]) -> dict[str, Any]:
    """Return the reply, as a list if a sentence has several entries."""
    if len({sentence for sentence, _ in entries}) < len(entries):
        return {"facts": [{"sentence": sentence, "facts": facts} for sentence, facts in entries]}
    return {f"sentence {sentence}": facts for sentence, facts in entries}


A, B = (1, ["A."]), (2, ["B."])
REPLIES = {
    "as asked": (said(A, B), [(0, "A."), (1, "B.")]),
    "out of order": (said(B, A), [(0, "A."), (1, "B.")]),
    "the same fact twice": (said((1, ["A.", "A."]), (2, ["A."])), [(0, "A."), (1, "A.")]),
    "a sentence twice, alike": (said(A, A, B), [(0, "A."), (1, "B.")]),
    "a sentence twice, differently": (said(A, (1, []), B), [(1, "B.")]),
    "a sentence left out": (said(A), [(0, "A.")]),
    "a sentence that was not asked about": (said(A, (7, ["Z."])), [(0, "A.")]),
    "a sentence too many": (said(A, B, (3, ["Z."])), [(0, "A."), (1, "B.")]),
    "numbers from 0": (said((0, ["A."]), (1, ["B."])), []),
    "numbers one too high": (said((3, ["B."]), (2, ["A."])), []),
    "more than are wanted": (said((1, [f"{n}." for n in range(9)]), B), [*((0, f"{n}.") for n in range(6)), (1, "B.")]),
    "one without words": (said(A, (2, [" "])), [(0, "A.")]),
    "a fact that is no list": (said(A, (2, "B.")), [(0, "A.")]),
    "a number that is none": (said((True, ["Z."]), ("two", ["Z."]), ("2", ["B."])), [(1, "B.")]),
    "no sentence": (said(), []),
    "none that can be used": (said((9, ["Z."])), []),
    "no list": ({"sentences": "A."}, []),
    "no JSON": ("Two facts: A and B.", []),
}


@pytest.mark.parametrize(("reply", "expected"), REPLIES.values(), ids=REPLIES)
async def test_facts_that_are_sound_are_kept_and_sentences_without_a_sound_entry_are_lost(reply: Any, expected: Any):
    judge = FakeJudge(lambda _: reply)
    found = await extract_facts(sentences(2), "output", WORDS, judge)
    assert [(fact.sentence, fact.text) for fact in found.found] == expected
    assert set(found.lost) == {0, 1} - {place for place, _ in expected}
    assert all("after one repair" in why for why in found.lost.values())


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([A], "sentence 2: missing"),
        ([A, A, B], "sentence 1: one entry was expected; got 2"),
        ([A, (2, list("abcdefg"))], "sentence 2: at most 6 facts are wanted of one sentence; got 7"),
    ],
)
async def test_what_is_wrong_with_facts_is_complained_of_once(entries: Any, told: str):
    judge = FakeJudge(lambda prompt: said(A, B) if prompt.repair else said(*entries))
    found = await extract_facts(sentences(2), "output", WORDS, judge)
    assert told in judge.prompts[1].repair.complaint
    assert (len(judge.prompts), len(found.found), found.lost) == (2, 2, {})


async def test_a_sentence_that_states_nothing_is_not_lost_and_its_text_s_first_one_stands_if_none_does():
    judge = FakeJudge(lambda _: said(A, (2, [])))
    assert await extract_facts(sentences(2), "source", WORDS, judge) == Facts((Fact("A.", 0),), {})
    judge = FakeJudge(lambda _: said((1, []), (2, [])))
    alone = Facts((Fact(split_sentences(sentences(2))[0], 0),), {})
    assert await extract_facts(sentences(2), "source", WORDS, judge) == alone
    assert len(judge.prompts) == 1
    judge = FakeJudge(lambda _: said((1, [])))
    assert (await extract_facts(sentences(2), "source", WORDS, judge)).found == ()


async def test_a_portion_that_fails_loses_its_own_sentences_only():
    def script(prompt: Any) -> Any:
        ids = [each["id"] for each in prompt.fields["sentences"]]
        return "nothing" if ids[0] == 1 else said(*((n, ["A."] if n == 21 else []) for n in ids))

    found = await extract_facts(sentences(30), "output", WORDS, FakeJudge(script))
    assert found.found == (Fact("A.", 20),)
    assert sorted(found.lost) == list(range(15))


@pytest.mark.parametrize(("per_sentence", "whole"), [(1, True), (2, False)])
async def test_a_text_of_fewer_facts_than_the_threshold_is_judged_whole(per_sentence: int, whole: bool):
    found = await decompose(sentences(3), "fact", WORDS, scripted(per_sentence=per_sentence), SealScoringSettings())
    assert (found.kind == "whole") is whole
    more = SealScoringSettings(whole_below_facts=3 if whole else 7)
    assert (await decompose(sentences(3), "fact", WORDS, scripted(per_sentence=per_sentence), more)).kind != found.kind


def test_a_fact_stands_in_the_sentence_that_states_it_and_a_lost_sentence_in_its_place():
    facts = Facts((Fact("A.", 0), Fact("B.", 0), Fact("C.", 2)), {1: "cut off"})
    found = fact_units(sentences(3), facts, SealScoringSettings())
    assert [(unit.id, unit.sentences, unit.lost) for unit in found.units] == [
        ("u1", (0,), None),
        ("u2", (0,), None),
        ("u3", (1,), "cut off"),
        ("u4", (2,), None),
    ]


@tries(max_examples=50)
@given(st.integers(0, 300), st.integers(1, 50))
def test_portions_hold_everything_in_order_and_are_about_equal(count: int, most: int):
    found = chunks(range(count), most)
    assert [each for some in found for each in some] == list(range(count))
    sizes = {len(some) for some in found}
    assert all(0 < size <= most for size in sizes)
    assert not sizes or max(sizes) - min(sizes) <= 1
    assert len(found) == -(-count // most)
