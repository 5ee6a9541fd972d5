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
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import Rated, UnitVerdict
from rubriclab.rubric import Part, Rubric


@dataclass(frozen=True, slots=True)
class CriterionScore:
    """A text's score by one criterion, `None` where the judge gave none, and the judge's reason or what went wrong.

    Questions score 1 where the answer speaks for the text, else 0; the mean of that over its units, where a text is
    judged piece by piece. `applies`, `weight` and `units` are as in `Rated`.
    """

    id: str
    score: float | None
    reason: str
    applies: bool = True
    weight: float | None = None
    units: tuple[UnitVerdict, ...] = ()

    @property
    def answers_missing(self) -> int:
        """How many answers are not there: of the units, where the text was judged piece by piece."""
        if self.units:
            return sum(unit.value is None for unit in self.units)
        return int(self.applies and self.score is None)

    def to_row(self) -> dict[str, Any]:
        """Return the score as one JSON object, without what its method does not know."""
        row = asdict(self)
        return {
            name: value for name, value in row.items() if name not in ("weight", "units") or value not in (None, ())
        }


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

    @property
    def answers(self) -> int:
        """How many answers a complete score would rest on: one for each criterion that applies, or for each unit."""
        return sum(len(criterion.units) or criterion.applies for criterion in self.criteria)

    @property
    def answers_missing(self) -> int:
        """How many of these answers are not there."""
        return sum(criterion.answers_missing for criterion in self.criteria)

    def to_row(self) -> dict[str, Any]:
        """Return the score as one JSON object."""
        return {**asdict(self), "criteria": [criterion.to_row() for criterion in self.criteria]}


def assignment_of(rubric: Rubric) -> Assignment:
    """Return what the rubric judges, in the words of its task."""
    return Assignment(task_words(rubric.task), rubric.aspect, rubric.scale)


async def score_text(rubric: Rubric, example: Example, judge: Judge, name: str) -> Score:
    """Return the score of one text by `rubric`, which is known as `name` (as in `news-coherence@2`).

    Raises:
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does; they concern every text.
    """
    assignment = assignment_of(rubric)
    results = await asyncio.gather(*(_score(part, example, assignment, judge) for part in rubric.parts))
    values = [value for value, _ in results if value is not None]
    criteria = tuple(
        CriterionScore(r.criterion, r.score, r.reason, r.applies, r.weight, r.units)
        for _, ratings in results
        for r in ratings
    )
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


async def _score(
    part: Part, example: Example, assignment: Assignment, judge: Judge
) -> tuple[float | None, tuple[Rated, ...]]:
    return await METHODS[part.method].score(example, part, assignment, judge)


def _why(criteria: Sequence[CriterionScore]) -> str:
    failed = [criterion for criterion in criteria if criterion.score is None and criterion.applies]
    if not failed:
        return f"none of the {len(criteria)} criteria can be asked of this text"
    return f"{len(failed)} of {len(criteria)} criteria without a usable rating; the first: {failed[0].reason}"
