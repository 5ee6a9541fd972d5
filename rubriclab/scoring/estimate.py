"""The most that scoring asks, told before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rubriclab.aggregation import RivalLimits
from rubriclab.data.example import Example
from rubriclab.data.row import RowError
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.single_call import estimate_rivals, estimate_single_call, rival_calls
from rubriclab.rubric import Rubric
from rubriclab.scoring.grouped_stream import groups_of
from rubriclab.scoring.rival_orders import OrderCheck
from rubriclab.scoring.rivals import row_key
from rubriclab.scoring.score import assignment_of, limits_of


def scoring_at_most(
    rubric: Rubric,
    rows: Iterable[Example | RowError],
    rivals: RivalLimits | Literal["apart"] | None = None,
    repeated: int = 0,
) -> CallEstimate:
    """Return the most that scoring `rows` by `rubric` asks of the judge; faulty rows ask nothing.

    Args:
        rivals: as for `score_stream`.
        repeated: number of calls about several texts that are repeated in the reverse order.

    Raises:
        SettingsError: as `score_stream` does.
    """
    limits, assignment = limits_of(rubric, rivals), assignment_of(rubric)
    total = CallEstimate()
    if limits is None:
        for row in rows:
            if isinstance(row, Example):
                total += _text_at_most(rubric, row)
        return total
    orders = OrderCheck(repeated)
    for group in groups_of(rows, row_key):
        examples = [row for row in group if isinstance(row, Example)]
        for places in rival_calls(examples, rubric.parts, assignment, limits):
            call = estimate_rivals([examples[place] for place in places], rubric.parts, assignment)
            total += call * 2 if orders.begin(len(places)) else call
    return total


def _text_at_most(rubric: Rubric, example: Example) -> CallEstimate:
    assignment = assignment_of(rubric)
    if rubric.aggregation and rubric.aggregation.ask == "in one call":
        return estimate_single_call(example, rubric.parts, assignment)
    total = CallEstimate()
    for part in rubric.parts:
        total += METHODS[part.method].scoring_at_most(example, part, assignment)
    return total
