"""SEAL's learning, which the paper leaves to future work.

The seeds are the questions of the checklist, if there is one. The generator proposes more questions, in view of some
labelled texts. The judge answers all questions about the labelled texts, and questions are dropped by the labels.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from rubriclab.errors import ChecklistError, JudgeError
from rubriclab.judges.judge import Judge
from rubriclab.methods import method as interface
from rubriclab.methods.prompting import Name, Wording, fail_if_all_missing, first_usable, for_each, mark_shared_sources
from rubriclab.methods.questions import learn_from_answers, make_question, question_of, questions_to_drop
from rubriclab.methods.seal import score as scoring
from rubriclab.methods.sources import Checklist
from rubriclab.models.rubric import Criterion, Evidence, Part, Question
from rubriclab.models.sentences import split_sentences
from rubriclab.models.text import Assignment, Example, Units
from rubriclab.prompts.prompt import Prompt

PROGRESS_AFTER_PROPOSAL = 0.2


async def learn(
    training_input: interface.TrainingInput,
    settings: scoring.SealSettings,
    *,
    judge: Judge,
    generator: Judge,
    on_progress: interface.Progress = interface.ignore_progress,
    **_unused: Any,
) -> interface.Learned:
    if training_input.checklist is None and not settings.proposed:
        raise ChecklistError(
            "SEAL has no questions to ask: there is no checklist, and none are to be proposed (proposed=0).",
            "Give a checklist with `checklist=FILE`, or have questions proposed: `settings=seal.proposed=4`.",
        )
    assignment, texts = training_input.assignment, training_input.in_order  # `in_order`: sorted by content
    seeds, seed_dimensions = checklist_questions(training_input.checklist)
    proposed, new_dimensions, failure = await propose(training_input, settings, generator)
    questions = (*seeds, *proposed)
    if not questions:
        raise JudgeError(f"There are no questions to ask: {failure}", "Try another `generator`.")
    on_progress(f"{len(questions)} questions to ask", PROGRESS_AFTER_PROPOSAL)
    units = _units(training_input)
    plan = scoring.VerificationPlan(questions, {**seed_dimensions, **new_dimensions}, units, assignment, settings)
    judged_texts = await for_each(
        texts, lambda text: scoring.judge_text(text, plan, judge), on_progress, "texts judged", PROGRESS_AFTER_PROPOSAL
    )
    values_and_reasons = [
        (each.value, each.reason) for judged_text in judged_texts for each in judged_text.verdicts.values()
    ]
    # Only empty texts have no verdicts. If every text is empty, the error quotes `why_unscored` of the first.
    fail_if_all_missing("verdict", values_and_reasons or [(None, text.why_unscored or "") for text in judged_texts])
    answer_counts = {}
    for question in questions:
        # The verdict on each unit is an answer, unless the text was rated on the scale.
        verified = (each for each in judged_texts if not each.is_rated)
        counts = Counter(each.verdicts[unit.id, question.id].value for each in verified for unit in each.units)
        # A verdict of 1 is the good answer, which is "no" if the question is about a fault.
        yes_value, no_value = (1.0, 0.0) if question_of(question).better == "yes" else (0.0, 1.0)
        answer_counts[question.id] = {"yes": counts[yes_value], "no": counts[no_value]}
    drops_by_labels = settings.filter == "labels"
    stored_settings = settings.model_dump(mode="json")
    learned = learn_from_answers(
        Part(method="seal", settings=stored_settings, criteria=questions, dimensions=plan.dimensions, units=units),
        training_input,
        judged_texts,
        tuple(tuple(scoring.rate_question(each, question) for question in questions) for each in judged_texts),
        answer_counts=answer_counts,
        score=lambda verdicts, criteria: scoring.score_verdicts(verdicts, criteria, assignment.scale)[0],
        drop=functools.partial(questions_to_drop, proposed_must_correlate=True) if drops_by_labels else None,
        cross_validate=bool(texts) and (drops_by_labels or any(each.evidence.examples for each in questions)),
    )
    on_progress(f"{len(learned.part.criteria)} questions kept", 1.0)
    return replace(learned, notes=(*filter(None, [failure]), *learned.notes))


def checklist_questions(checklist: Checklist | None) -> tuple[tuple[Criterion, ...], dict[str, str]]:
    """Return the questions of a checklist, and the definitions of its sub-dimensions by name."""
    subs = checklist.sub_dimensions if checklist else ()
    by_hand = Evidence(origin="written by hand")
    questions = []
    for sub in subs:
        for seed in sub.questions:
            details = Question(origin="seed", better=seed.better, support=seed.support)
            questions.append(make_question(seed.id, sub.name, seed.text, by_hand, details))
    return tuple(questions), {sub.name: sub.definition for sub in subs}


def learning_calls(training_input: interface.TrainingInput, settings: scoring.SealSettings) -> interface.LearningCalls:
    seeds, _ = checklist_questions(training_input.checklist)
    n_questions = len(seeds) + settings.proposed
    kind = _units(training_input).kind
    judge_calls = 0
    for example in training_input.examples:
        is_one_unit = kind in ("response", "triple") or not settings.decompose  # triple: text, source, reference
        n_units = 1 if is_one_unit else len(split_sentences(example.output))
        judge_calls += math.ceil(n_questions * n_units / settings.most_per_call)
        if kind == "fact" and settings.decompose:
            # The facts of the text and the facts of its source are requested in one call, or in one call each.
            judge_calls += 1 if settings.facts == "one call" else 2
        elif scoring.judge_splits(kind, settings):
            judge_calls += 1
    return interface.LearningCalls(judge_calls, int(settings.proposed > 0), shown=len(texts_to_show(training_input)))


TOKENS_PER_PROPOSAL = 200
MAX_TEXTS_SHOWN = 6


class NewSubDimension(BaseModel):
    """A side of an aspect with the question that checks it."""

    name: Name
    definition: Wording
    question: Wording


class SubDimensionProposal(BaseModel):
    """Sides of an aspect that are not checked yet."""

    reasoning: str
    sub_dimensions: list[NewSubDimension] = Field(min_length=1)

    @field_validator("sub_dimensions")
    @classmethod
    def _drop_known(cls, proposals: list[NewSubDimension], info: ValidationInfo) -> list[NewSubDimension]:
        checked = info.context["known"] if info.context else ()  # the sides that are checked already
        known_wordings = {_normalize_wording(each[key]) for each in checked for key in ("name", "question")}
        new_proposals = []
        for proposal in proposals:
            wordings = {_normalize_wording(proposal.name), _normalize_wording(proposal.question)}
            if not wordings & known_wordings:
                new_proposals.append(proposal)
                known_wordings |= wordings
        if not new_proposals:
            raise ValueError("every one of them is known already; new ones were expected")
        return new_proposals


async def propose(
    training_input: interface.TrainingInput, settings: scoring.SealSettings, generator: Judge
) -> tuple[tuple[Criterion, ...], Mapping[str, str], str | None]:
    """Return new questions, the definitions of their sub-dimensions by name, and why the request failed, if it did."""
    if not settings.proposed:
        return (), {}, None
    texts = texts_to_show(training_input)
    assignment, aspect = training_input.assignment, training_input.assignment.aspect.name
    units = _units(training_input)  # `beside`: materials that the judge sees beside each piece of a text
    subs = training_input.checklist.sub_dimensions if training_input.checklist else ()
    shown = []
    for text in texts:
        reference = text.reference if "reference" in units.beside else None
        shown.append({**Assignment.text_fields(text), "reference": reference, "score": text.scores[aspect]})
    fields: dict[str, Any] = {
        **assignment.fields(),
        "kind": units.kind if settings.decompose else "whole",
        "beside": [assignment.words.name_of(material) for material in units.beside],
        "known": [{"name": sub.name, "question": each.text} for sub in subs for each in sub.questions],
        "count": settings.proposed,
        "texts": mark_shared_sources(shown),
    }
    max_tokens = 1000 + TOKENS_PER_PROPOSAL * settings.proposed
    answer = await first_usable(Prompt("seal/propose", fields, SubDimensionProposal, max_tokens=max_tokens), generator)
    if answer.value is None:
        return (), {}, f"no sub-dimensions could be proposed: {answer.missing}"
    proposals = answer.value.sub_dimensions[: settings.proposed]
    seed_ids = {question.id for sub in subs for question in sub.questions}
    new_ids = (f"p{number}" for number in count(1) if f"p{number}" not in seed_ids)
    evidence = Evidence(origin="labels" if texts else "definition", examples=tuple(sorted(text.id for text in texts)))
    details = Question(origin="proposed")
    questions = tuple(make_question(next(new_ids), each.name, each.question, evidence, details) for each in proposals)
    return questions, {each.name: each.definition for each in proposals}, None


def texts_to_show(training_input: interface.TrainingInput) -> tuple[Example, ...]:
    """Return the labelled texts that the generator is shown, evenly spaced in the ranking by label, lowest first."""
    texts, labels = training_input.in_order, training_input.labels  # `in_order`: sorted by content
    return interface.pick_evenly(sorted(texts, key=lambda text: labels[text.id]), MAX_TEXTS_SHOWN)


def _units(training_input: interface.TrainingInput) -> Units:
    checklist = training_input.checklist
    return checklist.units if checklist and checklist.units else scoring.DEFAULT_UNITS


def _normalize_wording(wording: str) -> str:
    return " ".join(wording.casefold().split()).rstrip("?.!")


SEAL = interface.Method(
    name="seal",
    note="questions about each sentence, pair of sentences or fact",
    settings=scoring.SealSettings,
    presets=scoring.PRESETS,
    prompts=("seal/propose", "seal/split", "seal/facts", "seal/verify", "seal/support", "seal/rate"),
    learn=learn,
    score=scoring.score,
    learning_calls=learning_calls,
    criterion_kind="question",
    needs_labels=False,
    checklists="units",  # the folder stores/units
)
