"""Budget, limits and recording of several processes: workers ask their parent, which keeps the state.

A worker sends `("reserve", number, cost)` or `("acquire", number, tokens)`, and waits for `("granted", number, error)`,
which `Requests` matches to its sender. `("settle", ...)`, `("release", ...)` and `("record", ...)` need no reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from itertools import count
from typing import Any

from rubriclab.judges.budget import Budget
from rubriclab.judges.limits import Limits
from rubriclab.judges.recording import Recorder
from rubriclab.workers.channel import Message

Send = Callable[..., None]


class Requests:
    """A worker's requests that its parent has not granted yet."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[None]] = {}

    async def granted(self, kind: str, amount: float, give_back: Callable[[], None]) -> None:
        """Wait until the parent grants a request; `give_back` returns one that is granted after it was cancelled.

        Raises:
            RubriclabError: if the parent refuses it.
        """
        number, granted = next(self._numbers), asyncio.get_running_loop().create_future()
        self._waiting[number] = granted
        self._send(kind, number, amount)
        try:
            await asyncio.shield(granted)
        except asyncio.CancelledError:
            granted.add_done_callback(lambda done: None if _refused(done) else give_back())
            raise

    def settle(self, number: int, error: BaseException | None) -> None:
        """Pass the parent's reply on to who waits for it."""
        granted = self._waiting.pop(number)
        if error is None:
            granted.set_result(None)
        else:
            granted.set_exception(error)


def _refused(granted: asyncio.Future[None]) -> bool:
    return granted.cancelled() or granted.exception() is not None


class WorkerBudget:
    """The budget of the parent, seen from a worker; see `Budget`."""

    def __init__(self, max_cost: float | None, requests: Requests, send: Send) -> None:
        self._max_cost = max_cost
        self._requests = requests
        self._send = send

    @property
    def max_cost(self) -> float | None:
        """The cap in US dollars."""
        return self._max_cost

    async def reserve(self, cost: float) -> None:
        """Reserve one call and `cost` US dollars."""
        await self._requests.granted("reserve", cost, lambda: self.settle(cost, None))

    def settle(self, reserved: float, cost: float | None) -> None:
        """Replace a reservation by the actual cost."""
        self._send("settle", reserved, cost)


class WorkerLimits:
    """The limits of the parent, seen from a worker; see `Limits`."""

    def __init__(self, requests: Requests, send: Send, *, counts_tokens: bool) -> None:
        self._counts_tokens = counts_tokens
        self._requests = requests
        self._send = send

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens are limited."""
        return self._counts_tokens

    async def acquire(self, tokens: int) -> None:
        """Take a slot, and return as soon as a request may be sent."""
        await self._requests.granted("acquire", tokens, lambda: self.release(tokens, None, 0.0))

    def release(self, expected: int, used: int | None, pause: float) -> None:
        """Give the slot back."""
        self._send("release", expected, used, pause)


class WorkerRecorder:
    """The recording of the parent, seen from a worker; see `Recorder`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def begin(self, _name: str, _identity: Mapping[str, Any]) -> None:
        """Do nothing: the parent has recorded the judge."""

    def add(self, digest: str, template: str, reply: Mapping[str, Any]) -> None:
        """Record a reply."""
        self._send("record", digest, template, reply)


class Shared:
    """What the parent keeps for one worker; everything that the worker holds is given back when it has ended."""

    def __init__(self, budget: Budget, limits: Limits, recorder: Recorder | None, send: Send) -> None:
        self._budget = budget
        self._limits = limits
        self._recorder = recorder
        self._send = send
        self._reserved: list[float] = []
        self._slots: list[int] = []
        self._waiting: set[asyncio.Task[None]] = set()

    def handle(self, message: Message) -> None:
        """Do what the worker asks for.

        Raises:
            DataError: if a recording cannot be written.
        """
        match message:
            case ("acquire", number, tokens):
                self._start(self._acquire(number, tokens))
            case ("reserve", number, cost):
                self._start(self._reserve(number, cost))
            case ("release", expected, used, pause):
                self._slots.remove(expected)
                self._limits.release(expected, used, pause)
            case ("settle", reserved, cost):
                self._reserved.remove(reserved)
                self._budget.settle(reserved, cost)
            case ("record", digest, template, reply) if self._recorder:
                self._recorder.add(digest, template, reply)
            case _:
                raise ValueError(message)

    def close(self) -> None:
        """Give back what the worker holds, and end its requests that wait."""
        for task in self._waiting:
            task.cancel()
        while self._slots:
            self._limits.release(self._slots.pop(), None, 0.0)
        while self._reserved:
            self._budget.settle(self._reserved.pop(), None)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _acquire(self, number: int, tokens: int) -> None:
        try:
            await self._limits.acquire(tokens)
        except Exception as error:
            self._send("granted", number, error)
            return
        self._slots.append(tokens)
        self._send("granted", number, None)

    async def _reserve(self, number: int, cost: float) -> None:
        try:
            await self._budget.reserve(cost)
        except Exception as error:
            self._send("granted", number, error)
            return
        self._reserved.append(cost)
        self._send("granted", number, None)
