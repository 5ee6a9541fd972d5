"""Every rating asked for while learning, kept so that nothing is asked twice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.hypoeval.rate import rate
from rubriclab.methods.hypoeval.settings import Ask
from rubriclab.methods.method import CriterionRating, scores_of
from rubriclab.rubric import Criterion
from rubriclab.stats.correlation import FloatArray

NEVER_ASKED = "the judge was never asked about this text by this criterion"


class RatingTable:
    """Ratings of training texts by hypotheses; asks the judge only for what it does not hold.

    A failed rating is held too, not asked again: the judge has tried what it could.
    """

    def __init__(self, assignment: Assignment, judge: Judge, ask_how: Ask) -> None:
        self._assignment = assignment
        self._judge = judge
        # One overall rating cannot tell hypotheses apart, so learning asks for each one even where scoring will not.
        self._ask_how: Ask = "separately" if ask_how == "concatenated" else ask_how
        # By criterion, then by example.
        self._held: dict[str, dict[str, CriterionRating]] = {}

    async def fill(self, criteria: Sequence[Criterion], examples: Sequence[Example]) -> None:
        """Ask for the ratings of all `examples` by all `criteria` that are not held yet."""
        await asyncio.gather(*(self._fill_one(example, criteria) for example in examples))

    async def _fill_one(self, example: Example, criteria: Sequence[Criterion]) -> None:
        new = [criterion for criterion in criteria if example.id not in self._held.get(criterion.id, {})]
        if new:
            for rated in await rate(example, new, self._assignment, self._judge, self._ask_how):
                self._held.setdefault(rated.criterion, {})[example.id] = rated

    def get(self, criterion: str, example: str) -> CriterionRating:
        """Return a rating held, which has no score where it failed.

        Raises:
            KeyError: if it was never asked for.
        """
        return self._held[criterion][example]

    def rows(self, criteria: Sequence[str], examples: Sequence[str]) -> tuple[tuple[CriterionRating, ...], ...]:
        """Return a row for each example with a rating for each criterion; those never asked for have no score."""
        return tuple(tuple(self._rating(criterion, example) for criterion in criteria) for example in examples)

    def matrix(self, criteria: Sequence[str], examples: Sequence[str]) -> FloatArray:
        """Return scores, shape (examples, criteria); NaN where missing or not asked."""
        return scores_of(self.rows(criteria, examples), len(criteria))

    def of(self, criterion: str) -> Mapping[str, CriterionRating]:
        """Return the ratings of `criterion` that are held, by example."""
        return self._held.get(criterion, {})

    def _rating(self, criterion: str, example: str) -> CriterionRating:
        return self.of(criterion).get(example) or CriterionRating(criterion, None, NEVER_ASKED)
