"""All criteria of a text judged in one call, and beside it what cannot be asked so."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.checkeval.answer import QuestionAnswer, rate_question
from rubriclab.methods.checkeval.replies import AnswerEntry
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.prompting import gathered
from rubriclab.methods.replies import ScoreEntry, rating, why_missing
from rubriclab.methods.single_call.prompt import can_join, divided, judge_prompt
from rubriclab.models.aggregation import CallForm
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.text import Assignment, Example
from rubriclab.prompts.keyed import KeyedReply


async def judge_all(
    example: Example, parts: Sequence[Part], assignment: Assignment, judge: Judge, form: CallForm | None = None
) -> tuple[CriterionRating, ...]:
    """Return the text's ratings by the criteria of `parts`, in their order, as the methods' own scoring would.

    All parts that `can_join` are asked about in one call, or in calls of the form given. The others are scored as their
    methods score them: taken apart, weighted by probabilities, with other texts shown, or measured without a judge.

    A reply that cannot be used is asked for once more; after that its sound entries count, and the others are missing
    with the reason.

    Raises:
        ValueError: if an id names two of the criteria asked about in one call.
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does; they concern every text.
    """
    calls = divided([part for part in parts if can_join(part)], form.criteria if form else None)
    reasons = form is None or form.reasons
    together, rest = await asyncio.gather(
        asyncio.gather(*(_together(example, each, assignment, judge, reasons=reasons) for each in calls)),
        alone(example, parts, assignment, judge),
    )
    return in_order(parts, {name: rated for each in together for name, rated in each.items()}, rest)


async def alone(
    example: Example, parts: Sequence[Part], assignment: Assignment, judge: Judge
) -> list[tuple[CriterionRating, ...]]:
    """Return the text's ratings by each of the parts that cannot join, as their methods score."""
    scored = (METHODS[part.method].score(example, part, assignment, judge) for part in parts if not can_join(part))
    return [ratings for _, ratings in await gathered(scored)]


def in_order(
    parts: Sequence[Part], together: Mapping[str, CriterionRating], rest: Sequence[tuple[CriterionRating, ...]]
) -> tuple[CriterionRating, ...]:
    """Return the ratings of all parts in their order.

    Args:
        together: the ratings by the criteria of parts that can join, by id.
        rest: those of each other part.
    """
    others = iter(rest)
    by_part = (tuple(together[each.id] for each in part.criteria) if can_join(part) else next(others) for part in parts)
    return tuple(rated for ratings in by_part for rated in ratings)


async def _together(
    example: Example, parts: Sequence[Part], assignment: Assignment, judge: Judge, *, reasons: bool
) -> dict[str, CriterionRating]:
    prompt = judge_prompt(example, parts, assignment, reasons=reasons)
    answer = await ask(judge, prompt)
    criteria = {criterion.id: criterion for part in parts for criterion in part.criteria}
    given = ratings_in(answer.value, criteria) if answer.value else {}
    missing = why_missing(prompt, answer, "entry for it") if len(given) < len(criteria) else ""
    return {name: given.get(name, CriterionRating(name, None, missing)) for name in criteria}


def ratings_in(judgments: KeyedReply, criteria: Mapping[str, Criterion]) -> dict[str, CriterionRating]:
    """Return the ratings in a reply about one text, by criterion."""
    found = {}
    for name, each in judgments.entries.items():
        if isinstance(each, AnswerEntry):
            found[name] = rate_question(criteria[name], QuestionAnswer(each.answer, each.reason.strip()))
        elif isinstance(each, ScoreEntry):
            found[name] = rating(name, each.score, each.reason)
        elif criteria[name].kind == "question":
            found[name] = rate_question(criteria[name], QuestionAnswer(each, ""))
        else:
            found[name] = rating(name, each, "")
    return found
