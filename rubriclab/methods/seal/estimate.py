"""Upper bounds on SEAL's calls."""

from __future__ import annotations

from dataclasses import replace

from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.methods.estimate import TOKEN, CallEstimate, estimate_prompts
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.seal.facts import MOST_FACTS, fact_prompts
from rubriclab.methods.seal.learn import pack_questions
from rubriclab.methods.seal.prompts import TextVerification, VerificationPlan, facts_by_id, verdict_prompts
from rubriclab.methods.seal.propose import propose_prompt, proposed_question, shown
from rubriclab.methods.seal.settings import UNPACKED, SealScoringSettings, SealSettings
from rubriclab.methods.seal.units import (
    Decomposition,
    Unit,
    decompose_by_rule,
    split_by_judge,
    split_prompt,
    whole_text,
)
from rubriclab.rubric import Evidence, Part
from rubriclab.sentences import split_sentences

# The longest wordings of a fact and a question.
FACT = TOKEN * 20
QUESTION = TOKEN * 30


def learning_at_most(training_input: TrainingInput, settings: SealSettings) -> tuple[CallEstimate, CallEstimate]:
    """Return upper bounds for the judge and the generator."""
    packed, dimensions = pack_questions(training_input.checklist)
    names = [f"{'0' * 16}{number}" for number in range(settings.proposed)]
    evidence = Evidence(origin="definition")
    proposed = (proposed_question(name, name, QUESTION, evidence) for name in names)
    plan = VerificationPlan(
        (*packed, *proposed),
        {**dimensions, **dict.fromkeys(names, QUESTION)},
        (training_input.checklist and training_input.checklist.units) or UNPACKED,
        training_input.assignment,
        settings,
    )
    judge = sum((_text(example, plan) for example in training_input.examples), CallEstimate())
    prompts = [propose_prompt(training_input, shown(training_input), settings)] if settings.proposed else []
    return judge, estimate_prompts(prompts)


def scoring_at_most(example: Example, part: Part, assignment: Assignment) -> CallEstimate:
    """Return an upper bound for scoring one text."""
    settings = SealScoringSettings.model_validate(part.settings)
    return _text(
        example, VerificationPlan(part.criteria, part.dimensions or {}, part.units or UNPACKED, assignment, settings)
    )


def _text(example: Example, plan: VerificationPlan) -> CallEstimate:
    """Return an upper bound for one text, with the largest number of facts if its units are facts."""
    text, kind, settings, texts = example.output, plan.units.kind, plan.settings, plan.materials(example)
    if not text.strip():
        return CallEstimate()
    verification = TextVerification(plan, text, "whole", (), texts, {}, frozenset(), plan.lacking(texts))
    if kind != "fact" or not settings.decompose:
        # The number of sentences is that of splitting by rules, also if the judge splits the text.
        splitting = [split_prompt(text, plan.assignment.words)] if split_by_judge(kind, settings) else []
        return estimate_prompts(splitting) + _verdicts(verification, decompose_by_rule(text, kind, settings))
    words, most = plan.assignment.words, MOST_FACTS
    counts = {name: most * len(split_sentences(material)) for name, material in texts.items()}
    facts = {name: facts_by_id(name, [FACT] * count) for name, count in counts.items()}
    units = tuple(Unit(f"u{number}", FACT) for number in range(1, most * len(split_sentences(text)) + 1))
    own = estimate_prompts(fact_prompts(text, "output", words))
    others = [prompt for name, material in texts.items() for prompt in fact_prompts(material, name, words)]
    by_fact = estimate_prompts(others) + _verdicts(
        replace(verification, texts={}, facts=facts), Decomposition("fact", units)
    )
    return own + _larger(by_fact, _verdicts(verification, whole_text(text)))


def _verdicts(verification: TextVerification, decomposition: Decomposition) -> CallEstimate:
    return estimate_prompts(verdict_prompts(replace(verification, kind=decomposition.kind, units=decomposition.units)))


def _larger(one: CallEstimate, other: CallEstimate) -> CallEstimate:
    return CallEstimate(
        max(one.calls, other.calls),
        max(one.prompt_tokens, other.prompt_tokens),
        max(one.completion_tokens, other.completion_tokens),
    )
