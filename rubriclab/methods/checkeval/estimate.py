"""Upper bounds on CheckEval's calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubriclab.checklist import Checklist, SubDimension
from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.methods.checkeval.answer import answer_prompts
from rubriclab.methods.checkeval.augment import diversify_prompt, elaborate_prompt, explained_texts
from rubriclab.methods.checkeval.filtering import MOST_QUESTIONS, by_preference, filter_prompt, other_aspects
from rubriclab.methods.checkeval.seeds import planned_checklist, seeds_prompt
from rubriclab.methods.checkeval.settings import CheckEvalScoringSettings, CheckEvalSettings
from rubriclab.methods.deduplication import MOST_SHOWN, blocks, group_prompt
from rubriclab.methods.estimate import TOKEN, CallEstimate, estimate_prompts
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.questions import make_question, question_of
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, Part

# The longest wording of a question, in words.
WORDS = 25


def learning_at_most(training_input: TrainingInput, settings: CheckEvalSettings) -> tuple[CallEstimate, CallEstimate]:
    """Return upper bounds for the judge and the generator.

    Raises:
        ChecklistError: if there are no seed questions.
    """
    assignment, checklist = training_input.assignment, planned_checklist(training_input, settings)
    pool = [question for sub in checklist.sub_dimensions for question in _typical(sub, settings)]
    writing = [seeds_prompt(assignment)] if settings.seeds == "prior knowledge" else []
    explained = explained_texts(training_input.shown, assignment.aspect.name)
    generator = estimate_prompts([*writing, *_augmenting(checklist, assignment, settings, explained)])
    if settings.filter != "off":
        generator += _filtering(checklist, pool, assignment, settings)
    kept = by_preference(pool)[:MOST_QUESTIONS]
    dimensions = {sub.name: sub.definition for sub in checklist.sub_dimensions}
    judge = CallEstimate()
    for example in training_input.examples:
        judge += estimate_prompts(answer_prompts(example, kept, dimensions, assignment, settings=settings))
    return judge, generator


def scoring_at_most(example: Example, part: Part, assignment: Assignment) -> CallEstimate:
    """Return an upper bound for scoring one text."""
    settings = CheckEvalScoringSettings.model_validate(part.settings)
    return estimate_prompts(
        answer_prompts(example, part.criteria, part.dimensions or {}, assignment, settings=settings)
    )


def _augmenting(
    checklist: Checklist, assignment: Assignment, settings: CheckEvalSettings, explained: Sequence[Example]
) -> list[Prompt[Any]]:
    prompts: list[Prompt[Any]] = []
    for sub in checklist.sub_dimensions:
        if settings.diversified:
            prompts.append(diversify_prompt(sub, assignment, settings, explained))
        if settings.elaborated_most:
            prompts += [elaborate_prompt(sub, seed, assignment, settings) for seed in sub.questions]
    return prompts


def _filtering(
    checklist: Checklist, pool: Sequence[Criterion], assignment: Assignment, settings: CheckEvalSettings
) -> CallEstimate:
    """Return one call per sub-dimension for verdicts, and those about redundancy in the whole pool."""
    others = other_aspects(checklist, assignment)
    groups = ((sub, [each for each in pool if each.trait == sub.name]) for sub in checklist.sub_dimensions)
    verdicts = [filter_prompt(sub, group, others, assignment, settings) for sub, group in groups]
    comparisons = [group_prompt(block, "question", assignment) for block in blocks(pool, MOST_SHOWN)]
    return estimate_prompts([*verdicts, *comparisons])


def _typical(sub: SubDimension, settings: CheckEvalSettings) -> list[Criterion]:
    """Return a sub-dimension's seeds with the largest number of new questions."""
    words, name = TOKEN * WORDS, "0" * 20
    seeds = [make_question(seed.id, seed.text, sub) for seed in sub.questions]
    new = [make_question(name, words, sub, sub.questions[0].id, origin="diversified")] * settings.diversified
    for seed in sub.questions:
        new += [make_question(name, words, sub, seed.id, origin="elaborated")] * settings.elaborated_most
    # The filter adds the answers for an absent subject and a broken text to every question.
    return [_stated(each) for each in seeds + new] if settings.self_contained else seeds + new


def _stated(question: Criterion) -> Criterion:
    stated = question_of(question).model_copy(update={"absent": "n/a", "broken": "n/a"})
    return question.model_copy(update={"question": stated})
