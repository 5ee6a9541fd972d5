"""What several processes share: workers ask their parent, which keeps the budget, the limits and other state.

A worker sends `("reserve", number, cost)`, `("acquire", number, tokens)` or `("failed", number, judge, reason)`, and
waits for `("granted", number, error)`, which `Requests` matches to its sender. `("settle", ...)`, `("release", ...)`,
`("answered",)`, `("record", ...)` and `("observed", ...)` need no reply.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from itertools import count
from typing import Any

from rubriclab.judges.budget import Budget
from rubriclab.judges.limits import Limits
from rubriclab.judges.observed import RequestObserver
from rubriclab.judges.recording import Recorder
from rubriclab.judges.retry import Breaker
from rubriclab.workers.channel import Message
from rubriclab.workers.portable_errors import portable

Send = Callable[..., None]
# What an observer is told with a change that is taken back later, in the order in which a lost worker's are.
GAUGES = ("in_flight", "queued", "in_batches")


class Requests:
    """A worker's requests that its parent has not granted yet."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[None]] = {}

    async def granted(self, kind: str, *what: Any, give_back: Callable[[], None] = lambda: None) -> None:
        """Wait until the parent grants a request; `give_back` returns one that is granted after it was cancelled.

        Raises:
            RubriclabError: if the parent refuses it.
        """
        number, granted = next(self._numbers), asyncio.get_running_loop().create_future()
        self._waiting[number] = granted
        self._send(kind, number, *what)
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
        await self._requests.granted("reserve", cost, give_back=lambda: self.settle(cost, None))

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
        await self._requests.granted("acquire", tokens, give_back=lambda: self.release(tokens, None, 0.0))

    def release(self, expected: int, used: int | None, pause: float) -> None:
        """Give the slot back."""
        self._send("release", expected, used, pause)


class WorkerBreaker:
    """The breaker of the parent, seen from a worker; see `Breaker`."""

    def __init__(self, requests: Requests, send: Send) -> None:
        self._requests = requests
        self._send = send

    async def failed(self, judge: str, reason: str) -> None:
        """Count a prompt that failed."""
        await self._requests.granted("failed", judge, reason)

    def answered(self) -> None:
        """Count a sign of life."""
        self._send("answered")


class WorkerObserver:
    """The observer of the parent, seen from a worker; see `RequestObserver`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def queued(self, change: int) -> None:
        """Count a request that waits for the limits or is in flight (1), or is over (-1)."""
        self._send("observed", "queued", change)

    def in_flight(self, change: int) -> None:
        """Count a request that is sent (1), or over (-1)."""
        self._send("observed", "in_flight", change)

    def ended(self, outcome: str, seconds: float) -> None:
        """Count a request that was sent, by its outcome and the seconds until then."""
        self._send("observed", "ended", outcome, seconds)

    def retried(self) -> None:
        """Count a further attempt at a prompt."""
        self._send("observed", "retried")

    def in_batches(self, change: int) -> None:
        """Count a prompt that waits for the answer of a batch (1), or no longer (-1)."""
        self._send("observed", "in_batches", change)

    def ended_in_batch(self, outcome: str) -> None:
        """Count a prompt that was sent in a batch, by its outcome."""
        self._send("observed", "ended_in_batch", outcome)


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
    """What the parent keeps for one worker; when it has ended, its slots are given back.

    What it had in flight counts as its reservation, since the provider may bill it.
    """

    def __init__(
        self,
        send: Send,
        *,
        budget: Budget,
        limits: Limits,
        breaker: Breaker,
        recorder: Recorder | None = None,
        observer: RequestObserver | None = None,
    ) -> None:
        self._budget = budget
        self._limits = limits
        self._breaker = breaker
        self._recorder = recorder
        self._observer = observer
        self._send = send
        self._reserved: list[float] = []
        self._slots: list[int] = []
        self._observed: Counter[str] = Counter()
        self._waiting: set[asyncio.Task[None]] = set()
        self._stopped = False

    @property
    def in_flight(self) -> bool:
        """Whether the worker has requests in flight."""
        return bool(self._reserved)

    def handle(self, message: Message) -> None:
        """Do what the worker asks for.

        Raises:
            DataError: if a recording cannot be written.
        """
        match message:
            case ("acquire" | "reserve" | "failed", *_) if self._stopped:
                pass
            case ("acquire", number, tokens):
                self._start(self._grant(number, self._acquire(tokens)))
            case ("reserve", number, cost):
                self._start(self._grant(number, self._reserve(cost)))
            case ("failed", number, judge, reason):
                self._start(self._grant(number, self._breaker.failed(judge, reason)))
            case ("answered",):
                self._breaker.answered()
            case ("release", expected, used, pause):
                self._slots.remove(expected)
                self._limits.release(expected, used, pause)
            case ("settle", reserved, cost):
                self._reserved.remove(reserved)
                self._budget.settle(reserved, cost)
            case ("record", digest, template, reply) if self._recorder:
                self._recorder.add(digest, template, reply)
            case ("observed", kind, *what) if self._observer:
                if kind in GAUGES:
                    self._observed[kind] += what[0]
                getattr(self._observer, kind)(*what)
            case _:
                raise ValueError(message)

    def stop(self) -> None:
        """Grant nothing more. The worker waits for it until it is ended."""
        self._stopped = True
        for task in self._waiting:
            task.cancel()

    def close(self) -> None:
        """Settle what the worker holds, and end its requests that wait."""
        self.stop()
        while self._slots:
            self._limits.release(self._slots.pop(), None, 0.0)
        while self._reserved:
            reserved = self._reserved.pop()
            self._budget.settle(reserved, reserved)
        for kind in GAUGES:
            if self._observer and (left := self._observed.pop(kind, 0)):
                getattr(self._observer, kind)(-left)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _grant(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            self._send("granted", number, portable(error))
        else:
            self._send("granted", number, None)

    async def _acquire(self, tokens: int) -> None:
        await self._limits.acquire(tokens)
        self._slots.append(tokens)

    async def _reserve(self, cost: float) -> None:
        await self._budget.reserve(cost)
        self._reserved.append(cost)
