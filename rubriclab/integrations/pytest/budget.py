"""The caps of one test within those of the run."""

from __future__ import annotations

from rubriclab.judges.budget import Budget


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
