"""The most that judging a text in one call asks, told before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.estimate import CallEstimate, estimate_prompt
from rubriclab.methods.single_call.prompt import can_join, judge_prompt
from rubriclab.rubric import Part


def at_most(example: Example, parts: Sequence[Part], assignment: Assignment) -> CallEstimate:
    """Return the most that `judge_all` asks about one text: one call, and what the parts take that cannot join.

    Raises:
        ValueError: if an id names two of the criteria asked about in one call.
    """
    joined = [part for part in parts if can_join(part)]
    total = estimate_prompt(judge_prompt(example, joined, assignment)) if joined else CallEstimate()
    for part in parts:
        if not can_join(part):
            total += METHODS[part.method].scoring_at_most(example, part, assignment)
    return total
