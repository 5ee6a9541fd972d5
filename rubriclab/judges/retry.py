"""Retries with exponential backoff and jitter, and a circuit breaker for a provider that is down."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from rubriclab.errors import JudgeError, JudgeUnavailable, PromptRejected, ProviderDown, ReplyTooLarge
from rubriclab.judges.judge import Judge, JudgeWrapper, Reply
from rubriclab.models.waits import log_wait
from rubriclab.option_names import RUN_AGAIN
from rubriclab.prompts.prompt import Prompt

# Seconds: longer than any rate-limit window that providers publish per minute.
PATIENCE = 300.0

_log = logging.getLogger(__name__)


class Breaker(Protocol):
    """Counts the prompts in a row that failed after all attempts, also across processes."""

    async def failed(self, judge: str, reason: str, /) -> None:
        """Count a prompt that failed; `judge` and `reason` are for the message.

        Raises:
            ProviderDown: if too many in a row have failed.
        """
        ...

    def answered(self) -> None:
        """Count a sign of life: a success, or a refusal of one prompt. Returns without waiting."""
        ...


class LocalBreaker:
    """The count of one process.

    Attributes:
        most: prompts in a row that may fail before the provider counts as down.
    """

    def __init__(self, most: int = 20) -> None:
        self.most = most
        self._failed_in_a_row = 0

    async def failed(self, judge: str, reason: str) -> None:
        """Count a prompt that failed; see `Breaker`."""
        self._failed_in_a_row += 1
        # Requests that were in flight when the limit was reached fail after it, with the same message.
        if self._failed_in_a_row >= self.most:
            raise ProviderDown(
                f"{self.most} prompts in a row got no reply from {judge}; the last one: {reason}",
                f"{RUN_AGAIN} when the provider is back; cached answers are not requested again.",
            )

    def answered(self) -> None:
        """Count a sign of life; see `Breaker`."""
        self._failed_in_a_row = 0


class Retried(JudgeWrapper):
    """A judge that repeats requests whose failure may be temporary.

    The pause after attempt n is uniform between half and all of `base * 2**(n - 1)` seconds, at most `longest`, and
    never shorter than the provider asked for. If the provider asks for more than `PATIENCE`, the command ends.

    Attributes:
        attempts: requests per prompt, the first one included.
        breaker: ends the command if too many prompts in a row fail after all attempts.
        on_retry: called before each further attempt at a prompt.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        attempts: int = 8,
        base: float = 1.0,
        longest: float = 60.0,
        breaker: Breaker | None = None,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_retry: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(judge)
        self._attempts = attempts
        self._base = base
        self._longest = longest
        self._breaker = breaker or LocalBreaker()
        self._rng = rng or random.Random()
        self._sleep = sleep
        self._on_retry = on_retry

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the reply of the first attempt that succeeds.

        Raises:
            JudgeUnavailable: after the last attempt.
            ReplyTooLarge: after the first one.
            ProviderDown: if too many prompts in a row failed, or the provider asks for a pause longer than `PATIENCE`.
        """
        attempt = 1
        while True:
            try:
                reply = await self.judge.reply(prompt)
            except JudgeUnavailable as error:
                _end_if_cancelled(error)
                self._check_patience(error)
                if attempt == self._attempts:
                    missing = JudgeUnavailable(f"no reply after {self._attempts} attempts: {error.message}")
                    await self._give_up(error)
                    raise missing from error
                pause, cause = self._pause(attempt, error), error.message
            except ReplyTooLarge as error:
                await self._give_up(error)
                raise
            except PromptRejected as error:
                if error.is_doubtful:
                    await self._give_up(error)
                else:
                    self._breaker.answered()
                raise
            else:
                if not reply.filtered:  # which says neither that the provider answers nor that it is down
                    self._breaker.answered()
                return reply
            log_wait(_log, pause, f"the next attempt at {self.name}", f" after attempt {attempt} failed: {cause}")
            await self._sleep(pause)
            attempt += 1
            if self._on_retry:
                self._on_retry()

    def _check_patience(self, error: JudgeUnavailable) -> None:
        if error.retry_after and error.retry_after > PATIENCE:
            raise ProviderDown(
                f"{error.message} The provider asks for a pause of {error.retry_after:g} seconds.",
                f"{RUN_AGAIN} later; cached answers are not requested again.",
            ) from error

    def _pause(self, attempt: int, error: JudgeUnavailable) -> float:
        asked_for = error.retry_after or 0.0
        pause: float = min(self._longest, self._base * 2.0 ** (attempt - 1))
        return max(asked_for, pause * self._rng.uniform(0.5, 1.0))

    async def _give_up(self, error: JudgeError) -> None:
        """Count a prompt that failed.

        Raises:
            ProviderDown: if too many in a row have failed.
        """
        try:
            await self._breaker.failed(self.name, error.message)
        except ProviderDown as down:
            raise down from error


def _end_if_cancelled(error: JudgeUnavailable) -> None:
    """Raise CancelledError if the task was cancelled: litellm may report a cancellation as a failed connection."""
    task = asyncio.current_task()
    if task and task.cancelling():
        raise asyncio.CancelledError from error
