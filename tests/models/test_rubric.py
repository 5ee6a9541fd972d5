"""Rubrics: frozen, strict, and identified by their content."""

import json

import pytest
from pydantic import ValidationError
from scripted_judge import assignment, criterion

from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.models.rubric import (
    Criterion,
    Demonstration,
    DroppedCriterion,
    Evidence,
    Part,
    Question,
    Rubric,
    criterion_prompt_fields,
)
from rubriclab.models.text import Scale


def part(*names: str, **given) -> Part:
    chosen = HypoEvalSettings().model_dump(mode="json")
    return Part(method="hypoeval", settings=chosen, criteria=tuple(criterion(name) for name in names), **given)


def rubric(*parts: Part, **given) -> Rubric:
    shown = assignment()
    fields = {"task": "summarization", "aspect": shown.aspect, "scale": shown.scale, "parts": parts or (part("a"),)}
    return Rubric(**{**fields, **given})


def plain(**given) -> Criterion:
    return Criterion(**{**criterion("a").model_dump(), **given})


def with_criterion(**given) -> Rubric:
    return rubric(part("a").model_copy(update={"criteria": (plain(**given),)}))


@pytest.mark.parametrize(
    "other",
    [
        rubric(task="story"),
        rubric(scale=Scale(low=1, high=5, whole=False)),
        rubric(scale=Scale(low=1, high=4, whole=True)),
        rubric(part("b")),
        rubric(part("a", "b")),
        rubric(part("a"), part("b")),
        rubric(part("a", dropped=(DroppedCriterion(criterion=criterion("b"), reason="No place."),))),
        rubric(part("a").model_copy(update={"criteria": (criterion("a", weight=2),)})),
        rubric(part("a").model_copy(update={"criteria": (criterion("a", origin="literature"),)})),
        rubric(part("a").model_copy(update={"settings": {"ask": "together"}})),
        rubric(part("a", dimensions={"clarity": "How clear it is."})),
        with_criterion(demonstrations=(Demonstration(example="t1", output="A text.", score=4),)),
        with_criterion(kind="question", levels=(), question=Question(origin="seed")),
        with_criterion(evidence=Evidence(origin="labels", heldout=0.5)),
        with_criterion(evidence=Evidence(origin="labels", answers={"yes": 1})),
    ],
)
def test_any_other_content_has_another_digest(other: Rubric):
    assert other.digest != rubric().digest


def test_a_judge_is_shown_the_words_of_a_criterion_and_none_of_its_evidence():
    payload = criterion_prompt_fields(criterion("a"))
    assert list(payload) == ["id", "trait", "statement", "levels"]
    assert payload["levels"][0]["score"] == 1
    assert json.loads(json.dumps(payload)) == payload


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"levels": ()}, "expected levels in a hypothesis and in no other kind, got 0 in a hypothesis"),
        ({"kind": "score"}, "expected levels in a hypothesis .*, got 5 in a score"),
        ({"kind": "question"}, "expected levels in a hypothesis"),
        ({"kind": "question", "levels": ()}, "expected `question` in a question .*, got none in a question"),
        ({"question": Question(origin="seed")}, "expected `question` in a question .*, got one in a hypothesis"),
        ({"kind": "score", "levels": (), "question": Question(origin="seed")}, "got one in a score"),
    ],
    ids=str,
)
def test_a_criterion_has_what_its_kind_needs_and_nothing_of_another(wrong, complaint):
    with pytest.raises(ValidationError, match=complaint):
        plain(**wrong)
