"""The most that SEAL would ask, told before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.methods.estimate import CallEstimate, estimate_prompt
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.seal.facts import fact_prompts
from rubriclab.methods.seal.inquiry import Examination, Inquiry, numbered, verdict_prompts
from rubriclab.methods.seal.learn import pack_questions
from rubriclab.methods.seal.propose import propose_prompt, proposed_question, shown
from rubriclab.methods.seal.settings import UNPACKED, SealScoringSettings, SealSettings, units_of
from rubriclab.methods.seal.units import Taken, Unit, cut, split_by_judge, split_prompt, whole
from rubriclab.prompts import Prompt
from rubriclab.rubric import Evidence, Part
from rubriclab.sentences import split_sentences

# A fact and a question as models word them, at most.
FACT = "word " * 20
QUESTION = "word " * 30


def learning_at_most(training_input: TrainingInput, settings: SealSettings) -> tuple[CallEstimate, CallEstimate]:
    """Return the most that learning asks of the judge, and of the generator."""
    packed, dimensions = pack_questions(training_input.checklist)
    names = [f"{'0' * 16}{number}" for number in range(settings.proposed)]
    evidence = Evidence(origin="definition")
    proposed = (proposed_question(name, name, QUESTION, evidence) for name in names)
    exam = Examination(
        (*packed, *proposed),
        {**dimensions, **dict.fromkeys(names, QUESTION)},
        units_of(training_input.checklist.units if training_input.checklist else None, settings.units),
        training_input.assignment,
        settings,
    )
    judge = CallEstimate()
    for example in training_input.examples:
        judge += _text(example, exam)
    asked = (
        [propose_prompt(training_input, shown(training_input, settings.shown), settings)] if settings.proposed else []
    )
    return judge, _total(asked)


def scoring_at_most(example: Example, part: Part, assignment: Assignment) -> CallEstimate:
    """Return the most that scoring one text asks of the judge."""
    settings = SealScoringSettings.model_validate(part.settings)
    return _text(
        example, Examination(part.criteria, part.dimensions or {}, part.units or UNPACKED, assignment, settings)
    )


def _text(example: Example, exam: Examination) -> CallEstimate:
    """Return the most that one text asks: as many facts of each sentence as are taken, if its units are facts."""
    text, kind, settings, texts = example.output, exam.units.kind, exam.settings, exam.materials(example)
    if not text.strip():
        return CallEstimate()
    inquiry = Inquiry(exam, text, "whole", (), texts, {}, frozenset(), exam.lacking(texts))
    if kind != "fact" or not settings.decompose:
        # As many sentences as by rule, whoever splits the text.
        splitting = [split_prompt(text, exam.assignment.words)] if split_by_judge(kind, settings) else []
        return _total(splitting) + _verdicts(inquiry, cut(text, kind, settings))
    words, most = exam.assignment.words, settings.most_facts
    counts = {name: most * len(split_sentences(material)) for name, material in texts.items()}
    facts = {name: numbered(name, [FACT] * count) for name, count in counts.items()}
    units = tuple(Unit(f"u{number}", FACT) for number in range(1, most * len(split_sentences(text)) + 1))
    own = _total(fact_prompts(text, "output", words, most))
    others = [prompt for name, material in texts.items() for prompt in fact_prompts(material, name, words, most)]
    by_fact = _total(others) + _verdicts(replace(inquiry, texts={}, facts=facts), Taken("fact", units))
    return own + _larger(by_fact, _verdicts(inquiry, whole(text)))


def _verdicts(inquiry: Inquiry, taken: Taken) -> CallEstimate:
    return _total(verdict_prompts(replace(inquiry, kind=taken.kind, units=taken.units)))


def _larger(one: CallEstimate, other: CallEstimate) -> CallEstimate:
    return CallEstimate(
        max(one.calls, other.calls),
        max(one.prompt_tokens, other.prompt_tokens),
        max(one.completion_tokens, other.completion_tokens),
    )


def _total(prompts: Sequence[Prompt[Any]]) -> CallEstimate:
    total = CallEstimate()
    for prompt in prompts:
        total += estimate_prompt(prompt)
    return total
