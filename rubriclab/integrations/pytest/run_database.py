"""What all processes of a run share: the caps on its calls and cost, and which test stores which baseline."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rubriclab.errors import BudgetReached, SettingsError
from rubriclab.integrations.pytest.settings import UPDATE
from rubriclab.judges.budget import CONTINUE, Budget, Caps, LocalBudget
from rubriclab.judges.options import JudgeOptions

# Seconds that a process waits for another one to commit, and between two attempts to reserve a call.
TIMEOUT = 30.0
PAUSE = 0.2
# States of a process that has ended but has not been waited for.
ENDED = ("Z", "X", "x")

# A call without a cost is in flight.
_TABLES = """
CREATE TABLE IF NOT EXISTS calls (process INTEGER NOT NULL, reserved REAL NOT NULL, cost REAL);
CREATE TABLE IF NOT EXISTS baselines (name TEXT PRIMARY KEY, test TEXT NOT NULL);
"""
_PROCESSES = "SELECT DISTINCT process FROM calls WHERE cost IS NULL"
_END = "UPDATE calls SET cost = reserved WHERE process = ? AND cost IS NULL"
_TOTALS = """
SELECT count(*), total(cost), total(reserved) FILTER (WHERE cost IS NULL), count(*) - count(cost) FROM calls
"""
_RESERVE = "INSERT INTO calls (process, reserved) VALUES (?, ?)"
_IN_FLIGHT = "rowid = (SELECT rowid FROM calls WHERE process = ? AND reserved = ? AND cost IS NULL LIMIT 1)"
_SETTLE = f"UPDATE calls SET cost = ? WHERE {_IN_FLIGHT}"
_CANCEL = f"DELETE FROM calls WHERE {_IN_FLIGHT}"


class RunDatabase:
    """An SQLite file that lives as long as the run; it is made when it is first needed.

    Args:
        folder: where the file is, the same for all processes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def budget(self, caps: JudgeOptions) -> Budget:
        """Return the budget of the run, with the caps in `caps`."""
        if caps.max_calls is None and caps.max_cost is None:
            return LocalBudget()
        return RunBudget(self, Caps(caps.max_calls, caps.max_cost))

    def owner_of_baseline(self, name: str, test: str) -> str:
        """Return the test that stores the baseline `name` in this run: `test`, unless another one was first.

        Raises:
            SettingsError: if this process cannot see the file.
        """
        with self.change() as connection:
            connection.execute("INSERT OR IGNORE INTO baselines VALUES (?, ?)", (name, test))
            return str(connection.execute("SELECT test FROM baselines WHERE name = ?", (name,)).fetchone()[0])

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction; no other process writes until it ends.

        Raises:
            SettingsError: if this process cannot see the file.
        """
        if not self._folder.is_dir():
            raise SettingsError(
                f"The processes of this run share caps and the names of baselines in {self._folder}, which this "
                "process cannot see.",
                f"Run all worker processes on one machine, or without caps and without {UPDATE}.",
            )
        file = self._folder / "run.db"
        with closing(sqlite3.connect(file, timeout=TIMEOUT, isolation_level=None)) as connection:
            connection.executescript(f"PRAGMA synchronous = OFF; {_TABLES}")
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                yield connection


class RunBudget:
    """A budget of all processes of a run; see `Budget`.

    What a process that was killed had in flight counts as spent, since the provider may bill it.
    """

    def __init__(self, database: RunDatabase, caps: Caps) -> None:
        self.max_cost = caps.max_cost
        self._database = database
        self._caps = caps

    async def reserve(self, cost: float) -> None:
        """Reserve one call and `cost` US dollars; see `Budget`.

        Raises:
            BudgetReached: if a cap is reached and no process has anything in flight.
        """
        while True:
            if self._reserves(cost):
                return
            await asyncio.sleep(PAUSE)  # no event reaches other processes

    def settle(self, reserved: float, cost: float | None) -> None:
        """Replace a reservation by the actual `cost` in US dollars; see `Budget`."""
        call = (os.getpid(), reserved)
        with self._database.change() as connection:
            if cost is None:
                connection.execute(_CANCEL, call)
            else:
                connection.execute(_SETTLE, (cost, *call))

    def _reserves(self, cost: float) -> bool:
        """Return whether a call was reserved; if not, another one is in flight."""
        with self._database.change() as connection:
            for (process,) in connection.execute(_PROCESSES).fetchall():
                if _has_ended(process):
                    connection.execute(_END, (process,))
            calls, spent, reserved, in_flight = connection.execute(_TOTALS).fetchone()
            reached = self._caps.reached(calls, spent, reserved + cost)
            if reached is None:
                connection.execute(_RESERVE, (os.getpid(), cost))
            elif not in_flight:
                raise BudgetReached(reached, CONTINUE)
        return reached is None


def _has_ended(process: int) -> bool:
    """Return whether no process of this machine has this id; `False` if the system does not say."""
    if not Path("/proc/self/stat").exists():
        return False
    try:
        # The program's name, in brackets, may contain anything.
        return Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] in ENDED
    except OSError:
        return True
