"""Limits on what is sent: requests in flight, and requests and tokens per minute. Who is over a limit waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.judge import Judge, Reply
from rubriclab.judges.price import estimated_tokens
from rubriclab.judges.request import messages_of
from rubriclab.judges.retry import PATIENCE
from rubriclab.prompts import Prompt

# Seconds' worth of the rate that may go out at once: enough not to stutter, too little to matter within a minute.
BURST = 1.0


class Bucket:
    """A token bucket in which places are booked ahead: first come, first served, without a queue of its own."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self._rate = per_minute / 60
        self._burst = max(1.0, BURST * self._rate)
        self._level = self._burst
        self._clock = clock
        self._seen = clock()

    def take(self, amount: float) -> float:
        """Take `amount` and return the seconds to wait until it is really there."""
        now = self._clock()
        refilled = min(self._burst, self._level + (now - self._seen) * self._rate)
        self._level = max(self._level, refilled)  # what was given back may stand above the burst
        self._seen = now
        self._level -= amount
        return max(0.0, -self._level / self._rate)

    def give_back(self, amount: float) -> None:
        """Return what was taken too much; a negative `amount` takes what was taken too little."""
        self._level += amount


class Limited:
    """A judge that is never asked faster than allowed.

    A prompt's tokens are estimated before the request; the reply's usage then corrects the estimate and adds what was
    written, so that those who come next wait for it. When the provider asks for a pause, nothing is sent until it is
    over: the prompts behind would only be turned away as well.

    Attributes:
        concurrency: requests in flight.
        requests_per_minute, tokens_per_minute: as the provider's plan has them; `None` for no limit.
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
        self._judge = judge
        self._slots = asyncio.Semaphore(concurrency)
        self._requests = Bucket(requests_per_minute, clock) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute, clock) if tokens_per_minute else None
        self._clock = clock
        self._sleep = sleep
        self._silent_until = clock()

    @property
    def name(self) -> str:
        """The name of the judge that is asked."""
        return self._judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the judge that is asked."""
        return self._judge.identity

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply, asked for when the limits allow."""
        async with self._slots:
            expected = self._expected_tokens(prompt)
            await self._wait(expected)
            try:
                reply = await self._judge.reply(prompt)
            except JudgeUnavailable as error:
                pause = error.retry_after or 0.0
                if pause <= PATIENCE:  # a longer one ends the command, and nobody is to wait for it
                    self._silent_until = max(self._silent_until, self._clock() + pause)
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
            await self._sleep(wait)
        while (silence := self._silent_until - self._clock()) > 0:
            await self._sleep(silence)
