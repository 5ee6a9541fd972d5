"""Caps on calls and cost that the processes of one test run share, and caps of single tests within them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from rubriclab.errors import BudgetReached
from rubriclab.judges.budget import CONTINUE, Budget
from rubriclab.store.leases import is_gone, this_process

# Seconds that a writer waits for another process, and between two attempts to reserve.
TIMEOUT = 30
PAUSE = 0.05
_TABLE = """
    CREATE TABLE IF NOT EXISTS budget (
        process TEXT PRIMARY KEY,
        calls INTEGER NOT NULL, cost REAL NOT NULL, calls_in_flight INTEGER NOT NULL, cost_in_flight REAL NOT NULL
    )
"""
_JOIN = "INSERT OR IGNORE INTO budget VALUES (?, 0, 0, 0, 0)"
_SUMS = "SELECT SUM(calls), SUM(cost), SUM(calls_in_flight), SUM(cost_in_flight) FROM budget"
_WAITED_FOR = "SELECT process FROM budget WHERE calls_in_flight > 0"
_RESERVE = (
    "UPDATE budget SET calls_in_flight = calls_in_flight + 1, cost_in_flight = cost_in_flight + ? WHERE process = ?"
)
_SETTLE = """
    UPDATE budget SET
        calls = calls + ?, cost = cost + ?, calls_in_flight = calls_in_flight - 1,
        cost_in_flight = CASE WHEN calls_in_flight > 1 THEN cost_in_flight - ? ELSE 0 END
    WHERE process = ?
"""


class _Sums(NamedTuple):
    calls: int
    cost: float
    calls_in_flight: int
    cost_in_flight: float


class SharedBudget:
    """Remaining calls and money of several processes, kept in an SQLite file; see `rubriclab.judges.budget.Budget`.

    The calls that a killed process had in flight may have been billed, so they count as spent.

    Args:
        file: the same for all processes.
        max_calls: replies from the provider.
        max_cost: US dollars.
    """

    def __init__(self, file: Path, max_calls: int | None, max_cost: float | None) -> None:
        self.max_calls = max_calls
        self.max_cost = max_cost
        self._file = file
        self._process = this_process()
        with self._writing() as connection:
            connection.execute(_TABLE)
            connection.execute(_JOIN, (self._process,))

    async def reserve(self, cost: float) -> None:
        """Reserve one call and `cost` US dollars; see `Budget`."""
        while (reached := self._reserved(cost)) is not None:
            if reached:
                raise BudgetReached(reached, CONTINUE)
            await asyncio.sleep(PAUSE)

    def settle(self, reserved: float, cost: float | None) -> None:
        """Replace a reservation by the actual `cost` in US dollars; see `Budget`."""
        with self._writing() as connection:
            connection.execute(_SETTLE, (cost is not None, cost or 0.0, reserved, self._process))

    def _reserved(self, cost: float) -> str | None:
        """Return `None` once the call is reserved, the cap that is reached, or "" if others have to settle first."""
        with self._writing() as connection:
            sums = _Sums(*connection.execute(_SUMS).fetchone())
            reached = self._over(sums, cost)
            if reached is None:
                connection.execute(_RESERVE, (cost, self._process))
            elif any(not is_gone(process) for (process,) in connection.execute(_WAITED_FOR)):
                return ""
            return reached

    def _over(self, sums: _Sums, cost: float) -> str | None:
        if self.max_calls is not None and sums.calls + sums.calls_in_flight >= self.max_calls:
            return f"The cap of {self.max_calls} calls is reached by all processes of this run together."
        if self.max_cost is not None and sums.cost + sums.cost_in_flight + cost > self.max_cost:
            return (
                f"The next call might exceed the cap of {self.max_cost:g} US dollars; all processes of this run have "
                f"spent {sums.cost:.4g}."
            )
        return None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction that excludes other writers."""
        with closing(sqlite3.connect(self._file, TIMEOUT, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # the file lives as long as the run
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")


class BudgetWithin:
    """The budget of one test within that of the run: a call has to fit into both."""

    def __init__(self, own: Budget, run: Budget) -> None:
        self._own = own
        self._run = run

    @property
    def max_cost(self) -> float | None:
        """The lower of both caps in US dollars; `None` without any."""
        caps = [cap for cap in (self._own.max_cost, self._run.max_cost) if cap is not None]
        return min(caps, default=None)

    async def reserve(self, cost: float) -> None:
        """Reserve one call and `cost` US dollars in both budgets; see `Budget`."""
        await self._own.reserve(cost)
        try:
            await self._run.reserve(cost)
        except BaseException:
            self._own.settle(cost, None)
            raise

    def settle(self, reserved: float, cost: float | None) -> None:
        """Replace a reservation in both budgets by the actual `cost` in US dollars; see `Budget`."""
        self._own.settle(reserved, cost)
        self._run.settle(reserved, cost)
