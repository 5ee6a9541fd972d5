"""Every rating asked for while learning, kept so that nothing is asked twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.hypoeval.rate import rate
from rubriclab.methods.hypoeval.settings import Ask
from rubriclab.methods.method import Rated, scores_of
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
        self._held: dict[tuple[str, str], Rated] = {}

    async def fill(self, criteria: Sequence[Criterion], examples: Sequence[Example]) -> None:
        """Ask for the ratings of all `examples` by all `criteria` that are not held yet."""
        await asyncio.gather(*(self._fill_one(example, criteria) for example in examples))

    async def _fill_one(self, example: Example, criteria: Sequence[Criterion]) -> None:
        new = [criterion for criterion in criteria if (criterion.id, example.id) not in self._held]
        if new:
            for rated in await rate(example, new, self._assignment, self._judge, self._ask_how):
                self._held[rated.criterion, example.id] = rated

    def get(self, criterion: str, example: str) -> Rated:
        """Return a rating held, which has no score where it failed.

        Raises:
            KeyError: if it was never asked for.
        """
        return self._held[criterion, example]

    def rows(self, criteria: Sequence[str], examples: Sequence[str]) -> tuple[tuple[Rated, ...], ...]:
        """Return a row for each example with a rating for each criterion; those never asked for have no score."""
        return tuple(tuple(self._rating(criterion, example) for criterion in criteria) for example in examples)

    def matrix(self, criteria: Sequence[str], examples: Sequence[str]) -> FloatArray:
        """Return scores, shape (examples, criteria); NaN where missing or not asked."""
        return scores_of(self.rows(criteria, examples), len(criteria))

    def counts(self, criterion: str, examples: Sequence[str]) -> tuple[int, int]:
        """Return how many ratings of `criterion` are held with a score, and how many failed."""
        found = [self._held[criterion, example] for example in examples if (criterion, example) in self._held]
        failed = sum(rated.score is None for rated in found)
        return len(found) - failed, failed

    def _rating(self, criterion: str, example: str) -> Rated:
        return self._held.get((criterion, example)) or Rated(criterion, None, NEVER_ASKED)
