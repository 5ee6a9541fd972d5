"""Caps on calls and cost, which hold exactly with many requests in flight."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from rubriclab.errors import BudgetReached, ReplyTooLarge, SettingsError
from rubriclab.judges.judge import Judge, JudgeWrapper, Reply
from rubriclab.judges.price import Price, estimated_tokens
from rubriclab.judges.request import messages_of
from rubriclab.option_names import RUN_AGAIN, option
from rubriclab.prompts import Prompt

CONTINUE = f"{RUN_AGAIN} with a higher cap: answers so far are cached and not requested again."

_log = logging.getLogger(__name__)


class Budget(Protocol):
    """Remaining calls and money, which several judges may share, also across processes.

    A request reserves one call and its highest possible cost, and settles when its reply arrives. If reservations alone
    reach a cap, further requests wait for others to settle; the cap is reached only with nothing in flight. So every
    reply that was paid for has arrived and been cached before `BudgetReached` is raised.
    """

    @property
    def max_cost(self) -> float | None:
        """The cap in US dollars; `None` for no cap, where reservations of cost are not needed."""
        ...

    async def reserve(self, cost: float, /) -> None:
        """Reserve one call and `cost` US dollars, waiting for other requests to settle if that may make room.

        Raises:
            BudgetReached: if a cap is reached and nothing is in flight.
        """
        ...

    def settle(self, reserved: float, cost: float | None, /) -> None:
        """Replace a reservation by the actual `cost` in US dollars; `None` if no reply came.

        Returns without waiting.
        """
        ...


@dataclass(frozen=True, slots=True)
class Caps:
    """Caps on replies from the provider and on US dollars; `None` for no cap."""

    max_calls: int | None
    max_cost: float | None

    def reached(self, calls: int, spent: float, reserved: float) -> str | None:
        """Return which cap one more call might exceed.

        Args:
            calls: those made and in flight.
            spent: US dollars of those made.
            reserved: US dollars that those in flight and the next call cost at most.
        """
        if self.max_calls is not None and calls >= self.max_calls:
            return f"The cap of {self.max_calls} call{'' if self.max_calls == 1 else 's'} is reached."
        if self.max_cost is not None and spent + reserved > self.max_cost:
            return f"The next call might exceed the cap of {self.max_cost:g} US dollars; {spent:.4g} are spent."
        return None


class LocalBudget:
    """The budget of one process, for judges in any of its threads and event loops; its caps are those of `Caps`.

    Attributes:
        calls, cost: settled so far.
    """

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self.max_cost = max_cost
        self._caps = Caps(max_calls, max_cost)
        self.calls = 0
        self.cost = 0.0
        self._calls_in_flight = 0
        self._cost_in_flight = 0.0
        self._lock = threading.Lock()
        # Not asyncio's futures, which belong to one event loop: another thread cannot wake their tasks.
        self._waiting: list[Future[None]] = []

    async def reserve(self, cost: float) -> None:
        """Reserve one call and `cost` US dollars; see `Budget`."""
        while (settled := self._reserve(cost)) is not None:
            await asyncio.wrap_future(settled)

    def settle(self, reserved: float, cost: float | None) -> None:
        """Replace a reservation by the actual `cost` in US dollars; see `Budget`."""
        with self._lock:
            self._calls_in_flight -= 1
            self._cost_in_flight = self._cost_in_flight - reserved if self._calls_in_flight else 0.0
            if cost is not None:
                self.calls += 1
                self.cost += cost
            waiting, self._waiting = self._waiting, []
        for settled in waiting:
            if settled.set_running_or_notify_cancel():
                settled.set_result(None)

    def _reserve(self, cost: float) -> Future[None] | None:
        """Reserve a call and its cost, or return what is done once another call has settled.

        Raises:
            BudgetReached: if a cap is reached and nothing is in flight.
        """
        with self._lock:
            reached = self._reached(cost)
            if reached is None:
                self._calls_in_flight += 1
                self._cost_in_flight += cost
                return None
            if self._calls_in_flight:
                settled: Future[None] = Future()
                self._waiting.append(settled)
                return settled
        _log.info("budget reached after %d calls and %.4g US dollars: %s", self.calls, self.cost, reached)
        raise BudgetReached(reached, CONTINUE)

    def _reached(self, cost: float) -> str | None:
        return self._caps.reached(self.calls + self._calls_in_flight, self.cost, self._cost_in_flight + cost)


class Budgeted(JudgeWrapper):
    """A judge whose calls count towards a budget. Failed requests do not count, since providers bill replies only.

    Attributes:
        price: price that reservations are computed from; needed for a cap on cost only.
        spare_tokens: tokens that a reply may use beyond the prompt's own limit.

    Raises:
        SettingsError: if the cost is capped and the price is unknown.
    """

    def __init__(self, judge: Judge, budget: Budget, *, price: Price | None = None, spare_tokens: int = 0) -> None:
        if budget.max_cost is not None and price is None:
            raise SettingsError(
                f"The price of {judge.name} is unknown, so its cost cannot be capped.",
                f"Give it with {option('price', 'IN:OUT')}, in US dollars per million prompt and completion tokens.",
            )
        super().__init__(judge)
        self._budget = budget
        self._price = price
        self._spare_tokens = spare_tokens

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply, if the budget allows the call.

        Raises:
            BudgetReached: before a request that might exceed a cap.
        """
        reserved = self._worst_cost(prompt)
        await self._budget.reserve(reserved)
        cost = None
        try:
            reply = await self.judge.reply(prompt)
            cost = reserved if reply.usage.cost_usd is None else reply.usage.cost_usd
        except ReplyTooLarge:
            cost = reserved  # the provider bills what it sent, whether it was received or not
            raise
        finally:
            self._budget.settle(reserved, cost)
        return reply

    def _worst_cost(self, prompt: Prompt[Any]) -> float:
        if self._price is None or self._budget.max_cost is None:
            return 0.0
        read = estimated_tokens(messages_of(prompt))
        return self._price.cost(read, prompt.max_tokens + self._spare_tokens)
