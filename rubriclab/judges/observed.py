"""Requests observed from outside: how many wait, how many are in flight, how each ended and how long it took.

Prompts in batches are counted apart: they wait for hours, which would hide how the other requests do.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any, Protocol

from rubriclab.errors import RubriclabError
from rubriclab.judges.batched import WaveTooSmall
from rubriclab.judges.judge import Judge, JudgeWrapper, Reply
from rubriclab.prompts import Prompt

ANSWERED, CANCELLED, FAULTY = "answered", "cancelled", "fault"


class RequestObserver(Protocol):
    """Told about every request to a provider, in the thread of the event loop."""

    def queued(self, change: int, /) -> None:
        """Count a request that waits for the limits or is in flight (1), or is over (-1)."""
        ...

    def in_flight(self, change: int, /) -> None:
        """Count a request that is sent (1), or over (-1)."""
        ...

    def ended(self, outcome: str, seconds: float, /) -> None:
        """Count a request that was sent, by its outcome and the seconds until then."""
        ...

    def retried(self) -> None:
        """Count a further attempt at a prompt."""
        ...

    def in_batches(self, change: int, /) -> None:
        """Count a prompt that waits for the answer of a batch (1), or no longer (-1)."""
        ...

    def ended_in_batch(self, outcome: str, /) -> None:
        """Count a prompt that was sent in a batch, by its outcome."""
        ...


class _Observed(JudgeWrapper):
    def __init__(self, judge: Judge, observer: RequestObserver) -> None:
        super().__init__(judge)
        self._observer = observer


class Queued(_Observed):
    """A judge whose requests are counted from here on; it is wrapped around the limits."""

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply."""
        self._observer.queued(1)
        try:
            return await self.judge.reply(prompt)
        finally:
            self._observer.queued(-1)


class Sent(_Observed):
    """A judge whose requests are counted and timed; it is next to the provider."""

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply."""
        started, outcome = time.monotonic(), FAULTY
        self._observer.in_flight(1)
        try:
            reply = await self.judge.reply(prompt)
            outcome = ANSWERED
            return reply
        except asyncio.CancelledError:
            outcome = CANCELLED
            raise
        except RubriclabError as error:
            outcome = outcome_of(error)
            raise
        finally:
            self._observer.in_flight(-1)
            self._observer.ended(outcome, time.monotonic() - started)


class SentInBatches(_Observed):
    """A judge that asks by batches, whose prompts are counted."""

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply."""
        outcome: str | None = FAULTY
        self._observer.in_batches(1)
        try:
            reply = await self.judge.reply(prompt)
            outcome = ANSWERED
            return reply
        except (asyncio.CancelledError, WaveTooSmall):
            # Whether a batch was sent is not known, or none was: the next run collects it, or a single call is made.
            outcome = None
            raise
        except RubriclabError as error:
            outcome = outcome_of(error)
            raise
        finally:
            self._observer.in_batches(-1)
            if outcome:
                self._observer.ended_in_batch(outcome)


def outcome_of(error: RubriclabError) -> str:
    """Return the outcome that an error is: `judge_unavailable`, `prompt_rejected`, `reply_too_large` and others."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower()
