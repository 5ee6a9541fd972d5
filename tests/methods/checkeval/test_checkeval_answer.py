"""What a judge is asked about a text, and how its answers come back."""

from typing import Any

import pytest
from checkeval_scripts import answers as reply_to, assignment, by_lot, question, scripted, text

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.checkeval.score import CheckEvalScoringSettings, QuestionAnswer, answer_prompts, ask_questions

QUESTIONS = (question("a1"), question("b1", "Side 2"), question("a2"), question("b2", "Side 2"))
DIMENSIONS = {"Side 1": "What the first is.", "Side 2": "What the second is."}


def prompts(example=None, **settings: Any):
    given = example or text(source="Source.", context="Context.")
    return answer_prompts(given, QUESTIONS, DIMENSIONS, assignment(), settings=CheckEvalScoringSettings(**settings))


async def run(judge: FakeJudge, example=None, **settings: Any) -> dict[str, QuestionAnswer]:
    given = example or text()
    return await ask_questions(
        given, QUESTIONS, DIMENSIONS, assignment(), judge, settings=CheckEvalScoringSettings(**settings)
    )


def asked(prompt) -> list[str]:
    return [each["id"] for sub in prompt.fields["sub_dimensions"] for each in sub["questions"]]


@pytest.mark.parametrize(
    ("how", "groups"),
    [
        ("by sub-dimension", [["a1", "a2"], ["b1", "b2"]]),
        ("one by one", [["a1"], ["b1"], ["a2"], ["b2"]]),
        ("together", [["a1", "a2", "b1", "b2"]]),
    ],
)
async def test_questions_are_grouped_as_the_setting_says_with_one_call_each(how: Any, groups: list[list[str]]):
    judge = scripted()
    found = await run(judge, ask=how)
    assert [asked(prompt) for prompt in judge.prompts] == groups
    assert {name: said.answer for name, said in found.items()} == {
        each.id: by_lot(each.id, "", "Some words.") for each in QUESTIONS
    }


def test_no_prompt_tells_which_answer_is_better():
    turned = (question("a1", better="no"),)
    shown = answer_prompts(text(), turned, {}, assignment(), settings=CheckEvalScoringSettings())
    same = answer_prompts(text(), (question("a1"),), {}, assignment(), settings=CheckEvalScoringSettings())
    assert [prompt.fields for prompt in shown] == [prompt.fields for prompt in same]


async def test_one_group_without_a_usable_reply_costs_no_other_group():
    def script(prompt):
        return "none" if "a1" in asked(prompt) else reply_to(prompt)

    found = await run(FakeJudge(script))
    assert found["b1"].answer is not None
    for name in ("a1", "a2"):
        assert found[name].answer is None
        assert found[name].reason.startswith("unusable reply, also after one repair")


async def test_what_never_came_is_missing_with_the_provider_s_words():
    def down(_):
        raise JudgeUnavailable("The provider is down.")

    assert (await run(FakeJudge(down)))["b2"] == QuestionAnswer(None, "The provider is down.")
