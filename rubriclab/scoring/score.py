"""One text's score by a rubric: a number with its parts and reasons, or why there is none."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rubriclab.aggregation import Aggregation, Ask, combine
from rubriclab.data.aspect import Aspect, task_words
from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.judges.judge import Judge
from rubriclab.judges.ledger import FAULTY_ROW, RATINGS_MISSING, SCORED, count_text
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.gathering import gathered
from rubriclab.methods.method import CriterionRating, UnitVerdict
from rubriclab.methods.single_call import judge_all
from rubriclab.rubric import Part, Rubric
from rubriclab.stats.interval import DIGITS


@dataclass(frozen=True, slots=True)
class CriterionScore:
    """A text's score by one criterion, `None` where the judge gave none, and the judge's reason or what went wrong.

    Questions score 1 where the answer speaks for the text, else 0; the mean of that over its units, where a text is
    judged piece by piece. `applies`, `weight` and `units` are as in `CriterionRating`. `contribution` is what it adds
    to the score of an average text, in points, where the rubric combines criteria by learned weights.
    """

    id: str
    score: float | None
    reason: str
    applies: bool = True
    weight: float | None = None
    units: tuple[UnitVerdict, ...] = ()
    contribution: float | None = None

    @property
    def answers_missing(self) -> int:
        """How many answers are not there: of the units, where the text was judged piece by piece."""
        if self.units:
            return sum(unit.value is None for unit in self.units)
        return int(self.applies and self.score is None)

    def to_row(self) -> dict[str, Any]:
        """Return the score as one JSON object, without what its method does not know."""
        # Not by `asdict`, which takes a third of the time of a text that is scored offline.
        row: dict[str, Any] = {"id": self.id, "score": self.score, "reason": self.reason, "applies": self.applies}
        if self.weight is not None:
            row["weight"] = self.weight
        if self.units:
            row["units"] = tuple(asdict(unit) for unit in self.units)
        if self.contribution is not None:
            row["contribution"] = self.contribution
        return row


# A score, its interval, and what they rest on.
Found = tuple[float | None, tuple[float, float] | None, tuple[CriterionScore, ...]]


@dataclass(frozen=True, slots=True)
class Score:
    """A text's score on the rubric's scale, or in `unscored` the reason for its absence; exactly one of them is set.

    `interval` is what holds the score that people would give, with the confidence of the rubric's combination; `None`
    where there is no score, or the rubric has no intervals.
    """

    id: str
    aspect: str
    score: float | None
    criteria: tuple[CriterionScore, ...]
    unscored: str | None
    rubric: str
    judge: str
    interval: tuple[float, float] | None = None

    @property
    def width(self) -> float | None:
        """How wide the interval is, in points of the scale."""
        return None if self.interval is None else round(self.interval[1] - self.interval[0], DIGITS)

    @property
    def answers(self) -> int:
        """How many answers a complete score would rest on: one for each criterion that applies, or for each unit."""
        return sum(len(criterion.units) or criterion.applies for criterion in self.criteria)

    @property
    def answers_missing(self) -> int:
        """How many of these answers are not there."""
        return sum(criterion.answers_missing for criterion in self.criteria)

    def to_row(self) -> dict[str, Any]:
        """Return the score as one JSON object, without an interval where there is none."""
        row = {
            "id": self.id,
            "aspect": self.aspect,
            "score": self.score,
            "criteria": [criterion.to_row() for criterion in self.criteria],
            "unscored": self.unscored,
            "rubric": self.rubric,
            "judge": self.judge,
        }
        return {**row, "interval": self.interval} if self.interval else row


def assignment_of(rubric: Rubric) -> Assignment:
    """Return what the rubric judges, in the words of its task."""
    return _assignment(rubric.task, rubric.aspect, rubric.scale)


# The same for all texts of a rubric.
@functools.lru_cache(maxsize=64)
def _assignment(task: str, aspect: Aspect, scale: Scale) -> Assignment:
    return Assignment(task_words(task), aspect, scale)


async def score_text(rubric: Rubric, example: Example, judge: Judge, name: str) -> Score:
    """Return the score of one text by `rubric`, which is known as `name` (as in `news-coherence@2`).

    Raises:
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does; they concern every text.
    """
    assignment = assignment_of(rubric)
    if rubric.aggregation:
        value, interval, criteria = await _combined(rubric, rubric.aggregation, example, assignment, judge)
    else:
        value, interval, criteria = await _mean_of_parts(rubric, example, assignment, judge)
    count_text(judge, RATINGS_MISSING if value is None else SCORED)
    return Score(
        id=example.id,
        aspect=rubric.aspect.name,
        score=value,
        criteria=criteria,
        unscored=_why(criteria) if value is None else None,
        rubric=name,
        judge=judge.name,
        interval=interval,
    )


def unscored(row_id: str, reason: str, rubric: Rubric, name: str, judge: Judge) -> Score:
    """Return the score of a row that could not be judged at all."""
    count_text(judge, FAULTY_ROW)
    return Score(row_id, rubric.aspect.name, None, (), reason, name, judge.name)


async def _mean_of_parts(rubric: Rubric, example: Example, assignment: Assignment, judge: Judge) -> Found:
    """Return the mean of the parts' own scores; every part is needed."""
    results = await _by_part(rubric.parts, example, assignment, judge)
    values = [value for value, _ in results if value is not None]
    criteria = tuple(_criterion(rated) for _, ratings in results for rated in ratings)
    return (sum(values) / len(values) if len(values) == len(results) else None), None, criteria


async def _combined(
    rubric: Rubric, aggregation: Aggregation, example: Example, assignment: Assignment, judge: Judge
) -> Found:
    """Return the score by learned weights, with its interval and each criterion's contribution."""
    ratings = await ratings_of(example, rubric.parts, aggregation.ask, assignment, judge)
    found = combine(aggregation, {r.criterion: r.score for r in ratings if r.applies}, rubric.scale)
    interval = None if found.low is None or found.high is None else (found.low, found.high)
    return (
        found.score,
        interval,
        tuple(_criterion(rated, found.contributions.get(rated.criterion)) for rated in ratings),
    )


async def ratings_of(
    example: Example, parts: Sequence[Part], ask: Ask, assignment: Assignment, judge: Judge
) -> tuple[CriterionRating, ...]:
    """Return what the criteria of the parts say of a text, part by part, asked about as `ask` says."""
    if ask == "in one call":
        return await judge_all(example, parts, assignment, judge)
    return tuple(rated for _, own in await _by_part(parts, example, assignment, judge) for rated in own)


async def _by_part(
    parts: Sequence[Part], example: Example, assignment: Assignment, judge: Judge
) -> list[tuple[float | None, tuple[CriterionRating, ...]]]:
    """Return each part's own score of the text, and its ratings."""
    return await gathered(METHODS[part.method].score(example, part, assignment, judge) for part in parts)


def _criterion(rated: CriterionRating, contribution: float | None = None) -> CriterionScore:
    return CriterionScore(
        rated.criterion, rated.score, rated.reason, rated.applies, rated.weight, rated.units, contribution
    )


def _why(criteria: Sequence[CriterionScore]) -> str:
    failed = [criterion for criterion in criteria if criterion.score is None and criterion.applies]
    if not failed:
        return f"none of the {len(criteria)} criteria can be asked of this text"
    return f"{len(failed)} of {len(criteria)} criteria without a usable rating; the first: {failed[0].reason}"
