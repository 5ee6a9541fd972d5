"""More questions from the seeds (CheckEval, 3.2, "Question Augmentation"): other sides, and finer points.

Both start from the seeds and neither from what the other wrote, so that every question goes back to one that a person
asked.
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
from rubriclab.methods.checkeval.questions import make_question
from rubriclab.methods.checkeval.replies import (
    Diversification,
    Elaboration,
    PlainDiversification,
    PlainElaboration,
    PlainQuestion,
)
from rubriclab.methods.checkeval.settings import CheckEvalSettings
from rubriclab.methods.prompting import first_usable
from rubriclab.option_names import option
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion

Author = Literal["written by hand", "prior knowledge"]

TOKENS_PER_QUESTION = 100


@dataclass(frozen=True, slots=True)
class QuestionPool:
    """Questions, sub-dimension by sub-dimension: seeds, other sides, finer points. `failures` are requests in vain."""

    questions: tuple[Criterion, ...]
    failures: tuple[str, ...] = ()


async def augmented(
    checklist: Checklist, assignment: Assignment, generator: Judge, settings: CheckEvalSettings
) -> QuestionPool:
    """Return the checklist's questions with those made from them.

    Raises:
        JudgeError: if questions were to be made, and not a single request for them was answered usably.
    """
    subs = checklist.sub_dimensions
    sides, points = await asyncio.gather(
        asyncio.gather(*(_diversified(sub, assignment, generator, settings) for sub in subs)),
        asyncio.gather(*(_elaborated(sub, seed, assignment, generator, settings) for sub, seed in _seeds(subs))),
    )
    requests = len(sides) * bool(settings.diversified) + len(points) * bool(settings.elaborated_most)
    failures = tuple(made for made in (*sides, *points) if isinstance(made, str))
    if requests and len(failures) == requests:
        raise JudgeError(
            f"No question could be made from the seeds: {failures[-1]}",
            f"Try another {option('generator')}, or keep to the seeds with diversified=0 and elaborated_most=0.",
        )
    author: Author = "written by hand" if settings.seeds == "checklist" else "prior knowledge"
    return QuestionPool(_identified(subs, sides, dict(zip(_ids(subs), points, strict=True)), author), failures)


def diversify_prompt(sub: SubDimension, assignment: Assignment, settings: CheckEvalSettings) -> Prompt[Any]:
    """Return the prompt for questions on sides of a sub-dimension that its seeds leave out."""
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
    """Return the prompt for `elaborated_fewest` to `elaborated_most` finer questions than `seed`."""
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


# What one request brought: questions with the ids of their seeds, or why it was in vain.
_Made = Sequence[tuple[str, PlainQuestion]] | str


async def _diversified(
    sub: SubDimension, assignment: Assignment, generator: Judge, settings: CheckEvalSettings
) -> _Made:
    if not settings.diversified:
        return ()
    prompt = diversify_prompt(sub, assignment, settings)
    answer = await first_usable(prompt, generator, salvage=prompt.reply)
    if answer.value is None:
        return f"other sides of {sub.name!r}: {answer.missing}"
    return [(new.seed, new) for new in answer.value.questions[: settings.diversified]]


async def _elaborated(
    sub: SubDimension, seed: SeedQuestion, assignment: Assignment, generator: Judge, settings: CheckEvalSettings
) -> _Made:
    if not settings.elaborated_most:
        return ()
    prompt = elaborate_prompt(sub, seed, assignment, settings)
    answer = await first_usable(prompt, generator, salvage=prompt.reply)
    if answer.value is None:
        return f"finer points of {seed.id}: {answer.missing}"
    return [(seed.id, new) for new in answer.value.questions[: settings.elaborated_most]]


def _identified(
    subs: Sequence[SubDimension], sides: Sequence[_Made], points: dict[str, _Made], author: Author
) -> tuple[Criterion, ...]:
    """Return the pool in its order, every new question under an id of its own."""
    taken = set(_ids(subs))
    pool: list[Criterion] = []
    for sub, made in zip(subs, sides, strict=True):
        pool += [make_question(seed.id, seed.text, sub, better=seed.better, author=author) for seed in sub.questions]
        pool += _named(f"{_slug(sub.name)}-d", made, sub, "diversified", taken)
        for seed in sub.questions:
            pool += _named(f"{seed.id}-e", points[seed.id], sub, "elaborated", taken)
    return tuple(pool)


def _named(
    prefix: str, made: _Made, sub: SubDimension, origin: Literal["diversified", "elaborated"], taken: set[str]
) -> Iterable[Criterion]:
    for seed, new in () if isinstance(made, str) else made:
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
