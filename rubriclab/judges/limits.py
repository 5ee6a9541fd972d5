"""Rate limits: requests in flight, requests per minute and tokens per minute."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from rubriclab.errors import JudgeRefused, JudgeUnavailable
from rubriclab.judges.judge import Judge, JudgeWrapper, Reply
from rubriclab.judges.price import estimated_tokens
from rubriclab.judges.request import messages_of
from rubriclab.judges.retry import PATIENCE
from rubriclab.models.waits import log_wait
from rubriclab.prompts.prompt import Prompt

# Seconds' worth of the rate that may be sent at once: smooth, but negligible within a minute.
BURST = 1.0

_log = logging.getLogger(__name__)


class Bucket:
    """A token bucket that may be overdrawn: requests are served in order, without a queue.

    `state` continues another bucket with the same rate: its level, and the time of that level.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float], state: tuple[float, float] | None = None) -> None:
        self._rate = per_minute / 60
        self._burst = max(1.0, BURST * self._rate)
        self._clock = clock
        self._level, self._seen = state or (self._burst, clock())

    @property
    def state(self) -> tuple[float, float]:
        """The level, and the time of that level in seconds."""
        return self._level, self._seen

    def take(self, amount: float) -> float:
        """Take `amount` and return the seconds to wait until it is available."""
        now = self._clock()
        refilled = min(self._burst, self._level + (now - self._seen) * self._rate)
        self._level = max(self._level, refilled)  # amounts given back may exceed the burst
        self._seen = now
        self._level -= amount
        return max(0.0, -self._level / self._rate)

    def give_back(self, amount: float) -> None:
        """Correct an estimate that was `amount` too high (or too low, if negative)."""
        self._level += amount


class Limits(Protocol):
    """When a request may be sent, which several judges may share, also across processes.

    If the provider asks for a pause, nothing is sent until it is over, since the provider would refuse it too.
    """

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens are limited; if not, they need not be estimated."""
        ...

    async def acquire(self, tokens: int, /) -> None:
        """Take a slot, and return as soon as a request of `tokens` estimated tokens may be sent.

        If this raises or is cancelled, no slot is taken.
        """
        ...

    def release(self, expected: int, used: int | None, pause: float, /) -> None:
        """Give the slot back. Returns without waiting.

        Args:
            expected: the estimate given to `acquire`.
            used: tokens of prompt and reply, which replace the estimate; `None` if they are unknown.
            pause: seconds for which the provider asked that nothing is sent.
        """
        ...


class LocalLimits:
    """The limits of one process.

    Attributes:
        concurrency: requests in flight.
        requests_per_minute, tokens_per_minute: limits of the provider's plan; `None` for no limit.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._requests = Bucket(requests_per_minute, clock) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute, clock) if tokens_per_minute else None
        self._clock = clock
        self._sleep = sleep
        self._paused_until = clock()

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens are limited."""
        return self._tokens is not None

    async def acquire(self, tokens: int) -> None:
        """Take a slot, and return as soon as a request may be sent; see `Limits`."""
        await self._slots.acquire()
        try:
            await self._wait(tokens)
        except BaseException:
            self._slots.release()
            raise

    def release(self, expected: int, used: int | None, pause: float) -> None:
        """Give the slot back; see `Limits`."""
        if pause:
            self._paused_until = max(self._paused_until, self._clock() + pause)
        if self._tokens and used is not None:
            self._tokens.give_back(expected - used)
        self._slots.release()

    async def _wait(self, tokens: int) -> None:
        waits = [self._requests.take(1)] if self._requests else []
        waits += [self._tokens.take(tokens)] if self._tokens else []
        if waits and (wait := max(waits)) > 0:
            log_wait(_log, wait, "the rate limit")
            await self._sleep(wait)
        while (pause := self._paused_until - self._clock()) > 0:
            log_wait(_log, pause, "the end of a pause that the provider asked for")
            await self._sleep(pause)


class Limited(JudgeWrapper):
    """A judge that is called no faster than its limits allow.

    The tokens of a prompt are estimated before the request. The reply's usage then corrects the estimate and adds the
    completion tokens, which delays later requests.
    """

    def __init__(self, judge: Judge, limits: Limits) -> None:
        super().__init__(judge)
        self._limits = limits
        self._refusal: JudgeRefused | None = None

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply, requested as soon as the limits allow.

        Raises:
            JudgeRefused: also if the judge has refused another prompt while this one waited for the limits.
        """
        earlier = self._refusal
        expected = estimated_tokens(messages_of(prompt)) if self._limits.counts_tokens else 0
        await self._limits.acquire(expected)
        used, pause = None, 0.0
        try:
            if self._refusal and self._refusal is not earlier:
                raise self._refusal
            reply = await self.judge.reply(prompt)
            used = (reply.usage.prompt_tokens + reply.usage.completion_tokens) or None
        except JudgeUnavailable as error:
            asked_for = error.retry_after or 0.0
            pause = asked_for if asked_for <= PATIENCE else 0.0  # a longer one ends the command
            raise
        except JudgeRefused as error:
            self._refusal = error
            raise
        finally:
            self._limits.release(expected, used, pause)
        return reply
