"""A yes/no question as rubrics hold it, and as prompts show it."""

from __future__ import annotations

from typing import Literal

from rubriclab.checklist import SubDimension
from rubriclab.methods.questions import about
from rubriclab.methods.yes_no import YesNo
from rubriclab.rubric import Criterion, Evidence, Question


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


def payload(criterion: Criterion) -> dict[str, str | None]:
    """Return what is shown of a question: not which answer is better, since that would suggest one."""
    stated = about(criterion)
    return {"id": criterion.id, "text": criterion.statement, "absent": stated.absent, "broken": stated.broken}
