"""The most that CheckEval would ask, told before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubriclab.checklist import Checklist, SubDimension
from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.methods.checkeval.answer import answer_prompts
from rubriclab.methods.checkeval.augment import diversify_prompt, elaborate_prompt
from rubriclab.methods.checkeval.filtering import filter_prompt, other_aspects, preferred
from rubriclab.methods.checkeval.seeds import planned_questions, seeds_prompt
from rubriclab.methods.checkeval.settings import CheckEvalScoringSettings, CheckEvalSettings
from rubriclab.methods.deduplication import MOST_SHOWN, blocks, group_prompt
from rubriclab.methods.estimate import CallEstimate, estimate_prompt
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.questions import about, make_question
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, Part

# A question as models word it, at most.
WORDS = 25


def learning_at_most(training_input: TrainingInput, settings: CheckEvalSettings) -> tuple[CallEstimate, CallEstimate]:
    """Return the most that learning asks of the judge, and of the generator.

    Raises:
        ChecklistError: if there are no seed questions.
    """
    assignment, checklist = training_input.assignment, planned_questions(training_input, settings)
    pool = [question for sub in checklist.sub_dimensions for question in _typical(sub, settings)]
    writing = [seeds_prompt(assignment)] if settings.seeds == "prior knowledge" else []
    generator = _total([*writing, *_augmenting(checklist, assignment, settings)])
    if settings.asks_model:
        generator += _filtering(checklist, pool, assignment, settings)
    kept = preferred(pool)[: settings.most_questions]
    dimensions = {sub.name: sub.definition for sub in checklist.sub_dimensions}
    judge = CallEstimate()
    for example in training_input.examples:
        judge += _total(answer_prompts(example, kept, dimensions, assignment, settings=settings))
    return judge, generator


def scoring_at_most(example: Example, part: Part, assignment: Assignment) -> CallEstimate:
    """Return the most that scoring one text asks of the judge."""
    settings = CheckEvalScoringSettings.model_validate(part.settings)
    return _total(answer_prompts(example, part.criteria, part.dimensions or {}, assignment, settings=settings))


def _augmenting(checklist: Checklist, assignment: Assignment, settings: CheckEvalSettings) -> list[Prompt[Any]]:
    prompts: list[Prompt[Any]] = []
    for sub in checklist.sub_dimensions:
        if settings.diversified:
            prompts.append(diversify_prompt(sub, assignment, settings))
        if settings.elaborated_most:
            prompts += [elaborate_prompt(sub, seed, assignment, settings) for seed in sub.questions]
    return prompts


def _filtering(
    checklist: Checklist, pool: Sequence[Criterion], assignment: Assignment, settings: CheckEvalSettings
) -> CallEstimate:
    """Return one call per sub-dimension for verdicts, and one about the whole pool for what repeats."""
    others = other_aspects(checklist, assignment)
    groups = ((sub, [each for each in pool if each.trait == sub.name]) for sub in checklist.sub_dimensions)
    verdicts = [filter_prompt(sub, group, others, assignment, settings) for sub, group in groups]
    comparisons = [group_prompt(block, "question", assignment) for block in blocks(pool, MOST_SHOWN)]
    return _total([*verdicts, *comparisons])


def _typical(sub: SubDimension, settings: CheckEvalSettings) -> list[Criterion]:
    """Return a sub-dimension's seeds with as many more questions as may be made."""
    words, made = "word " * WORDS, "0" * 20
    found = [make_question(seed.id, seed.text, sub) for seed in sub.questions]
    sides = [make_question(made, words, sub, sub.questions[0].id, origin="diversified")] * settings.diversified
    for seed in sub.questions:
        sides += [make_question(made, words, sub, seed.id, origin="elaborated")] * settings.elaborated_most
    # The filter states of every question what it presupposes.
    return [_stated(each) for each in found + sides] if settings.self_contained else found + sides


def _stated(question: Criterion) -> Criterion:
    stated = about(question).model_copy(update={"absent": "n/a", "broken": "n/a"})
    return question.model_copy(update={"question": stated})


def _total(prompts: Sequence[Prompt[Any]]) -> CallEstimate:
    total = CallEstimate()
    for prompt in prompts:
        total += estimate_prompt(prompt)
    return total
