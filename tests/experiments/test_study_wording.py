"""Wordings: what a judge is asked in other words, and that a language model really gets to see them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import ValidationError

from experiments.runner.study import load_study
from experiments.runner.wording import Reworded, Wording, told_as
from rubriclab.data import Assignment, Example, Scale, find_aspect, task_words
from rubriclab.judges import FakeJudge
from rubriclab.judges.ask import ask
from rubriclab.methods.baselines.definition import DIRECT, whole_aspect
from rubriclab.methods.holistic import ScoreFormat, holistic_prompt
from rubriclab.methods.hypoeval.score import rate_prompt
from rubriclab.prompts import Prompt, render
from rubriclab.rubric import Criterion, Evidence, Level

ASSIGNMENT = Assignment(
    task_words("summarization"), find_aspect("summarization", "coherence"), Scale(low=1, high=5, whole=False)
)
TEXT = Example(id="a", group="a", source="Some source.", output="Some output.", scores={"coherence": 2.0})
CRITERION = Criterion(
    id="h1",
    kind="hypothesis",
    trait="order",
    statement="Look at the order.",
    levels=(Level(score=1, description="none"), Level(score=5, description="clear")),
    evidence=Evidence(origin="labels"),
)
OTHER = Wording(
    source="article", output="digest", aspect="flow", definition="Does it flow?", scale="{low} up to {high}"
)

words = st.one_of(st.none(), st.text("abc ", min_size=1).filter(str.strip))


def prompts(assignment: Assignment) -> list[Prompt[Any]]:
    """Return the prompts that score a text by a hypothesis, and directly."""
    direct = holistic_prompt(
        TEXT,
        whole_aspect(assignment, "go by it"),
        assignment,
        ScoreFormat("direct/rate", lambda _: {}),
        DIRECT.settings(),  # type: ignore[arg-type]
    )
    return [rate_prompt(TEXT, [CRITERION], assignment), direct]


def shown(prompt: Prompt[Any]) -> str:
    return "\n".join(message["content"] for message in render(prompt))


@pytest.mark.parametrize("place", [0, 1], ids=["hypothesis", "direct"])
def test_a_model_reads_the_other_words_and_none_of_the_usual_ones(place: int) -> None:
    usual, other = (shown(prompts(assignment)[place]) for assignment in (ASSIGNMENT, told_as(ASSIGNMENT, OTHER)))
    # A judge of one hypothesis is not told the aspect, which would turn its score into one of the whole.
    named = place * ['"flow"', "Does it flow?"], place * ["coherence", ASSIGNMENT.aspect.definition]
    for words_ in ("<<<article", "<<<digest", "Judge the digest", "1 up to 5", *named[0]):
        assert words_ in other
        assert words_ not in usual
    for words_ in ("summary", "source text", ASSIGNMENT.scale.describe(), *named[1]):
        assert words_ in usual
        assert words_ not in other


async def test_a_reworded_judge_is_asked_what_the_reworded_assignment_asks() -> None:
    judge = FakeJudge(lambda _: {"reasoning": "So.", "score": 4})
    answer = await ask(Reworded(judge, OTHER), prompts(ASSIGNMENT)[0])
    assert answer.value is not None
    assert answer.value.score == 4
    assert [dict(prompt.fields) for prompt in judge.prompts] == [prompts(told_as(ASSIGNMENT, OTHER))[0].fields]
    assert (Reworded(judge, OTHER).name, Reworded(judge, OTHER).identity) == (judge.name, judge.identity)


async def test_an_unusable_reply_is_complained_about_in_the_same_wording() -> None:
    replies = iter(["no", {"reasoning": "So.", "score": 4}])
    judge = FakeJudge(lambda _: next(replies))  # type: ignore[arg-type, return-value]
    await ask(Reworded(judge, OTHER), prompts(ASSIGNMENT)[1])
    first, repair = judge.prompts
    assert repair.repair is not None
    assert repair.fields == first.fields
    assert repair.fields["words"]["output"] == "digest"


def test_what_the_answer_is_checked_by_stays() -> None:
    fields = told_as(ASSIGNMENT, OTHER).fields()
    usual = ASSIGNMENT.fields()
    assert fields["words"]["task"] == "summarization"
    assert {k: v for k, v in fields["scale"].items() if k != "text"} == {
        k: v for k, v in usual["scale"].items() if k != "text"
    }


@settings(deadline=None, max_examples=40)
@given(source=words, output=words, aspect=words, definition=words)
def test_what_is_absent_stays_as_it_is(source, output, aspect, definition) -> None:
    wording = Wording(source=source, output=output, aspect=aspect, definition=definition)
    fields, usual = wording.of(ASSIGNMENT.fields()), ASSIGNMENT.fields()
    assert fields["words"]["source"] == (wording.source or usual["words"]["source"])
    assert fields["words"]["output"] == (wording.output or usual["words"]["output"])
    assert fields["words"]["context"] == usual["words"]["context"]
    assert fields["aspect"]["name"] == (wording.aspect or usual["aspect"]["name"])
    assert fields["aspect"]["definition"] == (wording.definition or usual["aspect"]["definition"])
    assert fields["scale"] == usual["scale"]
    assert Wording().of(usual) == usual


def test_fields_without_a_scale_are_left_without_one() -> None:
    assert OTHER.of({"aspect": {"name": "a"}, "count": 3}) == {
        "aspect": {"name": "flow", "definition": "Does it flow?"},
        "count": 3,
    }


@pytest.mark.parametrize("scale", ["one to five", "{low} and up", ""])
def test_a_scale_without_its_ends_is_refused(scale: str) -> None:
    with pytest.raises(ValidationError):
        Wording(scale=scale)


# The wordings that ship


@pytest.mark.parametrize(
    ("name", "task", "aspect"), [("summeval", "summarization", "coherence"), ("hanna", "story", "engagement")]
)
def test_ten_wordings_ship_that_a_model_sees_as_ten_instructions(name: str, task: str, aspect: str) -> None:
    given_ = load_study("hypoeval-prompt-robustness").options["wordings"][name][aspect]
    wordings = [Wording.model_validate(each) for each in given_]
    usual = Assignment(task_words(task), find_aspect(task, aspect), ASSIGNMENT.scale)
    told = [usual, *(told_as(usual, wording) for wording in wordings)]
    assert len(wordings) == 10
    for place in (0, 1):
        assert len({shown(prompts(assignment)[place]) for assignment in told}) == 11
    definitions = {assignment.fields()["aspect"]["definition"] for assignment in told}
    scales = {assignment.fields()["scale"]["text"] for assignment in told}
    assert (len(definitions), len(scales)) == (11, 11)
