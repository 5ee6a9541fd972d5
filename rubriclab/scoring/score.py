"""One text's score by a rubric: a number with its parts and reasons, or why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rubriclab.data.aspect import task_words
from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods import hypoeval
from rubriclab.rubric import Rubric

# How each method scores its part of a rubric.
SCORERS = {"hypoeval": hypoeval.score}


@dataclass(frozen=True, slots=True)
class CriterionScore:
    """A text's score by one criterion, `None` where the judge gave none, and the judge's reason or what went wrong."""

    id: str
    score: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Score:
    """A text's score on the rubric's scale, or in `unscored` the reason for its absence; exactly one of them is set."""

    id: str
    aspect: str
    score: float | None
    criteria: tuple[CriterionScore, ...]
    unscored: str | None
    rubric: str
    judge: str

    def to_row(self) -> dict[str, Any]:
        """Return the score as one JSON object."""
        return asdict(self)


def assignment_of(rubric: Rubric) -> Assignment:
    """Return what the rubric judges, in the words of its task."""
    return Assignment(task_words(rubric.task), rubric.aspect, rubric.scale)


async def score_text(rubric: Rubric, example: Example, judge: Judge, name: str) -> Score:
    """Return the score of one text by `rubric`, which is known as `name` (as in `news-coherence@2`).

    Raises:
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does; they concern every text.
    """
    assignment = assignment_of(rubric)
    results = await asyncio.gather(*(SCORERS[part.method](example, part, assignment, judge) for part in rubric.parts))
    values = [value for value, _ in results if value is not None]
    criteria = tuple(CriterionScore(r.criterion, r.score, r.reason) for _, ratings in results for r in ratings)
    complete = len(values) == len(results)
    return Score(
        id=example.id,
        aspect=rubric.aspect.name,
        score=sum(values) / len(values) if complete else None,
        criteria=criteria,
        unscored=None if complete else _why(criteria),
        rubric=name,
        judge=judge.name,
    )


def unscored(row_id: str, reason: str, rubric: Rubric, name: str, judge: Judge) -> Score:
    """Return the score of a row that could not be judged at all."""
    return Score(row_id, rubric.aspect.name, None, (), reason, name, judge.name)


def _why(criteria: Sequence[CriterionScore]) -> str:
    failed = [criterion for criterion in criteria if criterion.score is None]
    return f"{len(failed)} of {len(criteria)} criteria without a usable rating; the first: {failed[0].reason}"
