"""Caps on replies and on money, kept exactly also with many requests in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from rubriclab.errors import BudgetReached, ReplyTooLarge, SettingsError
from rubriclab.judges.judge import Judge, Reply
from rubriclab.judges.price import Price, estimated_tokens
from rubriclab.judges.request import messages_of
from rubriclab.prompts import Prompt

CONTINUE = "Run the same command again with a higher cap: answers so far are kept and not asked for again."


class Budget:
    """What may still be asked; several judges may draw on one budget.

    A request reserves one reply and the most that it can cost, and settles when its reply is there. Where the
    reservations alone reach a cap, requests wait for others to settle; only with nothing in flight is the cap reached.
    So whatever was paid for has arrived, and been kept, before anybody hears that the budget is used up.

    Attributes:
        max_calls: replies from the provider.
        max_cost: US dollars.
        calls, cost: what was settled so far.
    """

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self.max_calls = max_calls
        self.max_cost = max_cost
        self.calls = 0
        self.cost = 0.0
        self._calls_in_flight = 0
        self._cost_in_flight = 0.0
        self._settled: list[asyncio.Future[None]] = []

    async def reserve(self, cost: float) -> None:
        """Set one reply and `cost` US dollars aside, waiting for others to settle where that may make room.

        Raises:
            BudgetReached: if there is no room and nothing is in flight.
        """
        while reached := self._over(cost):
            if not self._calls_in_flight:
                raise BudgetReached(reached, CONTINUE)
            waiting = asyncio.get_running_loop().create_future()
            self._settled.append(waiting)
            await waiting
        self._calls_in_flight += 1
        self._cost_in_flight += cost

    def settle(self, reserved: float, cost: float | None) -> None:
        """Book a reply that cost `cost` US dollars in place of what was reserved; `None` if no reply came."""
        self._calls_in_flight -= 1
        self._cost_in_flight = self._cost_in_flight - reserved if self._calls_in_flight else 0.0
        if cost is not None:
            self.calls += 1
            self.cost += cost
        waiting, self._settled = self._settled, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _over(self, cost: float) -> str | None:
        if self.max_calls is not None and self.calls + self._calls_in_flight >= self.max_calls:
            return f"The cap of {self.max_calls} calls is reached."
        if self.max_cost is not None and self.cost + self._cost_in_flight + cost > self.max_cost:
            return f"The next call might pass the cap of {self.max_cost:g} US dollars; {self.cost:.4g} are spent."
        return None


class Budgeted:
    """A judge that draws on a budget. Replies count, failed requests do not: providers bill replies.

    Attributes:
        price: what the reservations are computed with; needed for a cap on money only.
        spare_tokens: tokens that a reply may take beyond the prompt's own limit.

    Raises:
        SettingsError: if money is capped and the price is not known.
    """

    def __init__(self, judge: Judge, budget: Budget, *, price: Price | None = None, spare_tokens: int = 0) -> None:
        if budget.max_cost is not None and price is None:
            raise SettingsError(
                f"The price of {judge.name} is not known, so its cost cannot be capped;",
                "give it with --price IN:OUT, US dollars per million tokens read and written.",
            )
        self._judge = judge
        self._budget = budget
        self._price = price
        self._spare_tokens = spare_tokens

    @property
    def name(self) -> str:
        """The name of the judge that is asked."""
        return self._judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the judge that is asked."""
        return self._judge.identity

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply, if the budget still allows it.

        Raises:
            BudgetReached: before a request that might pass a cap.
        """
        reserved = self._worst_cost(prompt)
        await self._budget.reserve(reserved)
        cost = None
        try:
            reply = await self._judge.reply(prompt)
            cost = reserved if reply.usage.cost_usd is None else reply.usage.cost_usd
        except ReplyTooLarge:
            cost = reserved  # the provider bills what it sent, received or not
            raise
        finally:
            self._budget.settle(reserved, cost)
        return reply

    def _worst_cost(self, prompt: Prompt[Any]) -> float:
        if self._price is None or self._budget.max_cost is None:
            return 0.0
        read = estimated_tokens(messages_of(prompt))
        return self._price.cost(read, prompt.max_tokens + self._spare_tokens)
