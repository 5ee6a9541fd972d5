"""A judge's answers to a rubric's questions about one text (CheckEval, 3.3): by question id, for each part of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.parts import parts
from rubriclab.methods.checkeval.questions import payload
from rubriclab.methods.checkeval.replies import (
    BareAnswers,
    ChecklistAnswers,
    asked_ids,
)
from rubriclab.methods.checkeval.settings import AnswerForm, Ask, CheckEvalScoringSettings
from rubriclab.methods.questions import by_trait
from rubriclab.methods.replies import why_missing
from rubriclab.methods.yes_no import YesNo
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion

TOKENS_PER_ANSWER = 96

FORMS: Mapping[AnswerForm, type[BaseModel]] = {"with reasons": ChecklistAnswers, "yes or no": BareAnswers}


@dataclass(frozen=True, slots=True)
class Answered:
    """What a judge answered to one question about one part of a text, or no answer and what went wrong."""

    answer: YesNo | None
    reason: str


async def answers(
    example: Example,
    questions: Sequence[Criterion],
    dimensions: Mapping[str, str],
    assignment: Assignment,
    judge: Judge,
    *,
    settings: CheckEvalScoringSettings,
) -> dict[str, tuple[Answered, ...]]:
    """Return the answers to each question, by its id: one for each part of the text, in order."""
    prompts = answer_prompts(example, questions, dimensions, assignment, settings)
    found: dict[str, tuple[Answered, ...]] = {question.id: () for question in questions}
    for reply in await asyncio.gather(*(_answered(prompt, judge) for prompt in prompts)):
        for name, answered in reply.items():
            found[name] += (answered,)
    return found


def answer_prompts(
    example: Example,
    questions: Sequence[Criterion],
    dimensions: Mapping[str, str],
    assignment: Assignment,
    settings: CheckEvalScoringSettings,
) -> list[Prompt[Any]]:
    """Return the prompts that ask all questions about a text, one part of it after the other.

    Args:
        dimensions: what is meant by the sub-dimensions that the questions' traits name.
    """
    pieces = parts(example.output, settings.part_words)
    groups, bare = _groups(questions, settings.ask), settings.answers == "yes or no"
    prompts = []
    for number, piece in enumerate(pieces, 1):
        fields = {
            **assignment.fields(),
            **assignment.text_fields(replace(example, output=piece)),
            "bare": bare,
            "part": {"number": number, "of": len(pieces)} if len(pieces) > 1 else None,
        }
        for group in groups:
            shown = {**fields, "sub_dimensions": _sub_dimensions(group, dimensions, bare)}
            longest = 256 + TOKENS_PER_ANSWER * len(group)
            prompts.append(Prompt("checkeval/answer", shown, FORMS[settings.answers], max_tokens=longest))
    return prompts


async def _answered(prompt: Prompt[Any], judge: Judge) -> dict[str, Answered]:
    ids = asked_ids(prompt.fields)
    answer = await ask(judge, prompt, salvage=prompt.reply)
    entries = answer.value.answers if answer.value else ()
    by_id = {entry.question: Answered(entry.answer, entry.reason.strip()) for entry in entries}
    if len(by_id) < len(ids):
        by_id = dict.fromkeys(ids, Answered(None, why_missing(prompt, answer, "answer"))) | by_id
    return by_id


def _groups(questions: Sequence[Criterion], how: Ask) -> list[list[Criterion]]:
    """Return the questions that are asked in one call each."""
    if how == "one by one":
        return [[question] for question in questions]
    return [list(questions)] if how == "together" else list(by_trait(questions).values())


def _sub_dimensions(group: Sequence[Criterion], dimensions: Mapping[str, str], bare: bool) -> list[dict[str, object]]:
    # What a question presupposes may be answered by n/a, which is no answer where yes or no alone is asked for.
    return [
        {
            "name": name,
            "definition": dimensions.get(name, ""),
            "questions": [payload(each, presupposed=not bare) for each in questions],
        }
        for name, questions in by_trait(group).items()
    ]
