"""Budgets, limits and retries of requests.

`Budgeted` counts each request towards a budget, `Limited` delays it, and `Retried` repeats one that failed.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import random
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Protocol

from rubriclab import errors
from rubriclab.judges.judge import JudgeWrapper, messages_of
from rubriclab.judges.options import Price
from rubriclab.judges.providers import estimated_tokens, most_prompt_tokens
from rubriclab.judges.replies import Reply
from rubriclab.prompts.prompt import Prompt
from rubriclab.running import REQUEST_TASK, log_wait

CANCELLATION_GRACE = 2.0  # seconds that a cancelled request waits for its reply

_log = logging.getLogger(__name__)


class ReplyAfterCancellation(asyncio.CancelledError):
    """The request was cancelled, and its reply arrived within `CANCELLATION_GRACE`."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class Budget(Protocol):
    """Remaining calls and money, shared by judges, also across processes.

    A request reserves one call and its highest possible cost, and settles when its reply arrives. A reply without a
    cost, or an error that may be billed, costs what was reserved. If reservations reach a cap, further requests wait
    until earlier ones settle. So every reply that was paid for is cached before `BudgetReached` is raised.
    """

    @property
    def max_cost(self) -> float | None:
        """The cap in US dollars; `None` for no cap."""

    async def reserve(self, cost: float, /) -> None:
        """Reserve one call and `cost` US dollars as soon as there is room, or raise `BudgetReached`."""

    def settle(self, reserved: float, cost: float | None, /) -> None:
        """Replace a reservation by the actual `cost`, `None` if the request is certainly not billed."""


class LocalBudget:
    """The `Budget` of one process, for judges in any of its threads and event loops."""

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self.max_calls = max_calls
        self.max_cost = max_cost
        self.calls = 0
        self.cost = 0.0
        self._calls_in_flight = 0
        self._cost_in_flight = 0.0
        self._lock = threading.Lock()
        # Not asyncio's futures, which belong to one event loop: another thread cannot wake their tasks.
        self._waiting: list[Future[None]] = []

    async def reserve(self, cost: float) -> None:
        while True:
            with self._lock:
                if self.max_calls is not None and self.calls + self._calls_in_flight >= self.max_calls:
                    calls = "call" if self.max_calls == 1 else "calls"
                    cap_message = f"The cap of {self.max_calls} {calls} is reached."
                elif self.max_cost is not None and self.cost + self._cost_in_flight + cost > self.max_cost:
                    dollars = "US dollar" if self.max_cost == 1 else "US dollars"
                    spent = f"{self.cost:.4g} US dollars are spent or may be billed."
                    cap_message = f"The next call might exceed the cap of {self.max_cost:g} {dollars}; {spent}"
                else:
                    self._calls_in_flight += 1
                    self._cost_in_flight += cost
                    return
                if not self._calls_in_flight:
                    break
                settlement: Future[None] = Future()
                self._waiting.append(settlement)
            await asyncio.wrap_future(settlement)
        _log.info("budget reached after %d calls and %.4g US dollars: %s", self.calls, self.cost, cap_message)
        hint = "Run it again with a higher cap: answers so far are cached and not requested again."
        raise errors.BudgetReached(cap_message, hint)

    def settle(self, reserved: float, cost: float | None) -> None:
        with self._lock:
            self._calls_in_flight -= 1
            # Exactly 0 without calls in flight: subtraction would leave a rounding error.
            self._cost_in_flight = self._cost_in_flight - reserved if self._calls_in_flight else 0.0
            if cost is not None:
                self.calls += 1
                self.cost += cost
            waiting, self._waiting = self._waiting, []
        for settlement in waiting:
            if settlement.set_running_or_notify_cancel():
                settlement.set_result(None)


@dataclass(eq=False, repr=False)
class Budgeted(JudgeWrapper):
    """A judge whose calls count towards a budget; it may raise `BudgetReached` before a request.

    Attributes:
        price: the highest price that may be charged; needed if cost is capped.
        token_bounds: returns upper bounds of prompt and completion tokens; may set context variables for the request.
        cancellation_grace: seconds that a cancelled request waits for its reply.
    """

    budget: Budget
    price: Price | None = None
    token_bounds: Callable[[Prompt[Any]], tuple[int, int]] = lambda prompt: (
        most_prompt_tokens(messages_of(prompt)),
        prompt.max_tokens,
    )
    cancellation_grace: float = CANCELLATION_GRACE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget.max_cost is not None and self.price is None:
            hint = "Give it with `price=IN:OUT`, in US dollars per million prompt and completion tokens."
            raise errors.SettingsError(f"The price of {self.name} is unknown, so its cost cannot be capped.", hint)

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        is_capped = self.budget.max_cost is not None
        context = contextvars.copy_context()
        reserved = self.price.cost(*context.run(self.token_bounds, prompt)) if self.price and is_capped else 0.0
        await self.budget.reserve(reserved)
        request = asyncio.create_task(self.judge.reply(prompt), name=REQUEST_TASK, context=context)
        request.add_done_callback(functools.partial(self._settle, reserved))
        try:
            return await asyncio.shield(request)
        except asyncio.CancelledError:
            try:
                await asyncio.wait([request], timeout=self.cancellation_grace)
            finally:
                request.cancel()
            await asyncio.wait([request])
            if not request.cancelled() and request.exception() is None:
                raise ReplyAfterCancellation(request.result()) from None
            raise

    def _settle(self, reserved: float, request: asyncio.Task[Reply]) -> None:
        cost: float | None = reserved
        if not request.cancelled():
            error = request.exception()
            if error is None and request.result().usage.cost_usd is not None:
                cost = request.result().usage.cost_usd
            elif isinstance(error, errors.JudgeError) and not error.may_be_billed:
                cost = None
        self.budget.settle(reserved, cost)


# A bucket saves up at most what its rate allows in this many seconds: a small share of the limit per minute.
BURST_SECONDS = 1.0
# Seconds. If a provider asks for a longer pause, the command ends. For limits per minute, providers ask for less.
MAX_PAUSE = 300.0


class Bucket:
    """A token bucket that may be overdrawn, so that requests are served in order without a queue."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self._rate = per_minute / 60
        self._burst = max(1.0, BURST_SECONDS * self._rate)
        self._clock = clock
        self._level, self._updated = self._burst, clock()

    def take(self, amount: float) -> float:
        """Take `amount` and return the seconds to wait until it is available."""
        now = self._clock()
        refilled = min(self._burst, self._level + (now - self._updated) * self._rate)
        self._level = max(self._level, refilled) - amount  # `give_back` may have raised the level above the burst
        self._updated = now
        return max(0.0, -self._level / self._rate)

    def give_back(self, amount: float) -> None:
        """Correct an estimate that was `amount` too high (or too low, if negative)."""
        self._level += amount


class Limits(Protocol):
    """Limits on rates and concurrent requests, which judges may share, also across processes."""

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens are limited; if not, they need not be estimated."""

    async def acquire(self, tokens: int, /) -> None:
        """Take a slot and wait until a request of about `tokens` tokens may be sent; an error gives the slot back."""

    def release(self, expected_tokens: int, used_tokens: int | None, pause_seconds: float, /) -> None:
        """Give the slot back, count the used tokens (if known) instead of the expected ones, and pause all requests."""


@dataclass(eq=False, repr=False, kw_only=True)
class LocalLimits:
    """The `Limits` of one process; rates are per minute, `None` for no limit."""

    concurrency: int
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.concurrency)
        self._requests = Bucket(self.requests_per_minute, self.clock) if self.requests_per_minute else None
        self._tokens = Bucket(self.tokens_per_minute, self.clock) if self.tokens_per_minute else None
        self._paused_until = self.clock()
        self.counts_tokens = self._tokens is not None

    async def acquire(self, tokens: int) -> None:
        await self._slots.acquire()
        try:
            wait = self._requests.take(1) if self._requests else 0.0
            if self._tokens:
                wait = max(wait, self._tokens.take(tokens))
            if wait > 0:
                log_wait(_log, wait, "the rate limit")
                await self.sleep(wait)
            while (pause := self._paused_until - self.clock()) > 0:
                log_wait(_log, pause, "the end of a pause that the provider asked for")
                await self.sleep(pause)
        except BaseException:
            self._slots.release()
            raise

    def release(self, expected_tokens: int, used_tokens: int | None, pause_seconds: float) -> None:
        if pause_seconds:
            self._paused_until = max(self._paused_until, self.clock() + pause_seconds)
        if self._tokens and used_tokens is not None:
            self._tokens.give_back(expected_tokens - used_tokens)
        self._slots.release()


@dataclass(eq=False, repr=False)
class Limited(JudgeWrapper):
    """A judge that is called no faster than its limits allow.

    The tokens that a reply used replace the estimate, so that later requests wait for as long as needed. If a request
    raises `JudgeRefused`, the prompts that are waiting raise the same error.
    """

    limits: Limits
    _last_refusal: errors.JudgeRefused | None = field(default=None, init=False)

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        refusal_before = self._last_refusal
        expected_tokens = estimated_tokens(messages_of(prompt)) if self.limits.counts_tokens else 0
        await self.limits.acquire(expected_tokens)
        used_tokens, pause_seconds = None, 0.0
        try:
            # A refusal while this prompt waited concerns it too; an earlier refusal may not.
            if self._last_refusal and self._last_refusal is not refusal_before:
                raise self._last_refusal
            reply = await self.judge.reply(prompt)
            used_tokens = (reply.usage.prompt_tokens + reply.usage.completion_tokens) or None
        except errors.JudgeUnavailable as error:
            if error.retry_after and error.retry_after <= MAX_PAUSE:
                pause_seconds = error.retry_after
            raise
        except errors.JudgeRefused as error:
            self._last_refusal = error
            raise
        finally:
            self.limits.release(expected_tokens, used_tokens, pause_seconds)
        return reply


class Breaker:
    """Raises `ProviderDown` after too many prompts in a row without a reply."""

    def __init__(self, max_failures: int = 20, *, concurrency: int = 1) -> None:
        self._max_failures = max(max_failures, concurrency)
        self._failed_in_a_row = 0

    def record_failure(self, judge: str, reason: str) -> None:
        self._failed_in_a_row += 1
        # If requests that are still in flight then fail too, they raise the same error.
        if self._failed_in_a_row >= self._max_failures:
            message = f"{self._max_failures} prompts in a row got no reply from {judge}; the last one: {reason}"
            hint = "Run it again when the provider is back; cached answers are not requested again."
            raise errors.ProviderDown(message, hint)

    def record_success(self) -> None:
        """Reset the count of failures, since the provider works: it replied, or refused a single prompt."""
        self._failed_in_a_row = 0


@dataclass(eq=False, repr=False)
class Retried(JudgeWrapper):
    """A judge that repeats requests whose failure may be temporary.

    After attempt n, the pause is a random time between half and all of `min(max_wait, base_wait * 2**(n - 1))` seconds.
    If the provider asks for a longer pause, the judge waits that long. `ProviderDown` is raised if the provider asks
    for more than `MAX_PAUSE`, or if too many prompts in a row failed. `on_retry` is called before each further attempt.
    """

    _: KW_ONLY
    attempts: int = 8
    base_wait: float = 1.0
    max_wait: float = 60.0
    breaker: Breaker = field(default_factory=Breaker)
    rng: random.Random = field(default_factory=random.Random)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    on_retry: Callable[[], None] = lambda: None

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        attempt = 1
        while True:
            try:
                reply = await self.judge.reply(prompt)
            except errors.JudgeUnavailable as error:
                task = asyncio.current_task()
                if task and task.cancelling():
                    # litellm may report a cancellation as a failed connection.
                    raise asyncio.CancelledError from error
                requested_pause = error.retry_after or 0.0
                if requested_pause > MAX_PAUSE:
                    message = f"{error.message} The provider asks for a pause of {requested_pause:g} seconds."
                    hint = "Run it again later; cached answers are not requested again."
                    raise errors.ProviderDown(message, hint) from error
                if attempt == self.attempts:
                    self.breaker.record_failure(self.name, error.message)
                    message = f"no reply after {self.attempts} attempts: {error.message}"
                    raise errors.JudgeUnavailable(message) from error
                longest_backoff = min(self.max_wait, self.base_wait * 2.0 ** (attempt - 1))
                pause = max(requested_pause, longest_backoff * self.rng.uniform(0.5, 1.0))
                cause = error.message
            except errors.PromptRejected as error:
                if isinstance(error, errors.ReplyTooLarge) or error.may_concern_all:  # perhaps every prompt fails
                    self.breaker.record_failure(self.name, error.message)
                else:
                    self.breaker.record_success()
                raise
            else:
                if not reply.filtered:  # a filtered reply does not show whether the model works
                    self.breaker.record_success()
                return reply
            log_wait(_log, pause, f"the next attempt at {self.name}", f" after attempt {attempt} failed: {cause}")
            await self.sleep(pause)
            attempt += 1
            self.on_retry()
