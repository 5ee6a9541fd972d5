"""Yes/no questions as rubrics hold them, whichever method asks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rubriclab.checklist import SubDimension
from rubriclab.methods.yes_no import YesNo
from rubriclab.rubric import Criterion, Evidence, Question


def about(criterion: Criterion) -> Question:
    """Return how a question came about and how its answer counts.

    Raises:
        ValueError: if the criterion is no question.
    """
    if criterion.question is None:
        raise ValueError(f"criterion {criterion.id!r}: expected a question, got a {criterion.kind}")
    return criterion.question


def is_seed(criterion: Criterion) -> bool:
    """Return whether learning started from the question, whoever wrote it."""
    return about(criterion).origin == "seed"


def is_handwritten(criterion: Criterion) -> bool:
    """Return whether a person wrote the question; a generator may write seeds too."""
    return is_seed(criterion) and criterion.evidence.origin != "prior knowledge"


def by_trait(questions: Sequence[Criterion]) -> dict[str, list[Criterion]]:
    """Return the questions of each sub-dimension, in the order of their first ones."""
    found: dict[str, list[Criterion]] = {}
    for question in questions:
        found.setdefault(question.trait, []).append(question)
    return found


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
) -> Criterion:
    """Return the question with the id `name`, made from the question with the id `seed` unless it is one itself.

    Args:
        author: who wrote it, if it is a seed: a person, or the generator from what it knows.
    """
    return Criterion(
        id=name,
        kind="question",
        trait=sub.name,
        statement=text,
        evidence=Evidence(origin="seed questions" if seed else author),
        question=Question(origin=origin, seed=seed, better=better, absent=absent, broken=broken),
    )


def payload(criterion: Criterion, *, presupposed: bool = True) -> dict[str, str | None]:
    """Return what is shown of a question: not which answer is better, since that would suggest one.

    Args:
        presupposed: whether the answers are shown that are stated for what is absent and for a broken text.
    """
    stated = about(criterion)
    absent, broken = (stated.absent, stated.broken) if presupposed else (None, None)
    return {"id": criterion.id, "text": criterion.statement, "absent": absent, "broken": broken}
