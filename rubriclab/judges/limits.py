"""Rate limits: requests in flight, requests per minute and tokens per minute."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.judge import Judge, JudgeWrapper, Reply
from rubriclab.judges.price import estimated_tokens
from rubriclab.judges.request import messages_of
from rubriclab.judges.retry import PATIENCE
from rubriclab.prompts import Prompt

# Seconds' worth of the rate that may be sent at once: smooth, but negligible within a minute.
BURST = 1.0

_log = logging.getLogger(__name__)


class Bucket:
    """A token bucket that may be overdrawn: requests are served in order, without a queue."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self._rate = per_minute / 60
        self._burst = max(1.0, BURST * self._rate)
        self._level = self._burst
        self._clock = clock
        self._seen = clock()

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


class Limited(JudgeWrapper):
    """A judge that is called no faster than its limits allow.

    The tokens of a prompt are estimated before the request. The reply's usage then corrects the estimate and adds the
    completion tokens, which delays later requests. If the provider asks for a pause, nothing is sent until it is over,
    since the provider would refuse it too.

    Attributes:
        concurrency: requests in flight.
        requests_per_minute, tokens_per_minute: limits of the provider's plan; `None` for no limit.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(judge)
        self._slots = asyncio.Semaphore(concurrency)
        self._requests = Bucket(requests_per_minute, clock) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute, clock) if tokens_per_minute else None
        self._clock = clock
        self._sleep = sleep
        self._paused_until = clock()

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply, requested as soon as the limits allow."""
        async with self._slots:
            expected = self._expected_tokens(prompt)
            await self._wait(expected)
            try:
                reply = await self.judge.reply(prompt)
            except JudgeUnavailable as error:
                pause = error.retry_after or 0.0
                if pause <= PATIENCE:  # a longer one ends the command
                    self._paused_until = max(self._paused_until, self._clock() + pause)
                raise
        if self._tokens and (used := reply.usage.prompt_tokens + reply.usage.completion_tokens):
            self._tokens.give_back(expected - used)
        return reply

    def _expected_tokens(self, prompt: Prompt[Any]) -> int:
        return estimated_tokens(messages_of(prompt)) if self._tokens else 0

    async def _wait(self, tokens: int) -> None:
        waits = [self._requests.take(1)] if self._requests else []
        waits += [self._tokens.take(tokens)] if self._tokens else []
        if waits and (wait := max(waits)) > 0:
            _log.debug("%s: waiting %.2f s for the rate limit", self.name, wait)
            await self._sleep(wait)
        while (pause := self._paused_until - self._clock()) > 0:
            _log.debug("%s: waiting %.2f s, as the provider asked for a pause", self.name, pause)
            await self._sleep(pause)
