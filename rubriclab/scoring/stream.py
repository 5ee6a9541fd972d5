"""A stream of rows to a stream of results, in the same order, with a bounded number of texts under way."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from rubriclab.data.example import Example
from rubriclab.data.row import RowError
from rubriclab.errors import SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.rubric import Rubric
from rubriclab.scoring.score import Score, score_text, unscored

R = TypeVar("R")
T = TypeVar("T")

# Seconds between two log messages.
LOGGED_EVERY = 60.0

_log = logging.getLogger(__name__)


def score_stream(
    rubric: Rubric, rows: Iterable[Example | RowError], judge: Judge, name: str, under_way: int = 16
) -> AsyncGenerator[Score]:
    """Yield one score a row, in order; a faulty row is unscored with the fault as its reason.

    At most `under_way` texts are held at a time, however long the stream is; see `stream`.

    Raises:
        SettingsError: if not even one text may be under way.
        JudgeRefused, BudgetReached, ReplayMiss: as the judge does; they concern every text.
    """
    return stream(rows, lambda row: score_row(rubric, row, judge, name), under_way)


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
    rate = _Rate()
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
            task.cancel()


class _Rate:
    """Logs the number of rows done and the rate, once a minute."""

    def __init__(self) -> None:
        self._rows = 0
        self._started = self._logged = time.monotonic()

    def count(self) -> None:
        """Count a row."""
        self._rows += 1
        if time.monotonic() - self._logged >= LOGGED_EVERY:
            self.log()

    def log(self) -> None:
        """Log the figures."""
        self._logged = time.monotonic()
        minutes = (self._logged - self._started) / 60
        _log.info("%d rows done, %.1f per minute", self._rows, self._rows / minutes if minutes else 0.0)


def fault_id(fault: RowError) -> str:
    """Return what a result about a faulty row is known by: the row's own id, or else where it stands."""
    return fault.id or f"{fault.where}:{fault.line}"


async def score_row(rubric: Rubric, row: Example | RowError, judge: Judge, name: str) -> Score:
    """Return the score of a text, or a faulty row without a score and with the fault as its reason."""
    if isinstance(row, RowError):
        return unscored(fault_id(row), str(row), rubric, name, judge)
    return await score_text(rubric, row, judge, name)
