"""The offline judge: deterministic, read off text features. `tests/prompts` shows that it answers all templates."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel
from scripted_judge import ASPECT

from rubriclab.errors import JudgeRefused
from rubriclab.judges.embedded import (
    ANSWERS,
    EmbeddedJudge,
    Reading,
    learned_readings,
    measure,
    own_readings,
    state_readings,
)
from rubriclab.methods.seal.learn import SEAL, checklist_questions
from rubriclab.methods.seal.score import SealSettings
from rubriclab.methods.sources import load_checklist, shipped_checklists
from rubriclab.models.rubric import Part
from rubriclab.models.text import Assignment, Example, Scale, find_aspect, task_words
from rubriclab.models.text_features import CATALOGUE
from rubriclab.prompts.prompt import Prompt
from rubriclab.stats.correlation import pearson

JUDGE = EmbeddedJudge()
SCALES = [
    Scale(low=1, high=5, whole=True),
    Scale(low=-10, high=100, whole=True),
    Scale(low=0, high=1, whole=True),
    Scale(low=0, high=1, whole=False),
]
SOURCE = (
    "The council will close the Harrow bridge on 3 November. Two of its 14 cables are rusty. Repairs would cost "
    "1.4 million crowns, and Mayor Holt asked three firms to make an offer. Buses may cross until then."
)
OUTPUT = (
    "The Harrow bridge will close on 3 November, because two of its 14 cables are rusty. Buses may cross until then."
)
WORDS = SOURCE.split()


def text(number: int, score: float = 3) -> Example:
    """Return a text that is the longer and the more varied, the higher its score."""
    draw = random.Random(number)
    said = " ".join(draw.choice(WORDS) for _ in range(int(6 + 7 * score + draw.randint(0, 4))))
    return Example(f"t{number:02d}", said + ".", f"g{number % 8}", source=SOURCE, scores={ASPECT: score})


TEXTS = tuple(text(i, 1 + i % 5) for i in range(24))


def assignment(scale: Scale = SCALES[0], aspect: str = ASPECT) -> Assignment:
    return Assignment(task_words("summarization"), find_aspect("summarization", aspect), scale)


def fields(**changes: Any) -> dict[str, Any]:
    return {**assignment().fields(), "output": OUTPUT, "source": SOURCE, "context": None, "sample": 0, **changes}


def observations(sign: int = 1) -> list[dict[str, Any]]:
    return [{"output": each.output, "source": SOURCE, "score": sign * each.scores[ASPECT]} for each in TEXTS]


# What is read


@pytest.mark.parametrize("feature", CATALOGUE, ids=lambda feature: feature.name)
@pytest.mark.parametrize("more_is_better", [True, False])
def test_its_own_wording_is_read_back(feature: Any, more_is_better: bool) -> None:
    for middle, spread in ((-0.25, 1e-5), (1234.5, 80)):
        (found,) = own_readings(state_readings(fields(), [Reading(feature, more_is_better, middle, spread)]))
        assert (found.feature, found.more_is_better) == (feature, more_is_better)
        assert (found.middle, found.spread) == pytest.approx((middle, spread), rel=0.01)


def test_labels_decide_which_features_are_chosen_and_in_which_direction() -> None:
    def tracked(sign: int) -> float:
        statement = state_readings(fields(), learned_readings(fields(), observations(sign), 3))
        found = [measure(fields(output=each.output), statement)[0] for each in TEXTS]
        return pearson(np.array(found), np.array([each.scores[ASPECT] for each in TEXTS], dtype=float))

    assert tracked(1) > 0.8
    assert tracked(-1) < -0.5


# What is answered


def test_no_is_the_good_answer_to_a_question_about_a_fault() -> None:
    sub = {"questions": [{"id": each, "text": each} for each in ("Is it fluent?", "Is there an error in its fluency?")]}
    good, fault = ANSWERS["checkeval/answer"](fields(sub_dimensions=[sub])).values()
    assert {good["answer"], fault["answer"]} == {"yes", "no"}


def test_what_cannot_be_measured_is_not_applicable() -> None:
    question = {"id": "q", "text": 'Does it have more of "length relative to the source" (about -1, give or take 1)?'}
    asked = fields(source=None, sub_dimensions=[{"questions": [question]}])
    assert [each["answer"] for each in ANSWERS["checkeval/answer"](asked).values()] == ["n/a"]


def test_a_question_is_elaborated_into_those_about_five_values_of_its_feature() -> None:
    asked = fields(question={"text": 'Does it have more of "length relative to the source" (about 2, give or take 1)?'})
    questions = ANSWERS["checkeval/elaborate"]({**asked, "most": 9, "self_contained": False})["questions"]
    assert [own_readings(each["text"])[0].middle for each in questions] == [2, 1, 3, 1.5, 2.5]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, SOURCE[:55]),
        ({"failing": []}, SOURCE[:55]),
        ({"source": None, "context": SOURCE}, SOURCE[:55]),
        ({"source": "Buses may cross until then."}, ""),
    ],
    ids=["failing", "last", "of the context", "none is new"],
)
def test_the_failing_or_last_sentence_becomes_the_most_similar_new_one_or_is_removed(changes: Any, text: str) -> None:
    shown = ("Buses may cross until then.", "The Harrow bridge will shut in spring.")
    sentences = [{"id": number, "text": sentence} for number, sentence in enumerate(shown, 1)]
    rewritten = ANSWERS["improve/rewrite"](fields(reference=None, sentences=sentences, **{"failing": [2], **changes}))
    assert [(each["sentence"], each["text"]) for each in rewritten["sentences"]] == [(2, text)]


# Units and comparisons


async def scored(task: str, aspect: str, example: Example, **chosen: Any) -> Any:
    """Return the text's score by the checklist of units that ships, and its ratings."""
    pack = load_checklist(task, aspect, folder="units")
    questions, dimensions = checklist_questions(pack)
    settings = SealSettings(**chosen).model_dump(mode="json")
    made = Part(method="seal", settings=settings, criteria=questions, dimensions=dimensions, units=pack.units)
    about = Assignment(task_words(pack.task), find_aspect(pack.task, pack.aspect), SCALES[0])
    return await SEAL.score(example, made, about, JUDGE)


@pytest.mark.parametrize(("task", "aspect"), shipped_checklists("units"))
@pytest.mark.parametrize("chosen", [{}, {"verify": False}, {"most_per_call": 1, "weights": "judge"}], ids=str)
async def test_every_shipped_checklist_of_units_gets_a_score(task: str, aspect: str, chosen: dict[str, Any]) -> None:
    for output in (OUTPUT, "Short.", "the the of . i do n't know , ( yes"):
        example = Example("t", output, "g", source=SOURCE, context="Bridges are of iron.", reference=OUTPUT)
        score, rated = await scored(task, aspect, example, **chosen)
        assert 1 <= score <= 5
        assert all("Measured, not read" in verdict.reason for each in rated for verdict in each.units)


@pytest.mark.parametrize(
    ("sentence", "consistent"),
    [
        (OUTPUT, "yes"),
        (OUTPUT.replace("3 November", "5 November"), "no"),
        (OUTPUT.replace("Harrow", "Millford"), "no"),
        (OUTPUT.replace("two", "nine"), "no"),
        ("Onions cook slowly in butter.", "no"),
        ("So it is.", "yes"),
    ],
)
def test_a_sentence_is_consistent_with_a_text_that_has_its_words_numbers_and_names(
    sentence: str, consistent: str
) -> None:
    asked = fields(reference=SOURCE, sentences=[{"id": 1, "text": sentence}], label="source", verdict=True)
    (entry,) = ANSWERS["dcr/evaluate"](asked).values()
    assert entry["consistent"] == consistent
    mark = ANSWERS["dcr/convert"]({"reasons": [{"id": 1, "text": entry["reason"]}]})["report 1"]["mark"]
    assert mark == (1 if consistent == "yes" else -1)


async def test_a_template_that_it_does_not_know_is_refused_unless_the_prompt_brings_an_answer() -> None:
    prompt: Prompt[Any] = Prompt("poem/write", {"lines": 2}, BaseModel)
    with pytest.raises(JudgeRefused, match=r"'poem/write'.*Use a language model"):
        await JUDGE.reply(prompt)
    assert (await JUDGE.reply(replace(prompt, sample=3, offline=dict))).text == '{"lines": 2, "sample": 3}'
