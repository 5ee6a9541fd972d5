"""A rating call shows the source and the context only if one of its criteria needs them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import scripted_judge as scripts

from rubriclab.methods.checkeval.learn import augment, filter_questions
from rubriclab.methods.checkeval.score import CheckEvalSettings, answer_prompts
from rubriclab.methods.hypoeval.learn import ProposalContext, propose
from rubriclab.methods.hypoeval.score import rate_prompt, rate_together_prompt
from rubriclab.methods.single_call import judge_group_prompt, judge_prompt
from rubriclab.models.rubric import Criterion, Part
from rubriclab.ops.edits import merged, reworded
from rubriclab.prompts import render
from rubriclab.prompts.prompt import Prompt

TEXT = scripts.example(1, 3, source="THE SOURCE", context="THE CONTEXT")
ASKED = CheckEvalSettings(ask="together", answers="with reasons")
Build = Callable[[Sequence[Criterion]], Prompt[Any]]

PROMPTS: dict[str, tuple[str, Build]] = {
    "hypoeval/rate": ("hypothesis", lambda criteria: rate_prompt(TEXT, criteria, scripts.assignment())),
    "hypoeval/rate_together": (
        "hypothesis",
        lambda criteria: rate_together_prompt(TEXT, criteria, scripts.assignment()),
    ),
    "checkeval/answer": (
        "question",
        lambda criteria: answer_prompts(TEXT, criteria, {}, scripts.assignment(), ASKED)[0],
    ),
    "single_call/judge": (
        "hypothesis",
        lambda criteria: judge_prompt(TEXT, [scripts.part_of("hypoeval", *criteria)], scripts.assignment()),
    ),
    "single_call/judge_rivals": (
        "hypothesis",
        lambda criteria: judge_group_prompt([TEXT], [scripts.part_of("hypoeval", *criteria)], scripts.assignment()),
    ),
}


def needing(kind: str, *needs: bool) -> list[Criterion]:
    made = [scripts.question(f"c{n}") if kind == "question" else scripts.criterion(f"c{n}") for n in range(len(needs))]
    return [each.model_copy(update={"needs_source": need}) for each, need in zip(made, needs, strict=True)]


def shows_source(prompt: Prompt[Any]) -> bool:
    """Return whether the prompt shows the source and the context; both or neither."""
    content = render(prompt)[-1]["content"]
    assert TEXT.output in content
    (shown,) = {name in content for name in ("THE SOURCE", "THE CONTEXT")}
    assert shown or "in the light of" not in content
    return shown


@pytest.mark.parametrize("name", PROMPTS)
@pytest.mark.parametrize(
    "needs", [each for n in (1, 2) for each in itertools.product([True, False], repeat=n)], ids=str
)
def test_a_call_shows_the_source_if_and_only_if_a_criterion_in_it_needs_it(name: str, needs: tuple[bool, ...]) -> None:
    kind, build = PROMPTS[name]
    prompt = build(needing(kind, *needs))
    assert prompt.name == name
    assert shows_source(prompt) == any(needs)


def test_the_whole_always_has_the_source() -> None:
    alone = scripts.part_of("hypoeval", *needing("hypothesis", False))
    assert shows_source(judge_prompt(TEXT, [alone, scripts.DIRECT], scripts.assignment()))
    assert not shows_source(judge_prompt(TEXT, [alone], scripts.assignment()))


@pytest.mark.parametrize(
    ("said", "needs"), [({"needs_source": False}, False), ({"needs_source": True}, True), ({}, True)]
)
async def test_a_proposed_hypothesis_needs_the_source_unless_the_reply_says_otherwise(
    said: dict[str, bool], needs: bool
) -> None:
    reply = {"reasoning": "", "hypotheses": [{**scripts.hypothesis("a"), **said}]}
    generator = scripts.scripted(propose=lambda _: reply)
    (proposed,), _ = await propose(1, ProposalContext(), scripts.assignment(), generator)
    assert proposed.needs_source == said.get("needs_source", True)
    assert "`needs_source`" in render(generator.prompts[0])[-1]["content"]


async def proposed_questions(needs: bool, **chosen: Any) -> dict[str, bool]:
    """Return whether each question of a learned pool needs the source, where every reply says `needs`."""

    def new(prompt: Prompt[Any]) -> dict[str, Any]:
        own = {"seed": prompt.fields["questions"][0]["id"]} if "questions" in prompt.fields else {}
        numbers = range(prompt.fields.get("count") or prompt.fields["most"])
        texts = [scripts.stated(f"Wording {prompt.name} {number}?") for number in numbers]
        return {"reasoning": "", "questions": [{**each, **own, "needs_source": needs} for each in texts]}

    def verdict(prompt: Prompt[Any]) -> dict[str, Any]:
        return {name: {**found, "needs_source": needs} for name, found in scripts.verdicts(prompt).items()}

    given, settings = scripts.checklist((1,)), CheckEvalSettings(diversified=1, elaborated_most=1, **chosen)
    generator = scripts.scripted(diversify=new, elaborate=new, filter=verdict)
    pool, failures = await augment(given, scripts.assignment(), generator, settings)
    assert not failures
    kept, *_ = await filter_questions(pool, given, scripts.assignment(), generator, settings)
    return {each.id: each.needs_source for each in kept}


@pytest.mark.parametrize("needs", [True, False])
async def test_a_proposed_question_and_a_filtered_seed_need_the_source_as_the_replies_say(needs: bool) -> None:
    assert await proposed_questions(needs) == {"a1": needs, "side-1-d1": needs, "a1-e1": needs}


async def test_a_seed_that_no_filter_has_read_needs_the_source() -> None:
    found = await proposed_questions(False, filter="off")
    assert found == {"a1": True, "side-1-d1": False, "a1-e1": False}


def test_a_rubric_states_what_needs_no_source_and_has_another_digest() -> None:
    plain, alone = (scripts.part_of("hypoeval", *needing("hypothesis", need)) for need in (True, False))
    assert "needs_source" not in plain.model_dump_json()
    assert '"needs_source":false' in alone.model_dump_json()
    assert Part.model_validate_json(alone.model_dump_json()) == alone


def test_other_wordings_by_a_person_need_the_source() -> None:
    first, second = needing("hypothesis", False, False)
    assert reworded(first, "hypoeval", "It follows the source.", "a01").needs_source
    assert merged([first, second], "It follows the source.", scripts.assignment().scale, "a02").needs_source
