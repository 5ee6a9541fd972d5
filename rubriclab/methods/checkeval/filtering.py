"""Which of the pooled questions are put to texts, before any label has spoken (CheckEval, 3.2, "Question Filtering").

Filtering belongs to the writing of the checklist. It is therefore asked of the generator, as the paper has one model
for both: it is done once, and the judge that answers for a million texts may be a smaller one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from rubriclab.checklist import Checklist, SubDimension
from rubriclab.data.aspect import Aspect, shipped_aspects
from rubriclab.data.assignment import Assignment
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.questions import payload
from rubriclab.methods.checkeval.replies import (
    ELSEWHERE,
    PlainVerdict,
    PlainVerdicts,
    QuestionVerdicts,
    fault,
)
from rubriclab.methods.checkeval.settings import CheckEvalSettings
from rubriclab.methods.deduplication import redundant
from rubriclab.methods.questions import about, is_handwritten, is_seed
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, DroppedCriterion

# The shipped aspect that all the others of its task are sides of: nothing tells them apart.
WHOLE = "overall"

STYLES = {
    "exaggerated": "its wording is exaggerated",
    "trifling": "it asks for something trifling",
    "several things": "it asks several things at once",
}


@dataclass(frozen=True, slots=True)
class Filtered:
    """Questions to put to texts, in the pool's order, and the others with the reasons.

    `notes` tell where the filter was overruled, and of which questions there is no verdict.
    """

    kept: tuple[Criterion, ...]
    dropped: tuple[DroppedCriterion, ...]
    notes: tuple[str, ...] = ()


async def filtered(
    pool: Sequence[Criterion],
    checklist: Checklist,
    assignment: Assignment,
    generator: Judge,
    settings: CheckEvalSettings,
) -> Filtered:
    """Return what the model leaves of the pool, and of that at most `most_questions`.

    Seeds stay where the model would take out every question: a person stands behind them.
    """
    left, notes = list(pool), list[str]()
    reasons = {each.id: found for each in pool if settings.self_contained and (found := unsound(each))}
    if settings.asks_model:
        sound = [question for question in pool if question.id not in reasons]
        turned, faults, unjudged = await _judged(sound, checklist, assignment, generator, settings)
        left, reasons = [turned.get(question.id, question) for question in pool], reasons | faults
        if unjudged:
            notes.append(f"the filter gave no usable verdict on {unjudged} of {len(sound)} questions; they stay")
    if left and all(question.id in reasons for question in left):
        notes.append("the filter would take out every question: the seeds stay")
        reasons = {each.id: reasons[each.id] for each in left if not is_seed(each)}
    if settings.asks_model:
        remaining = [question for question in left if question.id not in reasons]
        reasons |= await redundant(by_author(remaining), "question", assignment, generator)
    remaining = [question for question in left if question.id not in reasons]
    for question in preferred(remaining)[settings.most_questions :]:
        reasons[question.id] = f"no place among the {settings.most_questions} questions allowed"
    return Filtered(
        kept=tuple(question for question in left if question.id not in reasons),
        dropped=tuple(DroppedCriterion(criterion=c, reason=reasons[c.id]) for c in left if c.id in reasons),
        notes=tuple(notes),
    )


def unsound(question: Criterion) -> str | None:
    """Return why a generated question cannot be asked by itself; a person's seed is for `lint` to advise on."""
    if is_handwritten(question):
        return None
    return fault(question.statement, about(question).broken, about(question).better)


def preferred(questions: Sequence[Criterion]) -> list[Criterion]:
    """Return the questions in the order in which they are worth keeping.

    Seeds come first, then what was made of them: sub-dimensions take turns, and within one the other sides of it and
    the finer points of each seed do, so that a shorter list covers as much.
    """
    return [each for tier in by_author(questions) for each in tier]


def by_author(questions: Sequence[Criterion]) -> list[list[Criterion]]:
    """Return the seeds, and the questions that were made of them, in the order of `preferred`."""
    return [_mixed([each for each in questions if is_seed(each) == side]) for side in (True, False)]


def in_turns(lists: Sequence[Sequence[Criterion]]) -> list[Criterion]:
    """Return the first of each list, then the second of each, and so on."""
    return [each for each in chain.from_iterable(zip_longest(*lists)) if each is not None]


def other_aspects(checklist: Checklist, assignment: Assignment) -> tuple[Aspect, ...]:
    """Return what a question might be about instead: what the checklist names, or else the task's shipped aspects."""
    if checklist.others:
        return tuple(Aspect(name=name, definition=words) for name, words in checklist.others.items())
    if assignment.aspect.name == WHOLE:
        return ()
    own = {assignment.aspect.name, WHOLE}
    return tuple(aspect for aspect in shipped_aspects(assignment.words.task) if aspect.name not in own)


def filter_prompt(
    sub: SubDimension,
    questions: Sequence[Criterion],
    others: Sequence[Aspect],
    assignment: Assignment,
    settings: CheckEvalSettings,
) -> Prompt[Any]:
    """Return the prompt for a verdict on each of the questions of one sub-dimension."""
    fields: Mapping[str, Any] = {
        **assignment.fields(),
        "sub_dimension": {"name": sub.name, "definition": sub.definition},
        "questions": [payload(question) for question in questions],
        "others": [other.model_dump() for other in others],
        "self_contained": settings.self_contained,
    }
    form = QuestionVerdicts if settings.self_contained else PlainVerdicts
    return Prompt("checkeval/filter", fields, form, max_tokens=256 + 128 * len(questions))


def _mixed(questions: Sequence[Criterion]) -> list[Criterion]:
    families: dict[str, dict[str | None, list[Criterion]]] = {}
    for each in questions:
        of = about(each)
        seed = of.seed if of.origin == "elaborated" else None
        families.setdefault(each.trait, {}).setdefault(seed, []).append(each)
    return in_turns([in_turns(list(family.values())) for family in families.values()])


async def _judged(
    pool: Sequence[Criterion],
    checklist: Checklist,
    assignment: Assignment,
    generator: Judge,
    settings: CheckEvalSettings,
) -> tuple[dict[str, Criterion], dict[str, str], int]:
    """Return the pool with what the model found of it, by id, the reasons to drop some of it, and how many questions
    there is no verdict on."""
    others = other_aspects(checklist, assignment)
    groups = ((sub, [each for each in pool if each.trait == sub.name]) for sub in checklist.sub_dimensions)
    prompts = [filter_prompt(sub, group, others, assignment, settings) for sub, group in groups if group]
    found = await asyncio.gather(*(_verdicts(prompt, generator) for prompt in prompts))
    verdicts = dict(chain.from_iterable(found))
    turned = {each.id: _turned(each, verdicts.get(each.id)) for each in pool}
    aspect = assignment.aspect.name
    reasons = {name: _fault(each, verdicts.get(name), aspect, settings) for name, each in turned.items()}
    unjudged = sum(question.id not in verdicts for question in pool)
    return turned, {name: reason for name, reason in reasons.items() if reason}, unjudged


async def _verdicts(prompt: Prompt[Any], generator: Judge) -> list[tuple[str, PlainVerdict]]:
    answer = await ask(generator, prompt, salvage=prompt.reply)
    return [(verdict.question, verdict) for verdict in answer.value.verdicts] if answer.value else []


def _turned(question: Criterion, verdict: PlainVerdict | None) -> Criterion:
    """Return the question with "no" as its good answer, if that is what it asks, and with what it presupposes.

    What a person said of a seed, or the generator of its own question, is not overruled.
    """
    if verdict is None:
        return question
    said = about(question)
    update: dict[str, Any] = {"absent": said.absent or verdict.absent, "broken": said.broken or verdict.broken}
    if verdict.yes_means == "worse" and not is_seed(question):
        update["better"] = "no"
    return question.model_copy(update={"question": said.model_copy(update=update)})


def _fault(question: Criterion, verdict: PlainVerdict | None, aspect: str, settings: CheckEvalSettings) -> str | None:
    """Return what speaks against a question; `None` where nothing does, or nothing is known."""
    if verdict is None:
        return None
    better = about(question).better
    if verdict.yes_means == "neither":
        found = 'neither "yes" nor "no" speaks for a text'
    elif (verdict.yes_means == "better") != (better == "yes"):
        found = f'"{better}" is given as its good answer, but "yes" means {verdict.yes_means}'
    elif better == "no" and settings.polarity == "yes":
        found = '"no" is its good answer'
    elif verdict.about != aspect:
        found = "it is about something else" if verdict.about == ELSEWHERE else f"it is about {verdict.about}"
    elif verdict.broken == better and not is_handwritten(question):
        found = f"a text that is empty or makes no sense would earn its good answer, {better}"
    else:
        found = STYLES.get(verdict.style, "")
    return f"{found}: {verdict.reasoning}".removesuffix(": ") if found else None
