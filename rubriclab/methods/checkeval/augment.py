"""New questions from the seeds (CheckEval, section 3.2, "Question Augmentation"): diversification and elaboration.

Both start from the seeds and not from each other's results, so every question is derived from a seed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from rubriclab.checklist import Checklist, SeedQuestion, SubDimension
from rubriclab.data.assignment import Assignment
from rubriclab.errors import JudgeError
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.replies import (
    Diversification,
    Elaboration,
    PlainDiversification,
    PlainElaboration,
    PlainQuestion,
)
from rubriclab.methods.checkeval.settings import CheckEvalSettings
from rubriclab.methods.prompting import first_usable
from rubriclab.methods.questions import make_question
from rubriclab.option_names import option
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion

Author = Literal["written by hand", "prior knowledge"]

TOKENS_PER_QUESTION = 100


@dataclass(frozen=True, slots=True)
class QuestionPool:
    """Questions by sub-dimension: seeds, diversified and elaborated ones; and the reasons of failed requests."""

    questions: tuple[Criterion, ...]
    failures: tuple[str, ...] = ()


async def augment(
    checklist: Checklist, assignment: Assignment, generator: Judge, settings: CheckEvalSettings
) -> QuestionPool:
    """Return the checklist's questions and those made from them.

    Raises:
        JudgeError: if questions were requested, and all requests failed.
    """
    subs = checklist.sub_dimensions
    diversifications, elaborations = await asyncio.gather(
        asyncio.gather(*(_diversified(sub, assignment, generator, settings) for sub in subs)),
        asyncio.gather(*(_elaborated(sub, seed, assignment, generator, settings) for sub, seed in _seeds(subs))),
    )
    requests = len(diversifications) * bool(settings.diversified) + len(elaborations) * bool(settings.elaborated_most)
    failures = tuple(result for result in (*diversifications, *elaborations) if isinstance(result, str))
    if requests and len(failures) == requests:
        raise JudgeError(
            f"No question could be made from the seeds: {failures[-1]}",
            f"Try another {option('generator')}, or set diversified and elaborated_most of checkeval to 0: only the "
            "seeds are then used.",
        )
    author: Author = "written by hand" if settings.seeds == "checklist" else "prior knowledge"
    return QuestionPool(
        _with_ids(subs, diversifications, dict(zip(_ids(subs), elaborations, strict=True)), author), failures
    )


def diversify_prompt(sub: SubDimension, assignment: Assignment, settings: CheckEvalSettings) -> Prompt[Any]:
    """Return the prompt for questions about sides of a sub-dimension that its seeds do not cover."""
    fields = {
        **assignment.fields(),
        "sub_dimension": _shown(sub),
        "questions": [_payload(seed) for seed in sub.questions],
        "count": settings.diversified,
        "self_contained": settings.self_contained,
    }
    form = Diversification if settings.self_contained else PlainDiversification
    return Prompt("checkeval/diversify", fields, form, max_tokens=_longest(settings.diversified))


def elaborate_prompt(
    sub: SubDimension, seed: SeedQuestion, assignment: Assignment, settings: CheckEvalSettings
) -> Prompt[Any]:
    """Return the prompt for `elaborated_fewest` to `elaborated_most` finer questions from `seed`."""
    fields = {
        **assignment.fields(),
        "sub_dimension": _shown(sub),
        "question": _payload(seed),
        "fewest": settings.elaborated_fewest,
        "most": settings.elaborated_most,
        "self_contained": settings.self_contained,
    }
    form = Elaboration if settings.self_contained else PlainElaboration
    return Prompt("checkeval/elaborate", fields, form, max_tokens=_longest(settings.elaborated_most))


# The result of a request: questions with the ids of their seeds, or why it failed.
_NewQuestions = Sequence[tuple[str, PlainQuestion]] | str


async def _diversified(
    sub: SubDimension, assignment: Assignment, generator: Judge, settings: CheckEvalSettings
) -> _NewQuestions:
    if not settings.diversified:
        return ()
    prompt = diversify_prompt(sub, assignment, settings)
    answer = await first_usable(prompt, generator, salvage=prompt.reply)
    if answer.value is None:
        return f"other sides of {sub.name!r}: {answer.missing}"
    return [(new.seed, new) for new in answer.value.questions[: settings.diversified]]


async def _elaborated(
    sub: SubDimension, seed: SeedQuestion, assignment: Assignment, generator: Judge, settings: CheckEvalSettings
) -> _NewQuestions:
    if not settings.elaborated_most:
        return ()
    prompt = elaborate_prompt(sub, seed, assignment, settings)
    answer = await first_usable(prompt, generator, salvage=prompt.reply)
    if answer.value is None:
        return f"finer points of {seed.id}: {answer.missing}"
    return [(seed.id, new) for new in answer.value.questions[: settings.elaborated_most]]


def _with_ids(
    subs: Sequence[SubDimension], sides: Sequence[_NewQuestions], points: dict[str, _NewQuestions], author: Author
) -> tuple[Criterion, ...]:
    """Return all questions in order, every new one with a new id."""
    taken = set(_ids(subs))
    questions: list[Criterion] = []
    for sub, new in zip(subs, sides, strict=True):
        questions += [
            make_question(seed.id, seed.text, sub, better=seed.better, author=author) for seed in sub.questions
        ]
        questions += _named(f"{_slug(sub.name)}-d", new, sub, "diversified", taken)
        for seed in sub.questions:
            questions += _named(f"{seed.id}-e", points[seed.id], sub, "elaborated", taken)
    return tuple(questions)


def _named(
    prefix: str, result: _NewQuestions, sub: SubDimension, origin: Literal["diversified", "elaborated"], taken: set[str]
) -> Iterable[Criterion]:
    for seed, new in () if isinstance(result, str) else result:
        name = next(name for number in count(1) if (name := f"{prefix}{number}") not in taken)
        taken.add(name)
        yield make_question(name, new.text, sub, seed, origin=origin, absent=new.absent, broken=new.broken)


def _seeds(subs: Sequence[SubDimension]) -> list[tuple[SubDimension, SeedQuestion]]:
    return [(sub, seed) for sub in subs for seed in sub.questions]


def _ids(subs: Sequence[SubDimension]) -> list[str]:
    return [seed.id for _, seed in _seeds(subs)]


def _shown(sub: SubDimension) -> dict[str, Any]:
    return {"name": sub.name, "definition": sub.definition}


def _payload(seed: SeedQuestion) -> dict[str, Any]:
    return {"id": seed.id, "text": seed.text, "better": seed.better}


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "sub-dimension"


def _longest(number: int) -> int:
    return 600 + TOKENS_PER_QUESTION * number
