"""Versions that are a checklist, an explanation, labelled texts to show, or made without any label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from report_samples import interval, version

from rubriclab.learning.scoring import Score
from rubriclab.methods.method import CriterionRating
from rubriclab.models.rubric import Criterion, Demonstration, DroppedCriterion, Evidence, Part, Question
from rubriclab.models.text import Example
from rubriclab.models.version import TrainingAgreement, Version

DIMENSIONS = {
    "links": "Neighbouring sentences are connected.",
    "order": "Things are told in a sequence that can be followed.",
}
EXPLANATION = """Coherence asks me to read the summary as one piece.

I look at:
1. how each sentence takes up the one before, which is to say whether a reader is ever left to guess who is meant;
2. whether the order helps:
   - causes before effects
   - people before what they do

A 5 reads as one account."""


def question(name: str, trait: str = "links", **fields: Any) -> Criterion:
    """Return a question with the id `name`; `better`, `origin`, `seed` and `support` are the question's own."""
    made = {key: fields.pop(key) for key in ("better", "origin", "seed", "support") if key in fields}
    own: dict[str, Any] = {
        "statement": f"Does the summary pass the test {name}?",
        "question": Question(**({"origin": "seed"} | made)),
        "evidence": Evidence(
            origin="seed questions", pearson=0.31, judged=28, missing=2, answers={"n/a": 1, "no": 7, "yes": 20}
        ),
    }
    return Criterion(id=name, kind="question", trait=trait, **(own | fields))


QUESTIONS = (
    question("s01", statement="Does each sentence take up an earlier one?"),
    question("s01-d1", statement="Is every pronoun clear?", origin="diversified", seed="s01"),
    question("s02", "order", statement="Does the summary start afresh anywhere?", better="no"),
    question("s02-e1", "order", statement="Do causes come first?", origin="elaborated", seed="s02"),
)
LEFT_OUT = (
    DroppedCriterion(
        criterion=question("s01-d2", statement="Are sentences linked?", origin="diversified", seed="s01"),
        reason="redundant: asks what s01 asks",
    ),
    DroppedCriterion(criterion=question("s03", "order", statement="Is it good?"), reason="vague"),
    DroppedCriterion(
        criterion=question("s04", statement="Are links shown?"), reason="redundant: asks what s01-d1 asks"
    ),
)


def checklist_part(*criteria: Criterion, **fields: Any) -> Part:
    """Return a part of questions; `fields` replace its own."""
    own: dict[str, Any] = {"dimensions": DIMENSIONS, "dropped": LEFT_OUT, "settings": {"mode": "grouped"}}
    return Part(method="checkeval", criteria=criteria or QUESTIONS, **(own | fields))


def checklist(number: int = 1, *criteria: Criterion, **fields: Any) -> Version:
    """Return a version made of questions."""
    own: dict[str, Any] = {"name": "checks", "parts": (checklist_part(*criteria),)}
    return version(number, **(own | fields))


def overall(statement: str, **fields: Any) -> Criterion:
    """Return one score of the whole aspect."""
    own: dict[str, Any] = {"evidence": Evidence(origin="prior knowledge", pearson=0.45, judged=30, heldout=0.52)}
    return Criterion(id="e1", kind="score", trait="coherence", statement=statement, **(own | fields))


def explained(number: int = 1, statement: str = EXPLANATION, **fields: Any) -> Version:
    """Return a version that goes by an explanation."""
    part = Part(method="seeval", settings={"explanations": 1}, criteria=(overall(statement),))
    own: dict[str, Any] = {"name": "told", "parts": (part,), "agreement": untouched()}
    return version(number, **(own | fields))


def shown(*demonstrations: Demonstration, **fields: Any) -> Version:
    """Return a version that shows the judge labelled texts."""
    texts = demonstrations or (demonstration("train-1"), demonstration("train-2", score=4.333))
    criterion = overall(
        version().rubric.aspect.definition,
        evidence=Evidence(origin="labels", examples=tuple(each.example for each in texts)),
        demonstrations=texts,
    )
    part = Part(method="few_shot", settings={"k": 2}, criteria=(criterion,))
    own: dict[str, Any] = {"name": "shown", "parts": (part,), "agreement": untouched()}
    return version(**(own | fields))


def demonstration(name: str, **fields: Any) -> Demonstration:
    """Return a labelled text to show."""
    own: dict[str, Any] = {"output": f"The text {name}. " + "It goes on. " * 60, "source": "An article.", "score": 2.0}
    return Demonstration(example=name, **(own | fields))


def unlabelled(**fields: Any) -> Version:
    """Return a version that was made without any labelled text."""
    criterion = overall(version().rubric.aspect.definition, evidence=Evidence(origin="definition"))
    part = Part(method="direct", settings={}, criteria=(criterion,))
    own: dict[str, Any] = {"name": "plain", "parts": (part,), "agreement": None, "baseline": None, "parent": None}
    return version(**(own | {"examples": (), "groups": ()} | fields))


def untouched() -> TrainingAgreement:
    """Return an agreement with labels that had no part in the rubric."""
    found = interval(0.42, 0.21, 0.67)
    return TrainingAgreement(
        n=30, optimistic=False, spearman=found, pearson=interval(0.4), kendall=interval(0.3), reselected=found
    )


def answers_of(rubric: Version, texts: Sequence[Example]) -> list[Score]:
    """Return scores by a checklist: its answers turn with the text's number; every seventh text has one n/a."""
    questions = rubric.rubric.criteria
    return [_answered(rubric, questions, text, number) for number, text in enumerate(texts)]


def _answered(rubric: Version, questions: Sequence[Criterion], text: Example, number: int) -> Score:
    parts = []
    for place, asked in enumerate(questions):
        if place == 0 and number % 7 == 0:
            parts.append(CriterionRating(asked.id, None, "The text has nothing of that kind.", applies=False))
        elif place == 1 and number == 1:
            parts.append(CriterionRating(asked.id, None, "No answer came."))
        else:
            parts.append(CriterionRating(asked.id, float((number * (place + 3)) % 5 > 1), f"Reason {asked.id}."))
    known = [part.score for part in parts if part.score is not None]
    return Score(
        text.id, rubric.rubric.aspect.name, 1 + 4 * sum(known) / len(known), tuple(parts), None, rubric.ref, "fake"
    )
