"""Caps on calls and cost: of a run, which all its processes share, and of single tests within it."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from rubriclab.errors import SettingsError
from rubriclab.judges.budget import Budget, LocalBudget
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.shared_budget import SharedBudget
from rubriclab.store import Store, open_store

# The name of the budget of the run.
RUN = "run"


class Budgets:
    """The budgets of a run, in a database that lives as long as the run; it is made when a cap is first given.

    Each rubric works in a thread of its own, so each is given a budget of its own to the same caps.

    Args:
        file: the database, the same for all processes; `None` for a single process.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._held = ExitStack()
        self._store: Store | None = None

    def budget(self, name: str, caps: JudgeOptions, held: ExitStack) -> Budget:
        """Return a budget with the caps in `caps`, shared by all with the same name; `held` ends it.

        Raises:
            SettingsError: if this process cannot see the database.
        """
        if caps.max_calls is None and caps.max_cost is None:
            return LocalBudget()
        shared = SharedBudget(self._opened().shared_state(name), caps.max_calls, caps.max_cost)
        held.callback(shared.close)
        return shared

    def close(self) -> None:
        """Close the database."""
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _opened(self) -> Store:
        if self._store is None:
            file = self._file or Path(self._held.enter_context(tempfile.TemporaryDirectory())) / "budget.db"
            if not file.parent.is_dir():
                raise SettingsError(
                    f"The caps of this run are kept in {file.parent}, which this process cannot see.",
                    "Run all worker processes on one machine, or leave the caps out.",
                )
            self._store = self._held.enter_context(open_store(file, create=True))
        return self._store


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
