"""Filtering of the questions before labels are used (CheckEval, section 3.2, "Question Filtering").

The generator filters, since this belongs to writing the checklist: it is done once, while the judge that answers for
many texts may be a smaller model. The paper uses one model for both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.replies import (
    ELSEWHERE,
    QuestionVerdict,
    Removals,
    fault,
    of_questions,
)
from rubriclab.methods.checkeval.settings import CheckEvalSettings
from rubriclab.methods.checklist import Checklist, SubDimension
from rubriclab.methods.deduplication import find_redundant
from rubriclab.methods.prompting import chunks
from rubriclab.methods.questions import is_handwritten, is_seed, payload, question_of
from rubriclab.models.rubric import Criterion, DroppedCriterion
from rubriclab.models.text import Aspect, Assignment, shipped_aspects
from rubriclab.prompts import Prompt
from rubriclab.prompts.keyed import KeyedReply

# The shipped aspect that includes all others of its task, so that no question is about another aspect.
WHOLE = "overall"

# Most verdicts in one reply: in longer ones, reasons become formulas.
MOST_VERDICTS = 20

STYLES = {
    "exaggerated": "its wording is exaggerated",
    "trifling": "it asks for something trifling",
    "several things": "it asks several things at once",
}


# The faults of the paper's filter.
REMOVED = {
    "alignment": '"yes" does not speak for a text',
    "dimension": "it is about something else",
    "redundancy": "it repeats another question",
    "style": "its wording is exaggerated, or it asks for something trifling",
}


@dataclass(frozen=True, slots=True)
class FilterResult:
    """The questions kept, in the pool's order, the others with the reasons, and notes for the user."""

    kept: tuple[Criterion, ...]
    dropped: tuple[DroppedCriterion, ...]
    notes: tuple[str, ...] = ()


async def filter_questions(
    pool: Sequence[Criterion],
    checklist: Checklist,
    assignment: Assignment,
    generator: Judge,
    settings: CheckEvalSettings,
) -> FilterResult:
    """Return the questions that the model keeps, at most as many as the settings allow.

    If the model would drop every question, the seeds are kept.
    """
    questions, notes, asks_model = list(pool), list[str](), settings.filter != "off"
    reasons = {
        each.id: problem for each in pool if settings.procedure == "improved" and (problem := wording_fault(each))
    }
    if asks_model and settings.procedure == "paper":
        reasons, notes = await _removed(pool, checklist, assignment, generator)
    elif asks_model:
        sound = [question for question in pool if question.id not in reasons]
        turned, faults, unjudged = await _judged(sound, checklist, assignment, generator)
        questions, reasons = [turned.get(question.id, question) for question in pool], reasons | faults
        if unjudged:
            notes.append(f"the filter gave no usable verdict on {unjudged} of {len(sound)} questions; they stay")
    if questions and all(question.id in reasons for question in questions):
        notes.append("the filter would take out every question: the seeds stay")
        reasons = {each.id: reasons[each.id] for each in questions if not is_seed(each)}
    if asks_model and settings.procedure == "improved":
        remaining = [question for question in questions if question.id not in reasons]
        repeated, unasked = await find_redundant(by_author(remaining), "question", assignment, generator)
        reasons |= repeated
        notes += unasked
    remaining = [question for question in questions if question.id not in reasons]
    for question in by_preference(remaining)[settings.most :]:
        reasons[question.id] = f"no place among the {settings.most} questions allowed"
    return FilterResult(
        kept=tuple(question for question in questions if question.id not in reasons),
        dropped=tuple(DroppedCriterion(criterion=c, reason=reasons[c.id]) for c in questions if c.id in reasons),
        notes=tuple(notes),
    )


def filter_dimension_prompt(
    questions: Sequence[Criterion], checklist: Checklist, assignment: Assignment
) -> Prompt[Removals]:
    """Return the paper's prompt for the questions to remove from the whole checklist."""
    fields = {
        **assignment.fields(),
        "sub_dimensions": [
            {
                "name": sub.name,
                "definition": sub.definition,
                "questions": [payload(question) for question in questions if question.trait == sub.name],
            }
            for sub in checklist.sub_dimensions
        ],
        "others": [other.model_dump() for other in other_aspects(checklist, assignment)],
    }
    return Prompt("checkeval/filter_dimension", fields, Removals, max_tokens=256 + 128 * len(questions))


async def _removed(
    pool: Sequence[Criterion], checklist: Checklist, assignment: Assignment, generator: Judge
) -> tuple[dict[str, str], list[str]]:
    """Return the reasons to drop questions by the paper's filter, by id, and notes for the user."""
    reasons = {each.id: '"no" is its good answer' for each in pool if question_of(each).better == "no"}
    shown = [each for each in pool if each.id not in reasons]
    answer = await ask(generator, filter_dimension_prompt(shown, checklist, assignment), salvage=Removals)
    if answer.value is None:
        return reasons, [f"the filter gave no usable reply; all questions that it was shown stay: {answer.missing}"]
    removed = {each.id: f"{REMOVED[each.fault]}: {each.reason}".removesuffix(": ") for each in answer.value.removed}
    return reasons | removed, []


def wording_fault(question: Criterion) -> str | None:
    """Return what is wrong with the wording of a generated question; `lint` checks the questions of a person."""
    if is_handwritten(question):
        return None
    return fault(question_of(question).broken, question_of(question).better)


def by_preference(questions: Sequence[Criterion]) -> list[Criterion]:
    """Return the questions by preference, so that a shorter list covers as much as possible.

    Seeds come first, then the questions made from them, sub-dimensions in turn, and within each of these in turn the
    diversified questions and the elaborated ones of each seed.
    """
    return [each for tier in by_author(questions) for each in tier]


def by_author(questions: Sequence[Criterion]) -> list[list[Criterion]]:
    """Return the seeds, and the questions made from them, in the order of `by_preference`."""
    return [_mixed([each for each in questions if is_seed(each) == side]) for side in (True, False)]


def round_robin(lists: Sequence[Sequence[Criterion]]) -> list[Criterion]:
    """Return the first of each list, then the second of each, and so on."""
    return [each for each in chain.from_iterable(zip_longest(*lists)) if each is not None]


def other_aspects(checklist: Checklist, assignment: Assignment) -> tuple[Aspect, ...]:
    """Return the other aspects that a question might be about: the checklist's, or else the task's shipped aspects."""
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
) -> Prompt[KeyedReply]:
    """Return the prompt for a verdict on each of the questions of one sub-dimension."""
    fields: Mapping[str, Any] = {
        **assignment.fields(),
        "sub_dimension": {"name": sub.name, "definition": sub.definition},
        "questions": [payload(question) for question in questions],
        "others": [other.model_dump() for other in others],
    }
    return Prompt(
        "checkeval/filter", fields, of_questions(fields, QuestionVerdict), max_tokens=256 + 128 * len(questions)
    )


def _mixed(questions: Sequence[Criterion]) -> list[Criterion]:
    families: dict[str, dict[str | None, list[Criterion]]] = {}
    for each in questions:
        of = question_of(each)
        seed = of.seed if of.origin == "elaborated" else None
        families.setdefault(each.trait, {}).setdefault(seed, []).append(each)
    return round_robin([round_robin(list(family.values())) for family in families.values()])


async def _judged(
    pool: Sequence[Criterion],
    checklist: Checklist,
    assignment: Assignment,
    generator: Judge,
) -> tuple[dict[str, Criterion], dict[str, str], int]:
    """Return the questions with the model's findings, by id, the reasons to drop some, and the number of questions
    without a verdict."""
    others = other_aspects(checklist, assignment)
    groups = ((sub, [each for each in pool if each.trait == sub.name]) for sub in checklist.sub_dimensions)
    prompts = [
        filter_prompt(sub, some, others, assignment) for sub, group in groups for some in chunks(group, MOST_VERDICTS)
    ]
    answers = await asyncio.gather(*(ask(generator, prompt) for prompt in prompts))
    verdicts = {name: each for answer in answers if answer.value for name, each in answer.value.entries.items()}
    turned = {each.id: _turned(each, verdicts.get(each.id)) for each in pool}
    aspect = assignment.aspect.name
    reasons = {name: _fault(each, verdicts.get(name), aspect) for name, each in turned.items()}
    unjudged = sum(question.id not in verdicts for question in pool)
    return turned, {name: reason for name, reason in reasons.items() if reason}, unjudged


def _turned(question: Criterion, verdict: QuestionVerdict | None) -> Criterion:
    """Return the question with "no" as its good answer if the verdict says so, and with the answers it presupposes.

    Answers stated in a seed or by the generator are not changed.
    """
    if verdict is None:
        return question
    stated = question_of(question)
    update: dict[str, Any] = {"absent": stated.absent or verdict.absent, "broken": stated.broken or verdict.broken}
    if verdict.yes_means == "worse" and not is_seed(question):
        update["better"] = "no"
    return question.model_copy(update={"question": stated.model_copy(update=update)})


def _fault(question: Criterion, verdict: QuestionVerdict | None, aspect: str) -> str | None:
    """Return the reason to drop a question; `None` if there is none, or no verdict."""
    if verdict is None:
        return None
    better = question_of(question).better
    if verdict.yes_means == "neither":
        problem = 'neither "yes" nor "no" speaks for a text'
    elif (verdict.yes_means == "better") != (better == "yes"):
        problem = f'"{better}" is given as its good answer, but "yes" means {verdict.yes_means}'
    elif verdict.about != aspect:
        problem = "it is about something else" if verdict.about == ELSEWHERE else f"it is about {verdict.about}"
    elif verdict.broken == better and not is_handwritten(question):
        problem = f"a text that is empty or makes no sense would earn its good answer, {better}"
    else:
        problem = STYLES.get(verdict.style, "")
    return f"{problem}: {verdict.reasoning}".removesuffix(": ") if problem else None
