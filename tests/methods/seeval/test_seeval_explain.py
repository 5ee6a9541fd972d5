"""Explanations: elicited in one or several ways, and rewritten from the texts on which they err."""

from __future__ import annotations

import pytest
from holistic_scripts import of_template, overall, said
from hypoeval_scripts import assignment, example

from rubriclab.errors import JudgeError, JudgeRefused
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.seeval import (
    Mistake,
    SEEvalSettings,
    elicit,
    explain_prompt,
    refine,
    refine_prompt,
)
from rubriclab.models.text import (
    Assignment,
    Scale,
    find_aspect,
    task_words,
)
from rubriclab.prompts import render

SETTINGS = SEEvalSettings()
TEXT = example(1, 2, source="A source.", context="Some facts.")
MISTAKES = [Mistake(TEXT, 2, 4.25), Mistake(example(2, 2 / 3), 2 / 3, 3)]


def explaining(*explanations: str) -> FakeJudge:
    return FakeJudge(lambda prompt: {"explanation": explanations[prompt.sample // 10]})


async def test_explanations_come_in_order_without_space_around_them():
    assert await elicit(3, assignment(), explaining("One.\n", "  Two.", "Three."), SETTINGS) == (
        "One.",
        "Two.",
        "Three.",
    )


async def test_explanations_without_words_are_left_out():
    assert await elicit(3, assignment(), explaining("", "Two.", "\n"), SETTINGS) == ("Two.",)


async def test_no_explanation_is_an_error_that_says_why():
    with pytest.raises(JudgeError, match="No explanation could be obtained: unusable reply, also after one repair"):
        await elicit(2, assignment(), explaining("", " "), SETTINGS)
    with pytest.raises(JudgeRefused):
        await elicit(2, assignment(), FakeJudge(_refused), SETTINGS)


def _refused(_prompt):
    raise JudgeRefused("wrong key")


@pytest.mark.parametrize(("task", "aspect"), [("summarization", "coherence"), ("dialogue", "naturalness")])
def test_the_task_is_put_in_the_words_of_its_kind_of_text(task, aspect):
    given = Assignment(task_words(task), find_aspect(task, aspect), Scale(low=1, high=3, whole=True))
    told = said(explain_prompt(0, given, SETTINGS))
    assert given.aspect.name in told
    assert given.aspect.definition in told
    assert given.scale.describe() in told
    for word in (given.words.output, given.words.source, given.words.context):
        assert word in told
    assert f"{given.words.output}s " not in told


def test_the_explanation_speaks_of_the_scores_as_they_will_be_asked_for():
    given = assignment(Scale(low=1, high=5, whole=False))
    assert "decimals allowed" in said(explain_prompt(0, given, SETTINGS))
    assert "whole numbers only" in said(explain_prompt(0, given, SEEvalSettings(scoring="weighted")))


async def test_a_rewriting_is_asked_for_once_at_temperature_0():
    generator = overall()
    rewritten = await refine("Mine.", MISTAKES, assignment(), generator)
    (prompt,) = of_template(generator, "seeval/refine")
    assert rewritten == (f"Rewritten from: {TEXT.output} {MISTAKES[1].example.output}", ())
    assert (prompt.temperature, prompt.sample) == (0, 0)


@pytest.mark.parametrize("explanation", ["", " \n", "Mine.", " Mine. "])
async def test_no_other_explanation_is_none(explanation):
    generator = FakeJudge(lambda _: {"reasoning": "", "explanation": explanation})
    assert await refine("Mine.", MISTAKES, assignment(), generator) is None


def test_the_generator_is_shown_both_scores_of_each_text_as_a_person_writes_them():
    told = render(refine_prompt("Mine.", MISTAKES, assignment()))[1]["content"]
    assert "The people's score: 2. The rater's score: 4.25\n" in told
    assert "The people's score: 0.667. The rater's score: 3\n" in told
    assert "Mine." in told
