"""`geval`: steps that are written once and kept, and a probability-weighted score by them."""

from __future__ import annotations

import pytest
from holistic_scripts import graded, learn, of_template, overall, part, said, weighing
from hypoeval_scripts import assignment, example

from rubriclab.errors import JudgeError
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.holistic import GEvalSettings, steps_prompt
from rubriclab.models.text import Scale

TEXTS = graded(8)
TEXT = example(1, 3)


async def test_the_steps_are_written_once_by_the_generator_and_numbered():
    judge = overall(lambda _: 3)
    generator = overall(geval__steps=lambda _: {"steps": [" Read it.\n", "Compare.", "Settle."]})
    learned = await learn("geval", TEXTS, judge=judge, generator=generator, samples=2)
    (prompt,) = generator.prompts
    assert (prompt.name, prompt.temperature) == ("geval/steps", 0)
    assert {prompt.name for prompt in judge.prompts} == {"geval/rate"}
    (criterion,) = learned.part.criteria
    assert criterion.statement == "1. Read it.\n2. Compare.\n3. Settle."
    assert (criterion.kind, criterion.evidence.origin) == ("score", "prior knowledge")


async def test_the_score_is_weighted_by_default_and_20_samples_stand_in_for_probabilities():
    assert GEvalSettings().scoring == "weighted"
    sampled = overall(lambda prompt: 1 + prompt.sample // 10 % 4)
    assert (await METHODS["geval"].score(TEXT, part("geval"), assignment(), sampled))[0] == 2.5
    sure = FakeJudge(lambda _: weighing({4: 0.75, 5: 0.25}))
    assert (await METHODS["geval"].score(TEXT, part("geval"), assignment(), sure))[0] == pytest.approx(4.25)
    assert (len(sampled.prompts), len(sure.prompts)) == (20, 1)


@pytest.mark.parametrize("steps", [[], [""], ["Read.", "  "], "Read."], ids=str)
async def test_steps_without_words_are_asked_for_once_more_and_then_an_error(steps):
    generator = overall(geval__steps=lambda _: {"steps": steps})
    judge = overall()
    with pytest.raises(JudgeError, match=r"No evaluation steps could be obtained: .*Try another generator"):
        await learn("geval", TEXTS, judge=judge, generator=generator)
    assert len(of_template(generator, "geval/steps")) == 2
    assert judge.prompts == []


def test_the_steps_are_asked_for_without_any_text_or_label():
    prompt = steps_prompt(assignment(), GEvalSettings())
    assert set(prompt.fields) == set(assignment().fields())
    assert assignment().aspect.definition in said(prompt)


def test_the_steps_speak_of_the_scores_as_they_will_be_asked_for():
    given = assignment(Scale(low=1, high=5, whole=False))
    assert "whole numbers only" in said(steps_prompt(given, GEvalSettings()))
    assert "decimals allowed" in said(steps_prompt(given, GEvalSettings(scoring="once")))
