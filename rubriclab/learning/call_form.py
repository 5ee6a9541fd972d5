"""The form of calls in which a judge's replies can be used, tried on the first labelled texts.

Small models that cannot answer about twenty criteria at once can about fewer, at a higher price.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rubriclab.aggregation import CallForm
from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.errors import JudgeError
from rubriclab.judges.ask import JudgeAnswer, ask
from rubriclab.judges.judge import Judge
from rubriclab.judges.price import estimated_tokens
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.single_call import divided, judge_prompt, ratings_in
from rubriclab.option_names import option
from rubriclab.prompts import Prompt, render
from rubriclab.prompts.keyed import KeyedReply
from rubriclab.rubric import Part

# Texts that are asked about in the usual form, and then one in each simpler form: ten calls at most.
TRIED = 5
SIMPLER = (
    CallForm(criteria=10),
    CallForm(criteria=5),
    CallForm(criteria=2),
    CallForm(criteria=1),
    CallForm(criteria=1, reasons=False),
)

# Characters of a reply that a message quotes.
QUOTED = 200


@dataclass(frozen=True)
class UsableForm:
    """The form in which replies can be used: `None` for the usual one, of which `ratings` are complete, by text."""

    form: CallForm | None = None
    ratings: Mapping[str, tuple[CriterionRating, ...]] = field(default_factory=dict)
    note: str = ""


async def usable_form(
    examples: Sequence[Example], parts: Sequence[Part], assignment: Assignment, judge: Judge, criteria: int
) -> UsableForm:
    """Return the first form in which the judge's replies can be used.

    Args:
        parts: the criteria of a call in the usual form.
        criteria: the number of all criteria that the texts are to be rated by, for the price.

    Raises:
        JudgeError: if no reply in any form can be used.
    """
    texts = examples[:TRIED]
    answers = await asyncio.gather(*(ask(judge, judge_prompt(text, parts, assignment), repair=False) for text in texts))
    if any(answer.value for answer in answers) or not any(answer.replied for answer in answers):
        return UsableForm(ratings=_complete(texts, answers, parts))
    usual = sum(len(part.criteria) for part in parts)
    answer = next(each for each in answers if each.replied)
    simpler = [form for form in SIMPLER if form.criteria < usual or not form.reasons]
    for form, text in zip(simpler, itertools.cycle(texts), strict=False):
        first = divided(parts, form.criteria)[0]
        prompt = judge_prompt(text, first, assignment, reasons=form.reasons)
        refused, answer = answer.missing, await ask(judge, prompt, repair=False)
        if answer.value:
            why = f"replies about {usual} criteria at once could not be used ({refused})"
            return UsableForm(form, note=f"{why}; {_price(form, prompt, len(examples), criteria)}")
    began = answer.reply.text.strip()[:QUOTED] if answer.reply else ""
    raise JudgeError(
        f"The judge gave no usable rating of the first {len(texts)} texts in any form, from {usual} criteria a "
        f"call to {simpler[-1]}. The last reply began {began!r}; {answer.missing}",
        f"Try another {option('judge')}.",
    )


def _complete(
    texts: Sequence[Example], answers: Sequence[JudgeAnswer[KeyedReply]], parts: Sequence[Part]
) -> dict[str, tuple[CriterionRating, ...]]:
    """Return the ratings of the texts that have all, in the order of the criteria."""
    criteria = {criterion.id: criterion for part in parts for criterion in part.criteria}
    replied = zip(texts, answers, strict=True)
    given = {text.id: ratings_in(answer.value, criteria) for text, answer in replied if answer.value}
    return {
        text: tuple(ratings[name] for name in criteria)
        for text, ratings in given.items()
        if len(ratings) == len(criteria)
    }


def _price(form: CallForm, prompt: Prompt[KeyedReply], texts: int, criteria: int) -> str:
    calls = texts * math.ceil(criteria / form.criteria)
    return (
        f"asked again in the form {form}, rating {texts} texts by {criteria} criteria takes about {calls:,} calls and "
        f"{calls * estimated_tokens(render(prompt)):,} prompt tokens"
    )
