"""SEAL as its paper has it, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypoeval_scripts import assignment
from seal_scripts import of_kind, pack, pairs_asked, part as part_of, scripted, text

from experiments.runner.study import load_study
from rubriclab.checklist import load_checklist
from rubriclab.methods.method import chosen_settings
from rubriclab.methods.seal import SEAL
from rubriclab.methods.seal.score import dimension_score, normalised
from rubriclab.sentences import split_sentences

ASPECTS = ("coherence", "consistency", "fluency", "relevance")


def paper(**more):
    return chosen_settings(SEAL.settings, SEAL.presets, {"preset": "paper", **more}).model_dump()


@pytest.mark.parametrize("aspect", ASPECTS)
def test_every_unit_of_a_summary_gets_one_verdict(aspect: str):
    """Table 2: each aspect of SummEval has one sub-dimension, and each sub-dimension one binary question."""
    given = load_checklist("summarization", aspect, folder="units")
    assert len(given.sub_dimensions) == len(given.questions) == 1


@pytest.mark.parametrize(("kind", "units"), [("sentence", 4), ("sentence pair", 3)])
async def test_four_sentences_make_four_units_or_three_pairs(kind: str, units: int):
    judge = scripted()
    given = part_of(pack(kind, sizes=(1,)), **paper(sentences="rules"))
    await SEAL.score(text(4), given, assignment(), judge)
    assert len(pairs_asked(judge)) == units


async def test_two_of_three_coherent_pairs_give_two_thirds_of_the_scale():
    """Verdicts 1, 0, 1 with one question: (1 + 0 + 1) / 3 = 2/3, on 1 to 5 that is 1 + 4 x 2/3 = 3.666667."""
    judge = scripted(lambda _question, unit, _output: "number 2" not in unit.split(". ")[0])
    given = part_of(pack("sentence pair", sizes=(1,)), **paper())
    value, _ = await SEAL.score(text(4), given, assignment(), judge)
    assert value == pytest.approx(3.666667, abs=1e-6)


def test_a_weight_of_zero_counts_for_nothing():
    """Appendix D allows weights of zero. 0.5, 0.5, 0 and verdicts 1, 0, 1: 0.5 x 1 + 0.5 x 0 + 0 x 1 = 0.5."""
    assert normalised([0.5, 0.5, 0]).tolist() == [0.5, 0.5, 0]
    import numpy as np

    assert dimension_score(np.array([[1.0, 0.0, 1.0]]), [0.5, 0.5, 0]) == 0.5


async def test_a_judge_may_give_a_question_the_weight_zero():
    """The first weighs 1 and holds, the second weighs 0 and does not: 1 x 1 + 0 x 0 = 1, the top of the scale."""
    judge = scripted(lambda question, *_: question == "a1", weights={"a1": 1, "a2": 0})
    given = part_of(pack("response", sizes=(2,), weights="judge"), **paper())
    value, ratings = await SEAL.score(text(1), given, assignment(), judge)
    assert value == 5
    assert [rating.weight for rating in ratings] == [1, 0]


async def test_weights_that_are_all_zero_leave_no_score():
    judge = scripted(weights={"a1": 0, "a2": 0})
    given = part_of(pack("response", sizes=(2,), weights="judge"), **paper())
    assert (await SEAL.score(text(1), given, assignment(), judge))[0] is None


async def test_where_only_weightless_questions_are_left_there_is_no_score():
    judge = scripted(weights={"a1": 0, "a2": 1})
    given = part_of(pack("response", sizes=(2,), weights="judge"), **paper())
    from rubriclab.methods.seal.prompts import VerificationPlan
    from rubriclab.methods.seal.score import score_verdicts
    from rubriclab.methods.seal.settings import SealScoringSettings
    from rubriclab.methods.seal.verify import judge_text

    exam = VerificationPlan(
        given.criteria, {}, given.units, assignment(), SealScoringSettings.model_validate(dict(given.settings))
    )
    found = await judge_text(text(1), exam, judge)
    value, ratings = score_verdicts(found, given.criteria[:1], assignment().scale)
    assert value is None
    assert "any weight" in ratings[0].reason


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


@pytest.mark.parametrize(("kind", "chosen"), [("sentence", {"sentences": "rules"}), ("response", {}), ("fact", {})])
async def test_nothing_else_is_split_by_the_judge(kind: str, chosen: dict):
    judge = scripted()
    await SEAL.score(text(4), part_of(pack(kind, sizes=(1,)), **paper(**chosen)), assignment(), judge)
    assert not of_kind(judge, "split")


@pytest.mark.parametrize("name", ["seal-main", "seal-ablations"])
def test_both_sets_of_qags_are_in_the_studies(name: str):
    assert {"qags_factuality", "qags_xsum_factuality"} <= set(load_study(name).sets)


async def test_an_empty_text_is_not_split():
    judge = scripted()
    given = part_of(pack("sentence", sizes=(1,)), **paper())
    value, _ = await SEAL.score(replace(text(1), output=" … "), given, assignment(), judge)
    assert (value, judge.prompts) == (None, [])
