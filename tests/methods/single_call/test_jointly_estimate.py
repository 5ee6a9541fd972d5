"""The estimate told before anything is asked: what is then asked, to the token."""

from __future__ import annotations

import pytest
from checkeval_scripts import answers as answers_to, question
from holistic_scripts import part as overall_part, spent, whole
from hypoeval_scripts import assignment, example
from single_call_scripts import DIRECT, HYPOTHESES, IDS, PARTS, combined, part_of, sound

from rubriclab.data import RowError
from rubriclab.judges import FakeJudge
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.single_call import estimate_single_call, judge_all
from rubriclab.rubric import Part
from rubriclab.scoring.estimate import scoring_at_most

TEXT = example(1, 3, source="The source.", context="The context.")
LONG = part_of("checkeval", *(question(f"p{n}") for n in range(3)), part_words=50)
WEIGHTED = overall_part("direct", whole(id="weighted"), scoring="weighted", samples=3)


@pytest.mark.parametrize("parts", [PARTS, (HYPOTHESES,), (LONG, *PARTS, WEIGHTED), (WEIGHTED,)])
async def test_the_estimate_is_what_is_asked(parts: tuple[Part, ...]):
    def script(prompt):
        if prompt.name == "single_call/judge":
            return sound(prompt)
        return answers_to(prompt) if prompt.name == "checkeval/answer" else {"score": 3}

    judge, text = FakeJudge(script), example(2, 3, context="many words " * 90)
    await judge_all(text, parts, assignment(), judge)
    most, took = estimate_single_call(text, parts, assignment()), spent(judge)
    assert (most.calls, most.prompt_tokens) == (took.calls, took.prompt_tokens)
    assert most.completion_tokens == took.completion_tokens


def test_one_call_reads_the_text_once_and_so_is_cheaper_than_several():
    text = example(2, 3, source="many words " * 500)
    apart = CallEstimate()
    for part in PARTS:
        apart += METHODS[part.method].scoring_at_most(text, part, assignment())
    together = estimate_single_call(text, PARTS, assignment())
    assert (together.calls, apart.calls) == (1, 2 + 2 + 3)
    assert together.prompt_tokens < apart.prompt_tokens / 3
    assert together.completion_tokens < apart.completion_tokens


def test_a_dry_run_goes_by_how_the_rubric_asks():
    rows = [TEXT, RowError("f.jsonl", 2, "f2", "no text", "a text"), example(2, 3)]
    once = estimate_single_call(TEXT, PARTS, assignment()) + estimate_single_call(example(2, 3), PARTS, assignment())
    assert scoring_at_most(combined("in one call"), rows) == once  # type: ignore[arg-type]
    assert scoring_at_most(combined("by method"), rows).calls == 2 * 7  # type: ignore[arg-type]
    assert [each.id for each in combined("in one call").criteria] == [*IDS]


def test_a_rubric_of_one_method_is_asked_by_it():
    rubric = combined("by method", (DIRECT,)).model_copy(update={"aggregation": None})
    assert scoring_at_most(rubric, [TEXT]) == METHODS["direct"].scoring_at_most(TEXT, DIRECT, assignment())
