"""Seed questions, and new ones from them by diversification and elaboration (CheckEval, sections 3.1 and 3.2).

CheckEval's authors write sub-dimensions and seeds by hand. In HypoEval's comparison the model writes the whole
checklist from prior knowledge (HypoEval, section 3).

Both start from the seeds and not from each other's results, so every question is derived from a seed.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from rubriclab.errors import ChecklistError, JudgeError
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.replies import (
    CitingDiversification,
    Diversification,
    Elaboration,
    FinerQuestion,
    PlainDiversification,
    PlainElaboration,
    WrittenSeeds,
)
from rubriclab.methods.checkeval.settings import CheckEvalSettings
from rubriclab.methods.checklist import Checklist, SeedQuestion, SubDimension
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.prompting import first_usable
from rubriclab.methods.questions import make_question
from rubriclab.methods.reasons import cited_reasons, fields_of_reasons, numbered_reasons
from rubriclab.models.base import digest
from rubriclab.models.rubric import CitedReason, Criterion
from rubriclab.models.text import Assignment, Example, named_reasons
from rubriclab.option_names import option
from rubriclab.prompts import Prompt

# Sub-dimensions requested, as many as in the paper's checklists, and questions in each.
FEWEST, MOST = 3, 5
QUESTIONS_EACH = 2

# In tokens.
LONGEST = 1500


async def starting_checklist(training_input: TrainingInput, settings: CheckEvalSettings, generator: Judge) -> Checklist:
    """Return the sub-dimensions and seed questions to start from.

    Raises:
        ChecklistError: if they come from a checklist, and there is none.
        JudgeError: if the generator wrote no usable ones.
    """
    if settings.seeds == "checklist":
        return _shortened(training_input, settings)
    answer = await ask(generator, seeds_prompt(training_input.assignment))
    if answer.value is None:
        raise JudgeError(f"No seed questions could be written: {answer.missing}", f"Try another {option('generator')}.")
    return _as_checklist(answer.value, training_input.assignment)


def seeds_prompt(assignment: Assignment) -> Prompt[WrittenSeeds]:
    """Return the prompt for sub-dimensions and seed questions from the aspect's definition alone."""
    fields = {**assignment.fields(), "fewest": FEWEST, "most": MOST, "each": QUESTIONS_EACH}
    return Prompt("checkeval/seeds", fields, WrittenSeeds, max_tokens=LONGEST)


def planned_size(training_input: TrainingInput, settings: CheckEvalSettings) -> tuple[int, int]:
    """Return the number of sub-dimensions and of seed questions; as many as requested if the generator writes them.

    Raises:
        ChecklistError: if the questions come from a checklist, and there is none.
    """
    if settings.seeds == "prior knowledge":
        return MOST, MOST * QUESTIONS_EACH
    subs = _shortened(training_input, settings).sub_dimensions
    return len(subs), sum(len(sub.questions) for sub in subs)


def _shortened(training_input: TrainingInput, settings: CheckEvalSettings) -> Checklist:
    """Return the checklist with at most as many seeds of each sub-dimension as the settings allow."""
    if training_input.checklist is None:
        raise ChecklistError("CheckEval starts from seed questions, and there are none.")
    most = settings.seeds_per_sub_dimension
    if not most:
        return training_input.checklist
    subs = tuple(
        sub.model_copy(update={"questions": _first(sub.questions, most, settings)})
        for sub in training_input.checklist.sub_dimensions
    )
    return training_input.checklist.model_copy(update={"sub_dimensions": subs})


def _first(seeds: tuple[SeedQuestion, ...], most: int, settings: CheckEvalSettings) -> tuple[SeedQuestion, ...]:
    # Sorting is stable, so both kinds keep the checklist's order.
    ordered = sorted(seeds, key=lambda seed: settings.procedure == "paper" and seed.better == "no")
    kept = ordered[:most]
    return tuple(seed for seed in seeds if seed in kept)


def _as_checklist(written: WrittenSeeds, assignment: Assignment) -> Checklist:
    numbers = count(1)
    subs = tuple(
        SubDimension(
            name=sub.name,
            definition=sub.definition,
            questions=tuple(SeedQuestion(id=f"s{next(numbers):02d}", text=text) for text in sub.questions),
        )
        for sub in written.sub_dimensions
    )
    aspect = assignment.aspect
    return Checklist(
        format="rubriclab-checklist/1",
        task=assignment.words.task,
        aspect=aspect.name,
        definition=aspect.definition,
        sub_dimensions=subs,
    )


Author = Literal["written by hand", "prior knowledge"]

TOKENS_PER_QUESTION = 100

# Fewest finer questions requested per seed.
FEWEST = 3

# Texts whose raters' reasons the diversification is shown.
MOST_EXPLAINED = 6


@dataclass(frozen=True, slots=True)
class QuestionPool:
    """Questions by sub-dimension: seeds, diversified and elaborated ones; and the reasons of failed requests."""

    questions: tuple[Criterion, ...]
    failures: tuple[str, ...] = ()


async def augment(
    checklist: Checklist,
    assignment: Assignment,
    generator: Judge,
    settings: CheckEvalSettings,
    explained: Sequence[Example] = (),
) -> QuestionPool:
    """Return the checklist's questions and those made from them.

    Args:
        explained: labelled texts whose raters' reasons the diversification is shown, without the texts.

    Raises:
        JudgeError: if questions were requested, and all requests failed.
    """
    subs = checklist.sub_dimensions
    together = [subs] if settings.procedure == "paper" else [(sub,) for sub in subs]
    diversifications, elaborations = await asyncio.gather(
        asyncio.gather(*(_diversified(some, assignment, generator, settings, explained) for some in together)),
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


def explained_texts(examples: Sequence[Example], aspect: str) -> tuple[Example, ...]:
    """Return the labelled texts whose raters' reasons the diversification is shown, in canonical order.

    Questions made from reasons have seen the labels of these texts' groups, so they cannot be tested on them. So few
    texts are chosen, from at most half of the groups, and from those with the most explained texts; labels play no
    part in the choice.
    """
    given = [example for example in examples if named_reasons(example, aspect)]
    sizes = Counter(example.group for example in given)
    ranked = sorted(sizes, key=lambda group: (-sizes[group], digest(group)))
    half = max(1, len({example.group for example in examples}) // 2)
    rank = {group: place for place, group in enumerate(ranked[:half])}
    inside = [example for example in given if example.group in rank]
    return tuple(sorted(inside, key=lambda example: (rank[example.group], example.id))[:MOST_EXPLAINED])


def diversify_prompt(
    sub: SubDimension, assignment: Assignment, settings: CheckEvalSettings, explained: Sequence[Example] = ()
) -> Prompt[Any]:
    """Return the prompt for questions about sides of a sub-dimension that its seeds do not cover."""
    aspect = assignment.aspect.name
    reasons = numbered_reasons(explained, aspect)
    rated = [{"score": each.scores[aspect], "reasons": fields_of_reasons(reasons, each.id)} for each in explained]
    fields = {
        **assignment.fields(),
        "sub_dimension": _shown(sub),
        "questions": [_payload(seed) for seed in sub.questions],
        "count": settings.diversified,
        "rated": rated,
    }
    form = CitingDiversification if reasons else Diversification
    return Prompt("checkeval/diversify", fields, form, max_tokens=_longest(settings.diversified))


def diversify_dimension_prompt(
    subs: Sequence[SubDimension], assignment: Assignment, settings: CheckEvalSettings
) -> Prompt[Any]:
    """Return the paper's prompt for questions that the seeds of all sub-dimensions do not cover."""
    count = settings.diversified * len(subs)
    shown = [{**_shown(sub), "questions": [_payload(seed) for seed in sub.questions]} for sub in subs]
    fields = {**assignment.fields(), "sub_dimensions": shown, "count": count}
    return Prompt("checkeval/diversify_dimension", fields, PlainDiversification, max_tokens=_longest(count))


def elaborate_prompt(
    sub: SubDimension, seed: SeedQuestion, assignment: Assignment, settings: CheckEvalSettings
) -> Prompt[Any]:
    """Return the prompt for `FEWEST` to `elaborated_most` finer questions from `seed`."""
    fields = {
        **assignment.fields(),
        "sub_dimension": _shown(sub),
        "question": _payload(seed),
        "fewest": min(FEWEST, settings.elaborated_most),
        "most": settings.elaborated_most,
        "self_contained": settings.procedure == "improved",
    }
    form = Elaboration if settings.procedure == "improved" else PlainElaboration
    return Prompt("checkeval/elaborate", fields, form, max_tokens=_longest(settings.elaborated_most))


@dataclass(frozen=True, slots=True)
class _NewQuestion:
    """A question with the id of its seed, the texts whose raters' reasons the prompt showed, and those it cites."""

    seed: str
    question: FinerQuestion
    examples: tuple[str, ...] = ()
    reasons: tuple[CitedReason, ...] = ()


# The result of a request: questions, or why it failed.
_NewQuestions = Sequence[_NewQuestion] | str


async def _diversified(
    subs: Sequence[SubDimension],
    assignment: Assignment,
    generator: Judge,
    settings: CheckEvalSettings,
    explained: Sequence[Example],
) -> _NewQuestions:
    if not settings.diversified:
        return ()
    if settings.procedure == "paper":
        prompt, what = diversify_dimension_prompt(subs, assignment, settings), assignment.aspect.name
    else:
        prompt, what = diversify_prompt(subs[0], assignment, settings, explained), subs[0].name
    answer = await first_usable(prompt, generator, salvage=prompt.reply)
    if answer.value is None:
        return f"other sides of {what!r}: {answer.missing}"
    reasons, shown = numbered_reasons(explained, assignment.aspect.name), tuple(each.id for each in explained)
    return [
        _NewQuestion(new.seed, new, shown, cited_reasons(new.reasons, reasons))
        for new in answer.value.questions[: settings.diversified * len(subs)]
    ]


async def _elaborated(
    sub: SubDimension, seed: SeedQuestion, assignment: Assignment, generator: Judge, settings: CheckEvalSettings
) -> _NewQuestions:
    if not settings.elaborated_most:
        return ()
    prompt = elaborate_prompt(sub, seed, assignment, settings)
    answer = await first_usable(prompt, generator, salvage=prompt.reply)
    if answer.value is None:
        return f"finer points of {seed.id}: {answer.missing}"
    return [_NewQuestion(seed.id, new) for new in answer.value.questions[: settings.elaborated_most]]


def _with_ids(
    subs: Sequence[SubDimension], sides: Sequence[_NewQuestions], points: dict[str, _NewQuestions], author: Author
) -> tuple[Criterion, ...]:
    taken = set(_ids(subs))
    questions: list[Criterion] = []
    made = [new for result in sides if not isinstance(result, str) for new in result]
    for sub in subs:
        questions += [
            make_question(seed.id, seed.text, sub, better=seed.better, author=author) for seed in sub.questions
        ]
        own = {seed.id for seed in sub.questions}
        side = [new for new in made if new.seed in own]
        questions += _named(f"{_slug(sub.name)}-d", side, sub, "diversified", taken)
        for seed in sub.questions:
            questions += _named(f"{seed.id}-e", points[seed.id], sub, "elaborated", taken)
    return tuple(questions)


def _named(
    prefix: str, result: _NewQuestions, sub: SubDimension, origin: Literal["diversified", "elaborated"], taken: set[str]
) -> Iterable[Criterion]:
    for new in () if isinstance(result, str) else result:
        name = next(name for number in count(1) if (name := f"{prefix}{number}") not in taken)
        taken.add(name)
        yield make_question(
            name,
            new.question.text,
            sub,
            new.seed,
            origin=origin,
            absent=new.question.absent,
            broken=new.question.broken,
            examples=new.examples,
            reasons=new.reasons,
        )


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
