"""A stream of rows to a stream of results, in the same order, with a bounded number of texts under way."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from typing import Any, Literal, TypeVar

from rubriclab.aggregation import RivalLimits
from rubriclab.data.example import Example
from rubriclab.data.row import RowError
from rubriclab.errors import SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.rubric import Rubric
from rubriclab.scoring.grouped_stream import Rate
from rubriclab.scoring.rivals import RivalCounts, score_rivals_stream
from rubriclab.scoring.score import Score, apart, fault_id, limits_of, score_text, unscored

R = TypeVar("R")
T = TypeVar("T")


def score_stream(
    rubric: Rubric,
    rows: Iterable[Example | RowError],
    judge: Judge,
    name: str,
    under_way: int = 16,
    *,
    rivals: RivalLimits | Literal["apart"] | None = None,
    counts: RivalCounts | None = None,
) -> AsyncGenerator[Score]:
    """Yield one score a row, in order; a faulty row is unscored with the fault as its reason.

    At most `under_way` texts are held at a time, however long the stream is; see `stream`, and `score_rivals_stream`
    for texts that are rated together.

    Args:
        rivals: the size of calls in which texts of one group are rated together, or `apart` for calls about one text;
            `None` for what the rubric was learned with.
        counts: filled with what was rated together.

    Raises:
        SettingsError: if not even one text may be under way, or the rubric cannot rate texts together.
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does; they concern every text.
    """
    limits = limits_of(rubric, rivals)
    if limits:
        return score_rivals_stream(rubric, rows, judge, name, limits=limits, under_way=under_way, counts=counts)
    asked = apart(rubric)
    return stream(rows, lambda row: score_row(asked, row, judge, name), under_way)


async def stream(rows: Iterable[R], work: Callable[[R], Coroutine[Any, Any, T]], under_way: int) -> AsyncGenerator[T]:
    """Yield what `work` makes of each row, in order.

    At most `under_way` rows are held at a time. If one of them ends the run (a refused key, a cap reached), the others
    under way are waited for, so that answers already paid for are kept.

    Raises:
        SettingsError: if not even one row may be under way.
    """
    if under_way < 1:
        raise SettingsError(f"With {under_way} texts under way, none would ever be done;", "allow at least one.")
    source = iter(rows)
    tasks: deque[asyncio.Task[T]] = deque()
    rate = Rate()
    try:
        while True:
            while len(tasks) < under_way and (row := next(source, None)) is not None:
                tasks.append(asyncio.ensure_future(work(row)))
            if not tasks:
                rate.log()
                return
            result = await tasks.popleft()
            rate.count()
            yield result
    except Exception:
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    finally:
        for task in tasks:
            if not task.cancelling():  # a second cancellation would not wait for a reply that arrives soon
                task.cancel()


async def score_row(rubric: Rubric, row: Example | RowError, judge: Judge, name: str) -> Score:
    """Return the score of a text, or a faulty row without a score and with the fault as its reason."""
    if isinstance(row, RowError):
        return unscored(fault_id(row), str(row), rubric, name, judge)
    return await score_text(rubric, row, judge, name)
