"""A rating call shows the source and the context only if one of its criteria needs them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import scripted_judge as scripts

from rubriclab.methods.checkeval.score import answer_prompts
from rubriclab.methods.hypoeval.score import rate_prompt
from rubriclab.methods.single_call import group_prompt, judge_prompt
from rubriclab.models.rubric import Criterion
from rubriclab.prompts import render
from rubriclab.prompts.prompt import Prompt

TEXT = scripts.example(1, 3, source="THE SOURCE", context="THE CONTEXT")
Build = Callable[[Sequence[Criterion]], Prompt[Any]]

PROMPTS: dict[str, tuple[str, Build]] = {
    "hypoeval/rate": ("hypothesis", lambda criteria: rate_prompt(TEXT, criteria, scripts.assignment())),
    "hypoeval/rate_together": ("hypothesis", lambda own: rate_prompt(TEXT, own, scripts.assignment(), for_each=True)),
    "checkeval/answer": (
        "question",
        lambda criteria: answer_prompts(TEXT, scripts.part_of("checkeval", *criteria), scripts.assignment())[0],
    ),
    "single_call/judge": (
        "hypothesis",
        lambda criteria: judge_prompt(TEXT, [scripts.part_of("hypoeval", *criteria)], scripts.assignment()),
    ),
    "single_call/judge_rivals": (
        "hypothesis",
        lambda criteria: group_prompt([TEXT], [scripts.part_of("hypoeval", *criteria)], scripts.assignment()),
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
