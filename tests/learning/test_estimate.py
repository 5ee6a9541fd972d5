"""Estimates of calls and tokens: prompts about a sample for scoring, and calls that a method states for learning."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import BaseModel
from scripted_judge import HYPOTHESES, PARTS, assignment, combined, example, part_of, question, scripted, whole

from rubriclab.data.rows import RowError
from rubriclab.judges.judge import Judge, ask
from rubriclab.learning.estimate import SAMPLE, _collect_prompts, estimate_learning, estimate_prompts, estimate_scoring
from rubriclab.learning.scoring import score_text
from rubriclab.methods.method import LearningCalls
from rubriclab.models.aggregation import CallGrouping
from rubriclab.models.rubric import Part
from rubriclab.models.text import Example
from rubriclab.prompts.prompt import Prompt

BARE = part_of("checkeval", *(question(f"p{n}") for n in range(3)), answers="yes or no")
WEIGHTED = part_of("direct", whole(id="weighted"), scoring="weighted", samples=3)


@pytest.mark.parametrize(
    ("ask", "parts"),
    [
        ("in one call", PARTS),
        ("in one call", (HYPOTHESES,)),
        ("in one call", (BARE, *PARTS, WEIGHTED)),
        ("by method", (BARE, WEIGHTED)),
    ],
)
async def test_scoring_a_few_texts_takes_the_calls_and_tokens_of_the_estimate(
    ask: CallGrouping, parts: tuple[Part, ...]
) -> None:
    judge, rubric = scripted(), combined(ask, parts)
    texts = [example(number, 3, context="many words " * 40 * number) for number in (1, 2)]
    for text in texts:
        await score_text(rubric, text, judge, "r@1")
    assert estimate_scoring(rubric, texts) == estimate_prompts(judge.prompts)


def test_many_texts_are_estimated_from_the_first_ones_and_faulty_rows_take_no_call() -> None:
    rubric, texts = combined("by method"), [example(number, 3) for number in range(3 * SAMPLE)]
    few = estimate_scoring(rubric, texts[:SAMPLE])
    rows: list[Example | RowError] = [RowError("f.jsonl", 2, "f2", "no text", "a text"), *texts]
    assert estimate_scoring(rubric, rows) == few * 3
    assert estimate_scoring(rubric, rows[:1]).calls == 0


def test_prompts_that_show_several_texts_count_as_so_many() -> None:
    texts = [example(number, 3) for number in range(4)]
    judge, generator = estimate_learning(LearningCalls(10, 2, shown=5), assignment(), texts)
    assert (judge.calls, generator.calls) == (10, 2)
    assert generator.prompt_tokens == judge.prompt_tokens
    assert generator.completion_tokens * 5 == judge.completion_tokens


def test_the_offline_answer_of_a_new_method_stands_in_for_a_reply() -> None:
    class Word(BaseModel):
        word: str

    async def work(judge: Judge) -> None:
        first = Prompt("new/first", {}, Word, max_tokens=9, offline=lambda _: {"word": "yes"})
        if (await ask(judge, first)).value:
            await ask(judge, replace(first, name="new/second", offline=None))

    assert [prompt.name for prompt in _collect_prompts(work)] == ["new/first", "new/second"]
