"""Every rating asked for while learning, kept so that nothing is asked twice."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.hypoeval.rate import rate
from rubriclab.methods.hypoeval.settings import Ask
from rubriclab.rubric import Criterion


class RatingTable:
    """Ratings of training texts by hypotheses; asks the judge only for what it does not hold.

    A failed rating is held as missing (`None`), not asked again: the judge has tried what it could.
    """

    def __init__(self, assignment: Assignment, judge: Judge, ask_how: Ask) -> None:
        self._assignment = assignment
        self._judge = judge
        # One overall rating cannot tell hypotheses apart, so learning asks for each one even where scoring will not.
        self._ask_how: Ask = "separately" if ask_how == "concatenated" else ask_how
        self._held: dict[tuple[str, str], float | None] = {}

    async def fill(self, criteria: Sequence[Criterion], examples: Sequence[Example]) -> None:
        """Ask for the ratings of all `examples` by all `criteria` that are not held yet."""
        await asyncio.gather(*(self._fill_one(example, criteria) for example in examples))

    async def _fill_one(self, example: Example, criteria: Sequence[Criterion]) -> None:
        new = [criterion for criterion in criteria if (criterion.id, example.id) not in self._held]
        if new:
            for rated in await rate(example, new, self._assignment, self._judge, self._ask_how):
                self._held[rated.criterion, example.id] = rated.score

    def get(self, criterion: str, example: str) -> float | None:
        """Return a rating held, `None` where it failed.

        Raises:
            KeyError: if it was never asked for.
        """
        return self._held[criterion, example]

    def matrix(self, criteria: Iterable[str], examples: Iterable[str]) -> np.ndarray:
        """Return ratings, shape (examples, criteria); NaN where missing or not asked."""
        columns = list(criteria)
        held = defaultdict(lambda: None, self._held)
        rows = [[held[criterion, example] for criterion in columns] for example in examples]
        values = np.array([[np.nan if v is None else v for v in row] for row in rows], dtype=float)
        return values.reshape(len(rows), len(columns))

    def counts(self, criterion: str, examples: Iterable[str]) -> tuple[int, int]:
        """Return how many ratings of `criterion` are held, and how many failed."""
        values = [self._held[criterion, example] for example in examples if (criterion, example) in self._held]
        return sum(value is not None for value in values), sum(value is None for value in values)
