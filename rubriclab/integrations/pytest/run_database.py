"""What all processes of a run share: the caps on its calls and cost, and which test stores which baseline."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from rubriclab.errors import SettingsError
from rubriclab.integrations.pytest.settings import UPDATE
from rubriclab.judges.budget import Budget, LocalBudget
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.shared_budget import SharedBudget
from rubriclab.store import Store, open_store
from rubriclab.store.shared_state import Document

# The name of the budget of the run.
RUN = "run"


class RunDatabase:
    """A database that lives as long as the run; it is made when it is first needed.

    Each rubric works in a thread of its own, so each is given a budget of its own to the same caps.

    Args:
        folder: where the database is, the same for all processes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held = ExitStack()
        self._store: Store | None = None

    def budget(self, name: str, caps: JudgeOptions, held: ExitStack) -> Budget:
        """Return a budget with the caps in `caps`, shared by all with the same name; `held` ends it.

        Raises:
            SettingsError: if this process cannot see the database.
        """
        if caps.max_calls is None and caps.max_cost is None:
            return LocalBudget()
        shared = SharedBudget(self._opened().shared_state(f"budget {name}"), caps.max_calls, caps.max_cost)
        held.callback(shared.close)
        return shared

    def owner_of_baseline(self, name: str, test: str) -> str:
        """Return the test that stores the baseline `name` in this run: `test`, unless another one was first.

        Raises:
            SettingsError: if this process cannot see the database.
        """

        def change(owners: Document, _now: float) -> tuple[Document, str]:
            owner = str(owners.get(name, test))
            return {**owners, name: owner}, owner

        return self._opened().shared_state("baselines").change(change)

    def close(self) -> None:
        """Close the database."""
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _opened(self) -> Store:
        if self._store is None:
            if not self._folder.is_dir():
                raise SettingsError(
                    f"The processes of this run share caps and the names of baselines in {self._folder}, which this "
                    "process cannot see.",
                    f"Run all worker processes on one machine, or without caps and without {UPDATE}.",
                )
            self._store = self._held.enter_context(open_store(self._folder / "run.db", create=True))
        return self._store
