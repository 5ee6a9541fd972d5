"""SEAL as its paper has it, against numbers worked out by hand."""

from __future__ import annotations

import pytest
from hypoeval_scripts import assignment
from seal_scripts import of_kind, pack, part as part_of, scripted, text

from rubriclab.methods.method import chosen_settings
from rubriclab.methods.seal import SEAL
from rubriclab.methods.sources import load_checklist
from rubriclab.models.text import split_sentences
from rubriclab.prompts import render

ASPECTS = ("coherence", "consistency", "fluency", "relevance")


def paper(**more):
    return chosen_settings(SEAL.settings, SEAL.presets, {"preset": "paper", **more}).model_dump()


@pytest.mark.parametrize("aspect", ASPECTS)
def test_every_unit_of_a_summary_gets_one_verdict(aspect: str):
    """Table 2: each aspect of SummEval has one sub-dimension, and each sub-dimension one binary question."""
    given = load_checklist("summarization", aspect, folder="units")
    assert len(given.sub_dimensions) == len(given.questions) == 1


async def test_two_of_three_coherent_pairs_give_two_thirds_of_the_scale():
    """Verdicts 1, 0, 1 with one question: (1 + 0 + 1) / 3 = 2/3, on 1 to 5 that is 1 + 4 x 2/3 = 3.666667."""
    judge = scripted(lambda _question, unit, _output: "number 2" not in unit.split(". ")[0])
    given = part_of(pack("sentence pair", sizes=(1,)), **paper())
    value, _ = await SEAL.score(text(4), given, assignment(), judge)
    assert value == pytest.approx(3.666667, abs=1e-6)


async def test_a_judge_may_give_a_question_the_weight_zero():
    """The first weighs 1 and holds, the second weighs 0 and does not: 1 x 1 + 0 x 0 = 1, the top of the scale."""
    judge = scripted(lambda question, *_: question == "a1", weights={"a1": 1, "a2": 0})
    given = part_of(pack("response", sizes=(2,), weights="judge"), **paper())
    value, ratings = await SEAL.score(text(1), given, assignment(), judge)
    assert value == 5
    assert [rating.weight for rating in ratings] == [1, 0]


# Verdicts without reasons

FACTS = pack("fact", sizes=(1,), support={"a1": "source"}, beside=("source",))
UNPACKED_FACTS = pack("fact", sizes=(2,))
BARE = [
    (FACTS, "support", {}),
    (UNPACKED_FACTS, "verify", {}),
    (UNPACKED_FACTS, "rate", {"verify": False}),
    (pack("sentence", sizes=(2,)), "verify", {}),
    (pack("response", sizes=(2,), weights="judge"), "verify", {}),
]


@pytest.mark.parametrize(("asked", "template", "more"), BARE)
async def test_no_reason_is_asked_for_and_the_score_is_that_of_verdicts_with_reasons(asked, template: str, more: dict):
    example, judge = text(4, source="A source. It says so."), scripted()
    value, ratings = await SEAL.score(example, part_of(asked, **paper(**more)), assignment(), judge)
    explained, _ = await SEAL.score(
        example, part_of(asked, **paper(answers="with reasons", **more)), assignment(), scripted()
    )
    assert value == explained is not None
    prompts = of_kind(judge, template)
    assert prompts
    assert not [prompt for prompt in prompts if "`reason`" in render(prompt)[1]["content"]]
    assert {unit.reason for rating in ratings for unit in rating.units} == {""}


# Facts in one call


async def test_the_facts_of_the_text_and_of_all_it_is_compared_with_come_from_one_call():
    judge = scripted(lambda *_: True)
    example = text(45, source="A source. It says so.", context="None.")
    _, (rating,) = await SEAL.score(example, part_of(FACTS, **paper()), assignment(), judge)
    (asked,) = of_kind(judge, "facts")
    assert [each["what"] for each in asked.fields["sentences"]] == ["output"] * 45 + ["source"] * 2
    shown = render(asked)[-1]["content"]
    assert shown.count("Sentences from the summary") == shown.count("Sentences from the source text") == 1
    by_text = scripted(lambda *_: True)
    _, (rating_by_text,) = await SEAL.score(example, part_of(FACTS, **paper(facts="by text")), assignment(), by_text)
    assert len(of_kind(by_text, "facts")) == 4
    assert [unit.sentences for unit in rating.units] == [unit.sentences for unit in rating_by_text.units]
    assert rating.units[-1].unit == "Fact 1 of output 45."
    assert rating.units[-1].support == ("Fact 0 of source 46.",)


async def test_facts_lost_in_the_one_call_are_lost_for_every_text():
    judge = scripted(facts=lambda _: "nothing")
    value, (rating,) = await SEAL.score(text(3, source="A."), part_of(FACTS, **paper()), assignment(), judge)
    assert value is None
    assert [unit.value for unit in rating.units] == [None] * 3


# Decomposition by the judge


SPLIT = "One. Two here! Three, at last. And four"


async def test_the_judge_splits_the_text_in_a_call_of_its_own():
    parts = ["One. Two here!", "Three,  at last.", "And four"]
    judge = scripted(split=lambda _: {"sentences": parts})
    given = part_of(pack("sentence", sizes=(1,)), **paper())
    _, (rating,) = await SEAL.score(text(SPLIT), given, assignment(), judge)
    assert len(of_kind(judge, "split")) == 1
    assert [unit.unit for unit in rating.units] == ["One. Two here!", "Three, at last.", "And four"]
    assert [unit.sentences for unit in rating.units] == [(0, 1), (2,), (3,)]
    assert split_sentences(SPLIT)[2] == "Three, at last."


@pytest.mark.parametrize(
    "parts", [["One.", "Two here!"], ["One. Two here! Three at last. And four"], [SPLIT, "More."], []], ids=str
)
async def test_a_split_that_is_not_the_text_is_no_split(parts: list[str]):
    judge = scripted(split=lambda _: {"sentences": parts})
    given = part_of(pack("sentence", sizes=(1,)), **paper())
    value, (rating,) = await SEAL.score(text(SPLIT), given, assignment(), judge)
    assert value is None
    assert "did not split" in rating.units[0].reason
