"""All criteria of a text in one call: what is asked, and the ratings that come back."""

from __future__ import annotations

from typing import Any

import pytest
from checkeval_scripts import answers as answers_to, question
from holistic_scripts import part as overall_part, whole
from hypoeval_scripts import assignment, criterion, drawn_rating, example
from single_call_scripts import (
    CHECKLIST,
    DIRECT,
    EXPLAINED,
    HYPOTHESES,
    IDS,
    PARTS,
    STEPS,
    jointly,
    part_of,
    sound,
)

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.single_call import judge_all
from rubriclab.models.rubric import Demonstration, Part
from rubriclab.models.text import Scale

TEXT = example(1, 3, source="The source.", context="The context.")
SHOWN = Demonstration(example="x", output="Another text.", score=3)
WEIGHTED = overall_part("geval", whole("1. Read it.", id="weighted"), samples=2)
FEW_SHOT = overall_part("few_shot", whole(id="shown", demonstrations=(SHOWN,)))
ANALYSED = overall_part("analyze_rate", whole(id="analysed"))
BARE = part_of("checkeval", question("p1"), answers="yes or no")
CONCATENATED = part_of("hypoeval", criterion("c1"), criterion("c2"), ask="concatenated")
MEASURED = part_of("text_features", whole(id="log_words", kind="feature"))


async def run(judge: Any, parts: tuple[Part, ...] = PARTS, scale: Scale | None = None) -> tuple[CriterionRating, ...]:
    return await judge_all(TEXT, parts, assignment(scale) if scale else assignment(), judge)


def alone_or_jointly(prompt: Any) -> Any:
    """Answer the one prompt, and those of single methods beside it."""
    if prompt.name == "single_call/judge":
        return sound(prompt)
    if prompt.name == "checkeval/answer":
        return answers_to(prompt)
    words = {"reasoning": "Because.", "analysis": "At length."}
    return {name: words.get(name, 3) for name in prompt.reply.model_fields}


async def test_one_call_rates_a_text_by_every_criterion_in_the_rubric_s_order():
    judge = jointly()
    found = await run(judge)
    assert [prompt.name for prompt in judge.prompts] == ["single_call/judge"]
    assert tuple(each.criterion for each in found) == IDS
    by_id = {each.criterion: each for each in found}
    for name in ("h1", "h2", "e1", "direct", "geval"):
        assert by_id[name] == CriterionRating(name, drawn_rating(judge.prompts[0], name), "It shows.")
    # The better answer to the third question is no.
    assert [by_id[name].score for name in ("q1", "q2", "q3")] == [1.0, 1.0, 0.0]
    assert by_id["q1"].reason == "It was looked up."


async def test_entries_count_by_id_and_not_by_place():
    judge = jointly(lambda reply: dict(reversed(reply.items())))
    assert await run(judge) == await run(jointly())
    assert len(judge.prompts) == 1


@pytest.mark.parametrize("parts", [(HYPOTHESES,), (CHECKLIST,), (DIRECT,), (EXPLAINED, STEPS)])
async def test_parts_of_one_kind_take_one_call(parts: tuple[Part, ...]):
    judge = jointly()
    found = await run(judge, parts)
    assert [each.criterion for each in found] == [each.id for part in parts for each in part.criteria]
    assert all(each.score is not None for each in found)
    assert len(judge.prompts) == 1


# What can join


async def test_parts_that_cannot_join_are_scored_by_their_own_methods_in_their_place():
    judge = FakeJudge(alone_or_jointly)
    found = await run(judge, (WEIGHTED, HYPOTHESES, FEW_SHOT, CHECKLIST, ANALYSED, MEASURED, BARE, CONCATENATED))
    names = [prompt.name for prompt in judge.prompts]
    assert names.count("single_call/judge") == 1
    assert set(names) == {
        "single_call/judge",
        "geval/rate",
        "few_shot/rate",
        "analyze_rate/rate",
        "checkeval/answer",
        "hypoeval/rate",
    }
    order = ["weighted", "h1", "h2", "shown", "q1", "q2", "q3", "analysed", "log_words", "p1", "overall"]
    assert [each.criterion for each in found] == order
    assert all(each.score is not None for each in found)


async def test_two_criteria_of_one_id_are_refused_before_anything_is_asked():
    judge = jointly()
    with pytest.raises(ValueError, match="ids of their own; twice: h1"):
        await run(judge, (HYPOTHESES, overall_part("direct", whole(id="h1"))))
    assert judge.prompts == []


# What goes wrong


async def test_what_never_came_is_missing_with_the_provider_s_words():
    def down(_: Any) -> Any:
        raise JudgeUnavailable("The provider is down.")

    assert await run(FakeJudge(down)) == tuple(CriterionRating(name, None, "The provider is down.") for name in IDS)
