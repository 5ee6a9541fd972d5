"""The most that scoring asks, told before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable

from rubriclab.data.example import Example
from rubriclab.data.row import RowError
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.single_call import estimate_single_call
from rubriclab.rubric import Rubric
from rubriclab.scoring.score import assignment_of


def scoring_at_most(rubric: Rubric, rows: Iterable[Example | RowError]) -> CallEstimate:
    """Return the most that scoring `rows` by `rubric` asks of the judge; faulty rows ask nothing."""
    total = CallEstimate()
    for row in rows:
        if isinstance(row, Example):
            total += _text_at_most(rubric, row)
    return total


def _text_at_most(rubric: Rubric, example: Example) -> CallEstimate:
    assignment = assignment_of(rubric)
    if rubric.aggregation and rubric.aggregation.ask == "in one call":
        return estimate_single_call(example, rubric.parts, assignment)
    total = CallEstimate()
    for part in rubric.parts:
        total += METHODS[part.method].scoring_at_most(example, part, assignment)
    return total
