"""Retries with growing, jittered pauses, and an end to them when the provider answers nobody."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from rubriclab.errors import JudgeError, JudgeUnavailable, PromptRejected, ProviderDown, ReplyTooLarge
from rubriclab.judges.judge import Judge, Reply
from rubriclab.prompts import Prompt

# Longer than any rate-limit window that providers publish per minute; who asks for more has no answers today.
PATIENCE = 300.0


class Retried:
    """A judge that asks again where a retry can help.

    The pause after attempt n is drawn evenly from half to all of `base * 2**(n - 1)` seconds, at most `longest`, and is
    never shorter than the provider asked for. A wish beyond five minutes is not waited for: it ends the command.

    Attributes:
        attempts: requests per prompt, the first one included.
        breaker: prompts in a row that may fail for good before the provider is taken for dead. A success, or a refusal
            of one prompt, starts the count again.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        attempts: int = 6,
        base: float = 1.0,
        longest: float = 60.0,
        breaker: int = 20,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._judge = judge
        self._attempts = attempts
        self._base = base
        self._longest = longest
        self._breaker = breaker
        self._rng = rng or random.Random()
        self._sleep = sleep
        self._failed_in_a_row = 0

    @property
    def name(self) -> str:
        """The name of the judge that is asked."""
        return self._judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the judge that is asked."""
        return self._judge.identity

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the reply of the first attempt that succeeds.

        Raises:
            JudgeUnavailable: after the last attempt.
            ReplyTooLarge: after the first one.
            ProviderDown: if too many prompts in a row ended so, or if the provider asks for a pause beyond patience.
        """
        attempt = 1
        while True:
            try:
                reply = await self._judge.reply(prompt)
            except JudgeUnavailable as error:
                _end_if_cancelled(error)
                self._check_patience(error)
                if attempt == self._attempts:
                    missing = JudgeUnavailable(f"no reply after {self._attempts} attempts: {error.message}")
                    raise self._given_up(error, missing) from error
                pause = self._pause(attempt, error)
            except ReplyTooLarge as error:
                raise self._given_up(error, error) from error
            except PromptRejected:
                self._failed_in_a_row = 0
                raise
            else:
                self._failed_in_a_row = 0
                return reply
            await self._sleep(pause)
            attempt += 1

    def _check_patience(self, error: JudgeUnavailable) -> None:
        if error.retry_after and error.retry_after > PATIENCE:
            raise ProviderDown(
                f"{error.message} The provider asks for a pause of {error.retry_after:g} seconds.",
                "Run the same command again later: answers so far are kept.",
            ) from error

    def _pause(self, attempt: int, error: JudgeUnavailable) -> float:
        wish = error.retry_after or 0.0
        pause: float = min(self._longest, self._base * 2.0 ** (attempt - 1))
        return max(wish, pause * self._rng.uniform(0.5, 1.0))

    def _given_up(self, error: JudgeError, missing: JudgeError) -> JudgeError:
        """Return `missing` for this one prompt, or the error that ends the command where too many ended so."""
        self._failed_in_a_row += 1
        if self._failed_in_a_row < self._breaker:
            return missing
        # Those that were in flight when the limit was reached fail after it; whichever is heard of first says the same.
        return ProviderDown(
            f"{self._breaker} prompts in a row got no reply from {self.name}; the last one: {error.message}",
            "Run the same command again when the provider is back: answers so far are kept.",
        )


def _end_if_cancelled(error: JudgeUnavailable) -> None:
    """End where the asker was cancelled meanwhile: below us a cancellation may come out as a failed connection."""
    task = asyncio.current_task()
    if task and task.cancelling():
        raise asyncio.CancelledError from error
