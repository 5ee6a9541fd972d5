"""What is asked about a text that was taken apart, and the prompts that ask it (SEAL, section 3.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.methods.prompting import chunks
from rubriclab.methods.questions import about, by_trait
from rubriclab.methods.seal.replies import FORMS, asked_questions
from rubriclab.methods.seal.settings import SealScoringSettings, judge_weighs
from rubriclab.methods.seal.units import Kind, Unit
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion
from rubriclab.segmentation import Material, Units

MATERIALS: tuple[Material, ...] = ("source", "context", "reference")

# What the ids of their facts begin with.
LETTERS: Mapping[Material, str] = {"source": "c", "context": "x", "reference": "r"}

TOKENS_PER_VERDICT = 90
TOKENS_PER_WEIGHT = 24


@dataclass(frozen=True, slots=True)
class Examination:
    """What is asked of every text alike.

    Attributes:
        dimensions: what is meant by the sub-dimensions that the questions' traits name.
    """

    questions: tuple[Criterion, ...]
    dimensions: Mapping[str, str]
    units: Units
    assignment: Assignment
    settings: SealScoringSettings

    def materials(self, example: Example) -> dict[Material, str]:
        """Return what a text is held against: what the units name or a question needs, where the example has it."""
        named = {*self.units.beside, *(about(question).support for question in self.questions)}
        given: Mapping[Material, str | None] = {
            "source": example.source,
            "context": example.context,
            "reference": example.reference,
        }
        # What holds no letter and no digit has no sentence either.
        return {n: text for n in MATERIALS if n in named and (text := given[n]) and any(map(str.isalnum, text))}

    def lacking(self, given: Mapping[Material, str]) -> dict[str, str]:
        """Return the questions that need facts of what a text comes without, by id, with the reason."""
        needed = ((question.id, about(question).support) for question in self.questions)
        words = self.assignment.words
        return {
            name: f"no fact can be named: the {words.output} comes without a {words.called(material)}"
            for name, material in needed
            if material and material not in given
        }


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One text before the examination.

    Attributes:
        kind: what its units are.
        units: those that can be asked about.
        texts: what the text is held against as a whole.
        facts: what its units are held against fact by fact, each fact under its id.
        incomplete: materials of which some facts could not be had; they are shown as texts too.
        lacking: why a question cannot be asked of this text, by the question's id.
    """

    exam: Examination
    output: str
    kind: Kind
    units: tuple[Unit, ...]
    texts: Mapping[Material, str]
    facts: Mapping[Material, Mapping[str, str]]
    incomplete: frozenset[Material]
    lacking: Mapping[str, str]

    @property
    def rated(self) -> bool:
        """Whether units are rated on the scale: all of them, or only texts that are too short to be taken apart."""
        settings = self.exam.settings
        return not settings.verify or (self.kind == "whole" and settings.decompose and settings.whole == "rated")


def numbered(material: Material, facts: Sequence[str]) -> dict[str, str]:
    """Return facts under their ids: c1, c2 ... for a source, r1 ... for a reference, x1 ... for a context."""
    return {f"{LETTERS[material]}{number}": fact for number, fact in enumerate(facts, 1)}


def verdict_prompts(inquiry: Inquiry) -> list[Prompt[Any]]:
    """Return the prompts that ask every question about every unit.

    Where the judge weighs several questions, the first prompt asks for their weights too. If it does not hold all of
    the questions, another one goes before it that asks for nothing else.
    """
    exam, prompts = inquiry.exam, list(_prompts(inquiry))
    if not prompts or len(exam.questions) < 2 or not judge_weighs(exam.units, exam.settings):
        return prompts
    if asked_questions(prompts[0].fields) == [question.id for question in exam.questions]:
        return [_weighing(prompts[0]), *prompts[1:]]
    return [_weighing(_prompt("seal/verify", inquiry, exam.questions, ())), *prompts]


def _prompts(inquiry: Inquiry) -> Iterator[Prompt[Any]]:
    settings = inquiry.exam.settings
    most = 1 if settings.ask == "one by one" else settings.most_per_call
    for (template, material), alike in _by_template(inquiry).items():
        for group in [alike] if settings.ask == "together" else by_trait(alike).values():
            for some in chunks(group, most):
                for units in chunks(inquiry.units, max(1, most // len(some))):
                    yield _prompt(template, inquiry, some, units, material)


def _by_template(inquiry: Inquiry) -> dict[tuple[str, Material | None], list[Criterion]]:
    """Return the questions that can be asked by how they are: those that need support by what must bear them out."""
    found: dict[tuple[str, Material | None], list[Criterion]] = {}
    for question in inquiry.exam.questions:
        if question.id not in inquiry.lacking:
            found.setdefault(_template(inquiry, question), []).append(question)
    return found


def _template(inquiry: Inquiry, question: Criterion) -> tuple[str, Material | None]:
    if inquiry.rated:
        return "seal/rate", None
    support = about(question).support if inquiry.kind == "fact" else None
    return ("seal/support", support) if support else ("seal/verify", None)


def _prompt(
    template: str,
    inquiry: Inquiry,
    questions: Sequence[Criterion],
    units: Sequence[Unit],
    material: Material | None = None,
) -> Prompt[Any]:
    exam = inquiry.exam
    fields = {
        **exam.assignment.fields(),
        "kind": inquiry.kind,
        "units": [_shown(unit) for unit in units],
        "questions": [_question(question, exam.dimensions) for question in questions],
        **_beside(inquiry, material),
        "output": inquiry.output,
        "weigh": False,
    }
    longest = 256 + TOKENS_PER_VERDICT * len(units) * len(questions)
    return Prompt(template, fields, FORMS[template][0], max_tokens=longest)


def _beside(inquiry: Inquiry, material: Material | None) -> dict[str, Any]:
    """Return what is shown beside the text; with `material` the facts of that alone, since no other can be named.

    Otherwise facts that are incomplete give way to the text that they are of.
    """
    texts = {} if material else inquiry.texts
    names = [material] if material else [name for name in inquiry.facts if name not in inquiry.incomplete]
    facts = [{"id": key, "of": name, "text": fact} for name in names for key, fact in inquiry.facts[name].items()]
    return {**{name: texts.get(name) for name in MATERIALS}, "facts": facts}


def _weighing(prompt: Prompt[Any]) -> Prompt[Any]:
    """Return the prompt as one that asks for weights too."""
    longest = prompt.max_tokens + TOKENS_PER_WEIGHT * len(asked_questions(prompt.fields))
    fields = {**prompt.fields, "weigh": True}
    return replace(prompt, fields=fields, reply=FORMS[prompt.name][1], max_tokens=longest)


def _shown(unit: Unit) -> dict[str, str]:
    if unit.second is None:
        return {"id": unit.id, "text": unit.text}
    return {"id": unit.id, "first": unit.text, "second": unit.second}


def _question(question: Criterion, dimensions: Mapping[str, str]) -> dict[str, str]:
    """Return what is shown of a question: not which answer is better, since that would suggest one."""
    trait = question.trait
    return {"id": question.id, "name": trait, "definition": dimensions.get(trait, ""), "text": question.statement}
