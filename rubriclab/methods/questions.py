"""Yes/no questions as rubrics hold them, whichever method asks them."""

from __future__ import annotations

from collections.abc import Sequence

from rubriclab.rubric import Criterion, Question


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
