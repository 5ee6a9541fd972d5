"""Caps on calls and cost, which hold exactly with many requests in flight, whatever becomes of them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from rubriclab.errors import BudgetReached, JudgeError, SettingsError
from rubriclab.judges.judge import Judge, JudgeWrapper, Reply, ReplyAfterCancellation
from rubriclab.judges.price import Price, most_tokens
from rubriclab.judges.request import messages_of
from rubriclab.option_names import RUN_AGAIN, option
from rubriclab.prompts.prompt import Prompt

CONTINUE = f"{RUN_AGAIN} with a higher cap: answers so far are cached and not requested again."

_log = logging.getLogger(__name__)


class Budget(Protocol):
    """Remaining calls and money, which several judges may share, also across processes.

    A request reserves one call and its highest possible cost, and settles when its reply arrives. What was sent and may
    be billed, but brought no reply, counts as its reservation. If reservations alone reach a cap, further requests wait
    for others to settle; the cap is reached only with nothing in flight. So every reply that was paid for has arrived
    and been cached before `BudgetReached` is raised.
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
        """Replace a reservation by the actual `cost` in US dollars; `None` if the request is certainly not billed.

        Returns without waiting.
        """
        ...


@dataclass(frozen=True, slots=True)
class Caps:
    """Caps on the requests and US dollars that the provider may bill; `None` for no cap."""

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
            allowed = f"the cap of {self.max_cost:g} US dollars"
            return f"The next call might exceed {allowed}; {spent:.4g} are spent or may be billed."
        return None


class LocalBudget:
    """The budget of one process, for judges in any of its threads and event loops; its caps are those of `Caps`.

    Attributes:
        caps: in force for the next call.
        calls, cost: settled so far.
    """

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self.max_cost = max_cost
        self.caps = Caps(max_calls, max_cost)
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
        """Reserve a call and its cost, or return what is done once another call has settled."""
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
        return self.caps.reached(self.calls + self._calls_in_flight, self.cost, self._cost_in_flight + cost)


class WaveTooSmall(Exception):
    """Too few prompts wait for a batch to be worth its time."""


def _most_tokens(prompt: Prompt[Any]) -> tuple[int, int]:
    return most_tokens(messages_of(prompt)), prompt.max_tokens


class Budgeted(JudgeWrapper):
    """A judge whose calls count towards a budget.

    A reply counts as the cost that it reports. A request without one, or whose reply reports no cost, counts as its
    reservation, unless it certainly was not sent or is not billed.

    Args:
        price: the highest price in force; needed for a cap on cost only.
        tokens: returns upper bounds of the prompt and completion tokens of a request.

    Raises:
        SettingsError: if the cost is capped and the price is unknown.
    """

    def __init__(
        self,
        judge: Judge,
        budget: Budget,
        *,
        price: Price | None = None,
        tokens: Callable[[Prompt[Any]], tuple[int, int]] = _most_tokens,
    ) -> None:
        if budget.max_cost is not None and price is None:
            raise SettingsError(
                f"The price of {judge.name} is unknown, so its cost cannot be capped.",
                f"Give it with {option('price', 'IN:OUT')}, in US dollars per million prompt and completion tokens.",
            )
        super().__init__(judge)
        self._budget = budget
        self._price = price
        self._tokens = tokens

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply, if the budget allows the call.

        Raises:
            BudgetReached: before a request that might exceed a cap.
        """
        reserved = self._worst_cost(prompt)
        await self._budget.reserve(reserved)
        cost: float | None = reserved
        try:
            reply = await self.judge.reply(prompt)
            cost = _cost(reply, reserved)
        except ReplyAfterCancellation as late:
            cost = _cost(late.reply, reserved)
            raise
        except WaveTooSmall:
            cost = None
            raise
        except JudgeError as error:
            cost = reserved if error.may_be_billed else None
            raise
        finally:
            self._budget.settle(reserved, cost)
        return reply

    def _worst_cost(self, prompt: Prompt[Any]) -> float:
        if self._price is None or self._budget.max_cost is None:
            return 0.0
        return self._price.cost(*self._tokens(prompt))


def _cost(reply: Reply, reserved: float) -> float:
    return reserved if reply.usage.cost_usd is None else reply.usage.cost_usd
