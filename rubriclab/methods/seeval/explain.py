"""Self-explanations: elicited from the judge (SEEval, sections 2.2 and 2.3), and rewritten by their errors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel

from rubriclab.errors import JudgeError
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.holistic import STRIDE, TEMPERATURE, ScoreFormat, with_answer_scale
from rubriclab.methods.prompting import shown_once
from rubriclab.methods.reasons import (
    CitedNumbers,
    NumberedReason,
    cited_reasons,
    fields_of_reasons,
    numbered_reasons,
)
from rubriclab.methods.replies import at_most
from rubriclab.methods.seeval.settings import SEEvalSettings
from rubriclab.models.base import LONGEST_WORDING
from rubriclab.models.characters import is_blank
from rubriclab.models.rubric import CitedReason
from rubriclab.models.text import Assignment, Example
from rubriclab.option_names import option
from rubriclab.prompts import Prompt

FORM = ScoreFormat("seeval/rate", lambda criterion: {"explanation": criterion.statement, "steps": criterion.steps})

# In tokens; a rewriting comes after its reasoning.
LONGEST = 1536
LONGEST_REFINED = 2 * LONGEST


def _worded(text: str) -> str:
    if is_blank(text):
        raise ValueError("an explanation needs words")
    return text.strip()


Words = Annotated[str, AfterValidator(_worded), at_most(LONGEST_WORDING)]


class Explanation(BaseModel):
    """What a judge understands a task to ask of it."""

    explanation: Words


class Refined(BaseModel):
    """A better explanation, after the reasoning that led to it."""

    reasoning: str
    explanation: Words


class CitingRefined(Refined):
    """A better explanation, with the numbers of the raters' reasons that it came from."""

    reasons: CitedNumbers = []


@dataclass(frozen=True, slots=True)
class Mistake:
    """A text whose score differs from its label."""

    example: Example
    label: float
    given: float


async def elicit(
    count: int, assignment: Assignment, judge: Judge, settings: SEEvalSettings, steps: str = ""
) -> tuple[str, ...]:
    """Return up to `count` different explanations, the one at temperature 0 first.

    Args:
        steps: evaluation steps in the prompt, if any.

    Raises:
        JudgeError: if none could be obtained.
    """
    prompts = (explain_prompt(number, assignment, settings, steps) for number in range(count))
    answers = await asyncio.gather(*(ask(judge, prompt) for prompt in prompts))
    explanations = tuple(dict.fromkeys(answer.value.explanation for answer in answers if answer.value))
    if not explanations:
        raise JudgeError(f"No explanation could be obtained: {answers[0].missing}", f"Try another {option('judge')}.")
    return explanations


def explain_prompt(
    number: int, assignment: Assignment, settings: SEEvalSettings, steps: str = ""
) -> Prompt[Explanation]:
    """Return the prompt for the explanation with this number, from 0; scoring repeats it verbatim."""
    return Prompt(
        "seeval/explain",
        {**with_answer_scale(assignment, settings).fields(), "steps": steps},
        Explanation,
        temperature=TEMPERATURE if number else 0.0,
        max_tokens=LONGEST,
        sample=STRIDE * number,
    )


async def refine(
    explanation: str, mistakes: Sequence[Mistake], assignment: Assignment, generator: Judge
) -> tuple[str, tuple[CitedReason, ...]] | None:
    """Return the explanation rewritten by `mistakes`, and the raters' reasons that it came from.

    `None` if there is no usable, different one.
    """
    answer = await ask(generator, refine_prompt(explanation, mistakes, assignment))
    if answer.value is None or answer.value.explanation == explanation:
        return None
    numbers = answer.value.reasons if isinstance(answer.value, CitingRefined) else []
    return answer.value.explanation, cited_reasons(numbers, _reasons(mistakes, assignment))


def refine_prompt(explanation: str, mistakes: Sequence[Mistake], assignment: Assignment) -> Prompt[Refined]:
    """Return the prompt that shows `mistakes` and requests a better explanation."""
    reasons = _reasons(mistakes, assignment)
    observations = [
        {
            **assignment.text_fields(mistake.example),
            "score": mistake.label,
            "given": mistake.given,
            "reasons": fields_of_reasons(reasons, mistake.example.id),
        }
        for mistake in mistakes
    ]
    fields = {
        **assignment.fields(),
        "explanation": explanation,
        "observations": shown_once(observations),
        "reasons_shown": len(reasons),
    }
    return Prompt("seeval/refine", fields, CitingRefined if reasons else Refined, max_tokens=LONGEST_REFINED)


def _reasons(mistakes: Sequence[Mistake], assignment: Assignment) -> tuple[NumberedReason, ...]:
    return numbered_reasons((mistake.example for mistake in mistakes), assignment.aspect.name)
