"""SEEval as its paper has it: what is elicited, the form, and sampling with nothing else changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from holistic_scripts import graded, learn, of_template, overall, ratings_asked
from hypoeval_scripts import assignment, example

from rubriclab.methods.holistic import BareScore
from rubriclab.methods.method import chosen_settings
from rubriclab.methods.seeval import SEEVAL
from rubriclab.models.rubric import Part
from rubriclab.models.text import Scale
from rubriclab.prompts import render

TEXT = example(1, 3, source="A source.")


def settings(**more):
    return chosen_settings(SEEVAL.settings, SEEVAL.presets, {"preset": "paper", **more})


async def part_of(**more) -> Part:
    learned = await learn("seeval", (), judge=overall(), **settings(**more).model_dump())
    return learned.part


async def asked_of(judge, **more):
    value, _ = await SEEVAL.score(TEXT, await part_of(**more), assignment(), judge)
    return value, ratings_asked(judge)


async def test_one_explanation_is_elicited_at_temperature_0_with_the_evaluation_steps_inside():
    judge = overall(geval__steps=lambda _: {"steps": ["Read the source.", "Look for gaps."]})
    await learn("seeval", graded(6), judge=judge, **settings().model_dump())
    (prompt,) = of_template(judge, "seeval/explain")
    shown = render(prompt)[1]["content"]
    assert prompt.temperature == 0
    assert "1. Read the source.\n2. Look for gaps." in shown
    for words in ("150 to 400", "simpler", "low score"):
        assert words not in shown


async def test_scoring_tells_task_steps_and_explanation_again_as_turns_of_one_conversation():
    """Figure 2: the task with its steps and the question, the model's explanation, then the text to score."""
    judge = overall()
    await learn("seeval", graded(6), judge=judge, **settings().model_dump())
    (elicited,) = of_template(judge, "seeval/explain")
    turns = render(ratings_asked(judge)[0])
    assert [turn["role"] for turn in turns] == ["system", "user", "assistant", "user"]
    assert render(elicited)[1]["content"].startswith(turns[1]["content"])
    assert turns[2]["content"] == "Explanation number 0."
    assert "1. Read it.\n2. Settle on a score." in turns[1]["content"]


async def test_the_form_takes_a_whole_score_alone():
    judge = overall(lambda _: 4)
    value, (prompt,) = await asked_of(judge)
    assert value == 4
    assert prompt.reply is BareScore
    assert prompt.fields["scale"]["whole"]
    assert "reasoning" not in render(prompt)[-1]["content"]


async def test_sampling_changes_nothing_but_temperature_and_number():
    """Section 3.2: one answer at temperature 0, or the mean of 20 at temperature 1, without reported probabilities."""
    _, once = await asked_of(overall())
    _, sampled = await asked_of(overall(), scoring="sampled")
    assert (len(once), len(sampled)) == (1, 20)
    assert {prompt.temperature for prompt in once} == {0}
    assert {prompt.temperature for prompt in sampled} == {1}
    for prompt in sampled:
        assert replace(prompt, temperature=0.0, sample=0) == once[0]
    assert await part_of() != await part_of(scoring="sampled")
    assert (await part_of()).criteria == (await part_of(scoring="sampled")).criteria


async def test_a_sampled_score_is_the_mean_of_the_samples():
    """20 samples, 2, 3, 3, 4 in turn: (2 + 3 + 3 + 4) / 4 = 3."""
    judge = overall(lambda prompt: (2, 3, 3, 4)[prompt.sample // 10 % 4])
    assert (await asked_of(judge, scoring="sampled"))[0] == pytest.approx(3.0)


async def test_a_scale_of_0_and_1_has_two_scores_in_the_paper_s_form():
    """Table 4: groundedness is 0 or 1."""
    judge = overall(lambda _: 1)
    learned = await learn("seeval", (), judge=judge, scale=Scale(low=0, high=1, whole=False), **settings().model_dump())
    await SEEVAL.score(TEXT, learned.part, assignment(Scale(low=0, high=1, whole=False)), judge)
    assert ratings_asked(judge)[0].fields["scale"]["whole"]
