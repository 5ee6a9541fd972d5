"""Yes/no questions as criteria of a rubric, and as prompts show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rubriclab.checklist import SubDimension
from rubriclab.methods.yes_no import YesNo
from rubriclab.rubric import CitedReason, Criterion, Evidence, Question


def question_of(criterion: Criterion) -> Question:
    """Return the question of a criterion: its origin and its good answer.

    Raises:
        ValueError: if the criterion is not a question.
    """
    if criterion.question is None:
        raise ValueError(f"criterion {criterion.id!r}: expected a question, got a {criterion.kind}")
    return criterion.question


def is_seed(criterion: Criterion) -> bool:
    """Return whether the question is a seed, of a person or a generator."""
    return question_of(criterion).origin == "seed"


def is_handwritten(criterion: Criterion) -> bool:
    """Return whether a person wrote the question."""
    return is_seed(criterion) and criterion.evidence.origin != "prior knowledge"


def by_trait(questions: Sequence[Criterion]) -> dict[str, list[Criterion]]:
    """Return the questions of each sub-dimension, in the order of first occurrence."""
    groups: dict[str, list[Criterion]] = {}
    for question in questions:
        groups.setdefault(question.trait, []).append(question)
    return groups


def make_question(
    name: str,
    text: str,
    sub: SubDimension,
    seed: str | None = None,
    *,
    origin: Literal["seed", "diversified", "elaborated"] = "seed",
    better: Literal["yes", "no"] = "yes",
    author: Literal["written by hand", "prior knowledge"] = "written by hand",
    absent: YesNo | None = None,
    broken: YesNo | None = None,
    examples: tuple[str, ...] = (),
    reasons: tuple[CitedReason, ...] = (),
) -> Criterion:
    """Return the question with the id `name`.

    Args:
        seed: the id of the seed that it was made from; `None` for a seed.
        author: the author of a seed: a person, or the generator from prior knowledge.
        examples: ids of the texts whose raters' reasons the generator was shown.
        reasons: those that it came from.
    """
    return Criterion(
        id=name,
        kind="question",
        trait=sub.name,
        statement=text,
        evidence=Evidence(origin="seed questions" if seed else author, examples=examples, reasons=reasons),
        question=Question(origin=origin, seed=seed, better=better, absent=absent, broken=broken),
    )


def payload(criterion: Criterion, *, presupposed: bool = True) -> dict[str, str | None]:
    """Return the fields of a question in a prompt, without the good answer, which would suggest one.

    Args:
        presupposed: whether to include the answers stated for an absent subject and for a broken text.
    """
    stated = question_of(criterion)
    absent, broken = (stated.absent, stated.broken) if presupposed else (None, None)
    return {"id": criterion.id, "text": criterion.statement, "absent": absent, "broken": broken}
