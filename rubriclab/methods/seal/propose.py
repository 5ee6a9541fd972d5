"""Proposals of new sub-dimensions of an aspect, each with its question: the paper's future work (section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from pydantic import BaseModel, Field, ValidationInfo, field_validator

from rubriclab.checklist import Checklist
from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.prompting import first_usable, shown_once
from rubriclab.methods.replies import NewName, Wording
from rubriclab.methods.seal.settings import UNPACKED, SealSettings
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, Evidence, Question

TOKENS_PER_PROPOSAL = 200

# Labelled texts in the prompt of a proposal.
SHOWN = 6


class NewSubDimension(BaseModel):
    """A side of an aspect with the question that checks it."""

    name: NewName
    definition: Wording
    question: Wording


class SubDimensionProposal(BaseModel):
    """Sides of an aspect that are not checked yet."""

    reasoning: str
    sub_dimensions: list[NewSubDimension] = Field(min_length=1)

    @field_validator("sub_dimensions")
    @classmethod
    def _new(cls, found: list[NewSubDimension], info: ValidationInfo) -> list[NewSubDimension]:
        """Return those that are neither known nor repeated."""
        known = info.context["known"] if info.context else ()
        taken = {_plain(words) for each in known for words in (each["name"], each["question"])}
        new = []
        for each in found:
            words = {_plain(each.name), _plain(each.question)}
            if not words & taken:
                new.append(each)
                taken |= words
        if not new:
            raise ValueError("every one of them is known already; new ones were expected")
        return new


async def propose(
    training_input: TrainingInput, settings: SealSettings, generator: Judge
) -> tuple[tuple[Criterion, ...], Mapping[str, str], str | None]:
    """Return new questions, the definitions of their sub-dimensions, and what went wrong if the request failed."""
    if not settings.proposed:
        return (), {}, None
    texts = shown(training_input)
    prompt = propose_prompt(training_input, texts, settings)
    answer = await first_usable(prompt, generator)
    if answer.value is None:
        return (), {}, f"no sub-dimensions could be proposed: {answer.missing}"
    proposals = answer.value.sub_dimensions[: settings.proposed]
    ids = _free_ids(training_input.checklist)
    evidence = Evidence(
        origin="labels" if texts else "definition", examples=tuple(sorted(example.id for example in texts))
    )
    questions = tuple(proposed_question(next(ids), each.name, each.question, evidence) for each in proposals)
    return questions, {each.name: each.definition for each in proposals}, None


def propose_prompt(
    training_input: TrainingInput, texts: Sequence[Example], settings: SealSettings
) -> Prompt[SubDimensionProposal]:
    """Return the prompt for new sub-dimensions, with labelled texts as examples."""
    assignment, aspect = training_input.assignment, training_input.assignment.aspect.name
    units = (training_input.checklist and training_input.checklist.units) or UNPACKED
    subs = training_input.checklist.sub_dimensions if training_input.checklist else ()
    fields: dict[str, Any] = {
        **assignment.fields(),
        "kind": units.kind if settings.decompose else "whole",
        "beside": [assignment.words.called(material) for material in units.beside],
        "known": [{"name": sub.name, "question": each.text} for sub in subs for each in sub.questions],
        "count": settings.proposed,
        "texts": shown_once(
            [
                {
                    **Assignment.text_fields(example),
                    "reference": example.reference if "reference" in units.beside else None,
                    "score": example.scores[aspect],
                }
                for example in texts
            ]
        ),
    }
    longest = 1000 + TOKENS_PER_PROPOSAL * settings.proposed
    return Prompt("seal/propose", fields, SubDimensionProposal, max_tokens=longest)


def shown(training_input: TrainingInput) -> tuple[Example, ...]:
    """Return at most `SHOWN` labelled texts at even distances in the ranking by score, lowest first."""
    labels = training_input.labels
    ranked = sorted(training_input.examples, key=lambda example: (labels[example.id], example.id))
    places = np.linspace(0, len(ranked) - 1, min(SHOWN, len(ranked))).round().astype(int) if ranked else ()
    return tuple(ranked[place] for place in dict.fromkeys(places))


def proposed_question(name: str, trait: str, text: str, evidence: Evidence) -> Criterion:
    """Return the question of a proposed sub-dimension."""
    return Criterion(
        id=name, kind="question", trait=trait, statement=text, evidence=evidence, question=Question(origin="proposed")
    )


def _free_ids(checklist: Checklist | None) -> Iterator[str]:
    taken = {question.id for question in checklist.questions} if checklist else set()
    return (name for name in (f"p{number}" for number in count(1)) if name not in taken)


def _plain(words: str) -> str:
    return " ".join(words.casefold().split()).rstrip("?.!")
