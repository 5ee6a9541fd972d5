"""Ratings of texts by criteria: asked one by one, all in one call, or as one overall criterion."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.hypoeval.replies import HypothesisRatings
from rubriclab.methods.hypoeval.settings import Ask
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.replies import Rating
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, by_id, criterion_payload

# The id under which a single overall rating by all criteria is reported.
OVERALL = "overall"


async def rate(
    example: Example, criteria: Sequence[Criterion], assignment: Assignment, judge: Judge, ask_how: Ask
) -> tuple[CriterionRating, ...]:
    """Return one rating for each criterion, in order; for `concatenated` a single one with the id `overall`."""
    if ask_how == "together" and len(criteria) > 1:
        return await _together(example, criteria, assignment, judge)
    if ask_how == "concatenated":
        return (await _once(example, criteria, OVERALL, assignment, judge),)
    ratings = (_once(example, [criterion], criterion.id, assignment, judge) for criterion in criteria)
    return tuple(await asyncio.gather(*ratings))


def rate_prompt(example: Example, criteria: Sequence[Criterion], assignment: Assignment) -> Prompt[Rating]:
    """Return the prompt for one rating of `example` by `criteria`."""
    return Prompt("hypoeval/rate", _fields(example, criteria, assignment), Rating, max_tokens=512)


def rate_together_prompt(
    example: Example, criteria: Sequence[Criterion], assignment: Assignment
) -> Prompt[HypothesisRatings]:
    """Return the prompt for one rating by each of `criteria` in a single call; it lists them in the order of ids."""
    longest = 256 + 128 * len(criteria)
    fields = _fields(example, by_id(criteria), assignment)
    return Prompt("hypoeval/rate_together", fields, HypothesisRatings, max_tokens=longest)


async def _once(
    example: Example, criteria: Sequence[Criterion], name: str, assignment: Assignment, judge: Judge
) -> CriterionRating:
    answer = await ask(judge, rate_prompt(example, criteria, assignment))
    if answer.value is None:
        return CriterionRating(name, None, answer.missing or "")
    return CriterionRating(name, answer.value.score, answer.value.reasoning)


async def _together(
    example: Example, criteria: Sequence[Criterion], assignment: Assignment, judge: Judge
) -> tuple[CriterionRating, ...]:
    answer = await ask(judge, rate_together_prompt(example, criteria, assignment))
    if answer.value is None:
        return tuple(CriterionRating(criterion.id, None, answer.missing or "") for criterion in criteria)
    given = {rating.criterion: rating for rating in answer.value.ratings}
    return tuple(CriterionRating(c.id, given[c.id].score, given[c.id].reasoning) for c in criteria)


def _fields(example: Example, criteria: Sequence[Criterion], assignment: Assignment) -> dict[str, Any]:
    payload = [criterion_payload(criterion) for criterion in criteria]
    return {**assignment.fields(), **assignment.text_fields(example), "criteria": payload}
