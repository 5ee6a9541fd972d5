"""The prompts that verify the units of a text (SEAL, section 3.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.methods.prompting import chunks
from rubriclab.methods.questions import question_of
from rubriclab.methods.seal.replies import asked_questions, unit_form
from rubriclab.methods.seal.settings import SealScoringSettings, judge_weighs
from rubriclab.methods.seal.units import Kind, Unit
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import Assignment, Example, Material, Units
from rubriclab.prompts import Prompt
from rubriclab.prompts.keyed import KeyedReply

MATERIALS: tuple[Material, ...] = ("source", "context", "reference")

# The first letters of the ids of facts.
LETTERS: Mapping[Material, str] = {"source": "c", "context": "x", "reference": "r"}

TOKENS_PER_VERDICT = 90
TOKENS_PER_WEIGHT = 24


@dataclass(frozen=True, slots=True)
class VerificationPlan:
    """The questions and settings that are the same for all texts.

    Attributes:
        dimensions: definitions of the sub-dimensions that the questions' traits name.
    """

    questions: tuple[Criterion, ...]
    dimensions: Mapping[str, str]
    units: Units
    assignment: Assignment
    settings: SealScoringSettings

    def materials(self, example: Example) -> dict[Material, str]:
        """Return the texts to compare with: those that the units name or a question needs, if the example has them."""
        named = {*self.units.beside, *(question_of(question).support for question in self.questions)}
        texts: Mapping[Material, str | None] = {
            "source": example.source,
            "context": example.context,
            "reference": example.reference,
        }
        # A text without letters and digits has no sentence.
        return {n: text for n in MATERIALS if n in named and (text := texts[n]) and any(map(str.isalnum, text))}

    def lacking(self, given: Mapping[Material, str]) -> dict[str, str]:
        """Return the questions that need facts of a missing text, by id, with the reason."""
        needed = ((question.id, question_of(question).support) for question in self.questions)
        words = self.assignment.words
        return {
            name: f"no fact can be named: the {words.output} comes without a {words.called(material)}"
            for name, material in needed
            if material and material not in given
        }


@dataclass(frozen=True, slots=True)
class TextVerification:
    """The verification of one text.

    Attributes:
        kind: the kind of its units.
        units: the units to verify.
        texts: whole texts to compare with.
        facts: facts to compare with, by id.
        incomplete: materials of which some facts are missing; they are shown as texts too.
        lacking: why a question cannot be asked of this text, by the question's id.
    """

    plan: VerificationPlan
    output: str
    kind: Kind
    units: tuple[Unit, ...]
    texts: Mapping[Material, str]
    facts: Mapping[Material, Mapping[str, str]]
    incomplete: frozenset[Material]
    lacking: Mapping[str, str]

    @property
    def rated(self) -> bool:
        """Whether units are rated on the scale instead of verified: all of them, or only texts too short for units."""
        settings = self.plan.settings
        return not settings.verify or (self.kind == "whole" and settings.decompose)


def facts_by_id(material: Material, facts: Sequence[str]) -> dict[str, str]:
    """Return facts by id: c1, c2 ... for a source, r1 ... for a reference, x1 ... for a context."""
    return {f"{LETTERS[material]}{number}": fact for number, fact in enumerate(facts, 1)}


def verdict_prompts(verification: TextVerification) -> list[Prompt[KeyedReply]]:
    """Return the prompts with every question about every unit.

    If the judge weights several questions, the first prompt requests their weights too. If it does not have all the
    questions, another prompt before it requests only weights.
    """
    plan, prompts = verification.plan, list(_prompts(verification))
    if not prompts or len(plan.questions) < 2 or not judge_weighs(plan.units, plan.settings):
        return prompts
    if asked_questions(prompts[0].fields) == [question.id for question in plan.questions]:
        return [_weighing(prompts[0]), *prompts[1:]]
    return [_weighing(_prompt("seal/verify", verification, plan.questions, ())), *prompts]


def _prompts(verification: TextVerification) -> Iterator[Prompt[KeyedReply]]:
    most = verification.plan.settings.most_per_call
    for (template, material), questions in _by_template(verification).items():
        for asked in chunks(questions, most):
            for units in chunks(verification.units, max(1, most // len(asked))):
                yield _prompt(template, verification, asked, units, material)


def _by_template(verification: TextVerification) -> dict[tuple[str, Material | None], list[Criterion]]:
    """Return the questions that can be asked by template, and by the material of their support."""
    groups: dict[tuple[str, Material | None], list[Criterion]] = {}
    for question in verification.plan.questions:
        if question.id not in verification.lacking:
            groups.setdefault(_template(verification, question), []).append(question)
    return groups


def _template(verification: TextVerification, question: Criterion) -> tuple[str, Material | None]:
    if verification.rated:
        return "seal/rate", None
    support = question_of(question).support if verification.kind == "fact" else None
    return ("seal/support", support) if support else ("seal/verify", None)


def _prompt(
    template: str,
    verification: TextVerification,
    questions: Sequence[Criterion],
    units: Sequence[Unit],
    material: Material | None = None,
) -> Prompt[KeyedReply]:
    plan = verification.plan
    fields = {
        **plan.assignment.fields(),
        "kind": verification.kind,
        "units": [_unit_fields(unit) for unit in units],
        "questions": [_question(question, plan.dimensions) for question in questions],
        **_compared_fields(verification, material),
        "output": verification.output,
        "weigh": False,
        "bare": plan.settings.answers == "bare",
    }
    longest = 256 + TOKENS_PER_VERDICT * len(units) * len(questions)
    return Prompt(template, fields, unit_form(template, fields), max_tokens=longest)


def _compared_fields(verification: TextVerification, material: Material | None) -> dict[str, Any]:
    """Return the fields to compare with: the facts of `material` alone, if given, otherwise texts and facts.

    Instead of incomplete facts, the text that they are from is shown.
    """
    texts = {} if material else verification.texts
    names = [material] if material else [name for name in verification.facts if name not in verification.incomplete]
    facts = [{"id": key, "of": name, "text": fact} for name in names for key, fact in verification.facts[name].items()]
    return {**{name: texts.get(name) for name in MATERIALS}, "facts": facts}


def _weighing(prompt: Prompt[KeyedReply]) -> Prompt[KeyedReply]:
    longest = prompt.max_tokens + TOKENS_PER_WEIGHT * len(asked_questions(prompt.fields))
    fields = {**prompt.fields, "weigh": True}
    return replace(prompt, fields=fields, reply=unit_form(prompt.name, fields), max_tokens=longest)


def _unit_fields(unit: Unit) -> dict[str, str]:
    if unit.second is None:
        return {"id": unit.id, "text": unit.text}
    return {"id": unit.id, "first": unit.text, "second": unit.second}


def _question(question: Criterion, dimensions: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a question, without the good answer, which would suggest one."""
    trait = question.trait
    return {"id": question.id, "name": trait, "definition": dimensions.get(trait, ""), "text": question.statement}
