"""The form of calls in which a judge's replies can be used, tried on a few labelled texts.

Small models that cannot answer about twenty criteria at once can about fewer, at a higher price. Others do answer, but
give every text the same scores, from which nothing can be learned.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rubriclab.errors import JudgeError
from rubriclab.judges.ask import JudgeAnswer, ask
from rubriclab.judges.judge import Judge
from rubriclab.judges.price import estimated_tokens
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.single_call import divided, judge_prompt, ratings_in
from rubriclab.models.aggregation import CallForm
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.text import Assignment, Example
from rubriclab.models.version import Cell
from rubriclab.option_names import option
from rubriclab.prompts import render
from rubriclab.prompts.keyed import KeyedReply

# Calls in the usual form, each about another text, and calls in simpler forms after them.
USUAL_CALLS = SIMPLER_CALLS = 5
SIMPLER = (
    CallForm(criteria=10),
    CallForm(criteria=5),
    CallForm(criteria=2),
    CallForm(criteria=1),
    CallForm(criteria=1, reasons=False),
)
# Tried in turn if scores do not differ: two forms, since each needs at least two texts to show a difference.
SIMPLER_IF_EQUAL = (CallForm(criteria=5), CallForm(criteria=1))

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

    If texts with different labels get the same scores by every criterion, it is a simpler form in which they do not, or
    else the usual one.

    Args:
        parts: the criteria of a call in the usual form.
        criteria: the number of all criteria that the texts are to be rated by, for the price.

    Raises:
        JudgeError: if no reply in any form can be used.
    """
    return await _Trial(examples, parts, assignment, judge, criteria).usable_form()


def are_equal(columns: Iterable[Iterable[CriterionRating | Cell]]) -> bool:
    """Return whether the scores of each column are the same, as far as there are any."""
    return all(len({rated.score for rated in column} - {None}) <= 1 for column in columns)


def spread(texts: Sequence[Example], most: int) -> list[Example]:
    """Return at most so many texts, evenly spread from the first to the last."""
    places = np.linspace(0, len(texts) - 1, min(most, len(texts))).round().astype(int)
    return [texts[place] for place in places]


@dataclass(frozen=True)
class _Trial:
    """Arguments as for `usable_form`."""

    examples: Sequence[Example]
    parts: Sequence[Part]
    assignment: Assignment
    judge: Judge
    criteria: int

    async def usable_form(self) -> UsableForm:
        texts = self._texts()
        answers = await self._answers(texts, self.parts)
        if not any(answer.value for answer in answers) and any(answer.replied for answer in answers):
            return await self._readable(texts, next(answer for answer in answers if answer.replied))
        rated = [(text, self._ratings(answer)) for text, answer in zip(texts, answers, strict=True) if answer.value]
        usual = UsableForm(
            ratings={
                text.id: tuple(own[name] for name in self._asked) for text, own in rated if len(own) == self._usual
            }
        )
        texts = [text for text, _ in rated]
        if len(set(map(self._label, texts))) < 2 or not are_equal(self._columns(own for _, own in rated)):
            return usual
        return await self._differing(texts, usual)

    async def _readable(self, texts: Sequence[Example], answer: JudgeAnswer[KeyedReply]) -> UsableForm:
        """Return the first form with a reply that can be used, after one that could not."""
        simpler = [form for form in SIMPLER if form.criteria < self._usual or not form.reasons]
        for form, text in zip(simpler, itertools.cycle(texts), strict=False):
            first, refused = divided(self.parts, form.criteria)[0], answer.missing
            (answer,) = await self._answers([text], first, reasons=form.reasons)
            if answer.value:
                return self._form(form, f"replies about {self._usual} criteria at once could not be used ({refused})")
        began = answer.reply.text.strip()[:QUOTED] if answer.reply else ""
        raise JudgeError(
            f"The judge gave no usable rating of {len(texts)} texts in any form, from {self._usual} criteria a call to "
            f"{simpler[-1]}. The last reply began {began!r}; {answer.missing}",
            f"Try another {option('judge')}.",
        )

    async def _differing(self, texts: Sequence[Example], usual: UsableForm) -> UsableForm:
        """Return the first form in which the scores of texts with different labels differ, else the usual one."""
        why = f"asked about {self._usual} criteria at once, the judge gave one value to every text by each criterion"
        simpler = [form for form in SIMPLER_IF_EQUAL if form.criteria < self._usual]
        calls_left = SIMPLER_CALLS
        for number, form in enumerate(simpler):
            some = spread(texts, calls_left // (len(simpler) - number))
            calls_left -= len(some)
            answers = await self._answers(some, divided(self.parts, form.criteria)[0])
            if not are_equal(self._columns(map(self._ratings, answers))):
                return self._form(form, why)
        forms = " and ".join(map(str, simpler))
        return replace(usual, note=f"{why}, also with {forms}" if forms else why)

    def _texts(self) -> list[Example]:
        """Return texts with labels from the lowest to the highest."""
        return spread(sorted(self.examples, key=lambda example: (self._label(example), example.id)), USUAL_CALLS)

    async def _answers(
        self, texts: Sequence[Example], parts: Sequence[Part], *, reasons: bool = True
    ) -> list[JudgeAnswer[KeyedReply]]:
        prompts = (judge_prompt(text, parts, self.assignment, reasons=reasons) for text in texts)
        return await asyncio.gather(*(ask(self.judge, prompt, repair=False) for prompt in prompts))

    def _ratings(self, answer: JudgeAnswer[KeyedReply]) -> Mapping[str, CriterionRating]:
        return ratings_in(answer.value, self._asked) if answer.value else {}

    def _columns(self, rated: Iterable[Mapping[str, CriterionRating]]) -> list[list[CriterionRating]]:
        rows = list(rated)
        return [[row[name] for row in rows if name in row] for name in self._asked]

    def _label(self, example: Example) -> float:
        return float(example.scores[self.assignment.aspect.name])

    @property
    def _asked(self) -> dict[str, Criterion]:
        return {criterion.id: criterion for part in self.parts for criterion in part.criteria}

    @property
    def _usual(self) -> int:
        return len(self._asked)

    def _form(self, form: CallForm, why: str) -> UsableForm:
        """Return a form with a note on why it is needed and on its price."""
        calls = len(self.examples) * math.ceil(self.criteria / form.criteria)
        first = divided(self.parts, form.criteria)[0]
        prompt = judge_prompt(self.examples[0], first, self.assignment, reasons=form.reasons)
        note = (
            f"{why}; asked again in the form {form}, rating {len(self.examples)} texts by {self.criteria} criteria "
            f"takes about {calls:,} calls and {calls * estimated_tokens(render(prompt)):,} prompt tokens"
        )
        return UsableForm(form, note=note)
