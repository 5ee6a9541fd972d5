"""What stands between a method and a judge: each is a judge that wraps another one, here from the inside out.

`Budgeted` counts a call when it is sent; `Limited` delays each attempt; `Retried` repeats it; `Cached` keeps each final
reply; `Recording` writes replies to a file; `Metered` counts each reply that is used. `rubriclab.judges.connect` builds
the stack.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import random
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, TypeVar

import orjson

from rubriclab.errors import (
    BudgetReached,
    DamagedAnswer,
    DataError,
    JudgeError,
    JudgeRefused,
    JudgeUnavailable,
    PromptRejected,
    ProviderDown,
    ReplayMiss,
    ReplyTooLarge,
    SettingsError,
)
from rubriclab.judges.judge import (
    Judge,
    JudgeWrapper,
    Ledger,
    Reply,
    dump_reply,
    load_reply,
    messages_of,
    read,
    request_digest,
)
from rubriclab.judges.options import DEFAULT_BYTES, Price
from rubriclab.judges.providers import estimated_tokens, most_tokens
from rubriclab.models.base import Unreadable, check_regular
from rubriclab.models.waits import log_wait
from rubriclab.prompts.prompt import Prompt

T = TypeVar("T")

# Seconds that a cancelled request waits for its reply.
GRACE = 2.0
# The name of the tasks of requests. They are not to be cancelled by themselves: whoever waits for them does it.
IN_FLIGHT = "request in flight"

_log = logging.getLogger(__name__)


class ReplyAfterCancellation(asyncio.CancelledError):
    """The request was cancelled, and its reply arrived soon after."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


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
                reached = self._reached(cost)
                if reached is None:
                    self._calls_in_flight += 1
                    self._cost_in_flight += cost
                    return
                if not self._calls_in_flight:
                    break
                settled: Future[None] = Future()
                self._waiting.append(settled)
            await asyncio.wrap_future(settled)
        _log.info("budget reached after %d calls and %.4g US dollars: %s", self.calls, self.cost, reached)
        raise BudgetReached(
            reached, "Run it again with a higher cap: answers so far are cached and not requested again."
        )

    def settle(self, reserved: float, cost: float | None) -> None:
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

    def _reached(self, cost: float) -> str | None:
        max_calls, max_cost = self.max_calls, self.max_cost
        if max_calls is not None and self.calls + self._calls_in_flight >= max_calls:
            return f"The cap of {max_calls} call{'' if max_calls == 1 else 's'} is reached."
        if max_cost is not None and self.cost + self._cost_in_flight + cost > max_cost:
            spent = f"{self.cost:.4g} are spent or may be billed."
            return f"The next call might exceed the cap of {max_cost:g} US dollars; {spent}"
        return None


class Budgeted(JudgeWrapper):
    """A judge whose calls count towards a budget, which may raise `BudgetReached` before a request.

    A reply counts as the cost that it reports. A request without one, or whose reply reports no cost, counts as its
    reservation, unless it certainly was not sent or is not billed.

    Args:
        price: the highest one in force; needed if cost is capped.
        tokens: returns upper bounds of the prompt and completion tokens of a request.
        grace: seconds that a cancelled request waits for its reply, which is then in a `ReplyAfterCancellation`.
    """

    def __init__(
        self,
        judge: Judge,
        budget: Budget,
        *,
        price: Price | None = None,
        tokens: Callable[[Prompt[Any]], tuple[int, int]] | None = None,
        grace: float = GRACE,
    ) -> None:
        if budget.max_cost is not None and price is None:
            raise SettingsError(
                f"The price of {judge.name} is unknown, so its cost cannot be capped.",
                "Give it with `price=IN:OUT`, in US dollars per million prompt and completion tokens.",
            )
        super().__init__(judge)
        self._budget = budget
        self._price = price
        self._tokens = tokens or (lambda prompt: (most_tokens(messages_of(prompt)), prompt.max_tokens))
        self._grace = grace

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        capped = self._budget.max_cost is not None
        reserved = self._price.cost(*self._tokens(prompt)) if self._price and capped else 0.0
        await self._budget.reserve(reserved)
        request = asyncio.create_task(self.judge.reply(prompt), name=IN_FLIGHT)
        request.add_done_callback(functools.partial(self._settle, reserved))
        try:
            return await asyncio.shield(request)
        except asyncio.CancelledError:
            try:
                await asyncio.wait([request], timeout=self._grace)
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
            elif isinstance(error, JudgeError) and not error.may_be_billed:
                cost = None
        self._budget.settle(reserved, cost)


# Seconds' worth of the rate that may be sent at once: smooth, but negligible within a minute.
BURST = 1.0
# Seconds, longer than any window of a limit per minute. A provider that asks for a longer pause ends the command.
MAX_PAUSE = 300.0


class Bucket:
    """A token bucket that may be overdrawn: requests are served in order, without a queue."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self._rate = per_minute / 60
        self._burst = max(1.0, BURST * self._rate)
        self._clock = clock
        self._level, self._updated = self._burst, clock()

    def take(self, amount: float) -> float:
        """Take `amount` and return the seconds to wait until it is available."""
        now = self._clock()
        refilled = min(self._burst, self._level + (now - self._updated) * self._rate)
        self._level = max(self._level, refilled) - amount  # amounts given back may exceed the burst
        self._updated = now
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

    async def acquire(self, tokens: int, /) -> None:
        """Take a slot, none if this raises, and return when a request of `tokens` estimated tokens may be sent."""

    def release(self, expected: int, used: int | None, pause: float, /) -> None:
        """Give the slot back; `used` tokens replace the `expected` ones, and nothing is sent for `pause` seconds."""


class LocalLimits:
    """The `Limits` of one process; rates are those of the provider's plan, `None` for no limit."""

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
        self.counts_tokens = self._tokens is not None

    async def acquire(self, tokens: int) -> None:
        await self._slots.acquire()
        try:
            waits = [bucket.take(n) for bucket, n in ((self._requests, 1), (self._tokens, tokens)) if bucket]
            if (wait := max(waits, default=0.0)) > 0:
                log_wait(_log, wait, "the rate limit")
                await self._sleep(wait)
            while (pause := self._paused_until - self._clock()) > 0:
                log_wait(_log, pause, "the end of a pause that the provider asked for")
                await self._sleep(pause)
        except BaseException:
            self._slots.release()
            raise

    def release(self, expected: int, used: int | None, pause: float) -> None:
        if pause:
            self._paused_until = max(self._paused_until, self._clock() + pause)
        if self._tokens and used is not None:
            self._tokens.give_back(expected - used)
        self._slots.release()


class Limited(JudgeWrapper):
    """A judge that is called no faster than its limits allow.

    The tokens of a prompt are estimated before the request. The reply's usage then corrects the estimate and adds the
    completion tokens, which delays later requests. A prompt that waits when another one is refused raises that
    `JudgeRefused` too.
    """

    def __init__(self, judge: Judge, limits: Limits) -> None:
        super().__init__(judge)
        self._limits = limits
        self._refusal: JudgeRefused | None = None

    async def reply(self, prompt: Prompt[Any]) -> Reply:
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
            if error.retry_after and error.retry_after <= MAX_PAUSE:
                pause = error.retry_after
            raise
        except JudgeRefused as error:
            self._refusal = error
            raise
        finally:
            self._limits.release(expected, used, pause)
        return reply


class Breaker(Protocol):
    """Counts the prompts in a row that failed after all attempts, also across processes."""

    async def record_failure(self, judge: str, reason: str, /) -> None:
        """Count a prompt that failed, and raise `ProviderDown` if too many in a row have."""

    def record_success(self) -> None:
        """Count a sign of life: a success, or a refusal of one prompt. Returns without waiting."""


class LocalBreaker:
    """The `Breaker` of one process: `most` prompts in a row may fail before the provider counts as down."""

    def __init__(self, most: int = 20) -> None:
        self.most = most
        self._failed_in_a_row = 0

    async def record_failure(self, judge: str, reason: str) -> None:
        self._failed_in_a_row += 1
        # Requests that were in flight when the limit was reached fail after it, with the same message.
        if self._failed_in_a_row >= self.most:
            raise ProviderDown(
                f"{self.most} prompts in a row got no reply from {judge}; the last one: {reason}",
                "Run it again when the provider is back; cached answers are not requested again.",
            )

    def record_success(self) -> None:
        self._failed_in_a_row = 0


class Retried(JudgeWrapper):
    """A judge that repeats requests whose failure may be temporary.

    The pause after attempt n is uniform between half and all of `base * 2**(n - 1)` seconds, at most `longest`, and
    never shorter than the provider asked for. If the provider asks for more than `MAX_PAUSE`, or too many prompts in a
    row have failed after `attempts` requests each, `ProviderDown` ends the command. A `ReplyTooLarge` is not retried.
    `on_retry` is called before each further attempt at a prompt.
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
        on_retry: Callable[[], None] = lambda: None,
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
        attempt = 1
        while True:
            try:
                reply = await self.judge.reply(prompt)
            except JudgeUnavailable as error:
                if (task := asyncio.current_task()) and task.cancelling():
                    # litellm may report a cancellation as a failed connection.
                    raise asyncio.CancelledError from error
                wanted = error.retry_after or 0.0
                if wanted > MAX_PAUSE:
                    raise ProviderDown(
                        f"{error.message} The provider asks for a pause of {wanted:g} seconds.",
                        "Run it again later; cached answers are not requested again.",
                    ) from error
                if attempt == self._attempts:
                    await self._breaker.record_failure(self.name, error.message)
                    missing = f"no reply after {self._attempts} attempts: {error.message}"
                    raise JudgeUnavailable(missing) from error
                backoff = min(self._longest, self._base * 2.0 ** (attempt - 1)) * self._rng.uniform(0.5, 1.0)
                pause, cause = max(wanted, backoff), error.message
            except PromptRejected as error:
                if isinstance(error, ReplyTooLarge) or error.is_doubtful:
                    await self._breaker.record_failure(self.name, error.message)
                else:
                    self._breaker.record_success()
                raise
            else:
                if not reply.filtered:  # which says neither that the provider answers nor that it is down
                    self._breaker.record_success()
                return reply
            log_wait(_log, pause, f"the next attempt at {self.name}", f" after attempt {attempt} failed: {cause}")
            await self._sleep(pause)
            attempt += 1
            self._on_retry()


class Storage(Protocol):
    """Something of the store."""

    @property
    def remote(self) -> bool:
        """Whether calls wait for a network; they are then made in threads."""


class AnswerCache(Storage, Protocol):
    """Replies by the digest of their request."""

    def get(self, digest: str, /) -> dict[str, Any] | None:
        """Return the answer cached under `digest`, or `None`; raise `DamagedAnswer` if it was changed."""

    def put(self, digest: str, answer: dict[str, Any], /) -> bool:
        """Return whether `answer` (JSON types only) was cached; an answer that is there already stays."""

    def check_writable(self) -> None:
        """Raise a `StoreError` if no answer could be cached."""


class Cached(JudgeWrapper):
    """A judge that returns cached answers, and calls the wrapped judge for all others.

    - Every reply is cached, an unusable or filtered one too: it was paid for, and at temperature 0 it would be the same
      again. So is one that arrives soon after its request was cancelled. The repair that follows an unusable one is a
      request of its own. Errors are never cached.
    - `retry_failed` requests a further sample if the cached reply is unusable. That sample is cached beside the first
      and used from then on. The same happens if the cached reply is larger than `max_reply_bytes` or damaged.
    - Of identical requests in flight one is sent. The others share its reply or error; if it is cancelled, one of them
      takes its place.
    - Several processes that share a cache may make the same call at once; all return the reply that was cached first.
    - A remote cache is used from threads, so that it does not block the event loop.

    Args:
        damaged: collects the digests of requests whose cached reply is damaged.
    """

    def __init__(
        self,
        judge: Judge,
        answers: AnswerCache,
        *,
        retry_failed: bool = False,
        max_reply_bytes: int = DEFAULT_BYTES,
        damaged: set[str] | None = None,
    ) -> None:
        super().__init__(judge)
        self._answers = answers
        self._retry_failed = retry_failed
        self._max_reply_bytes = max_reply_bytes
        self._damaged = set() if damaged is None else damaged
        self._in_flight: dict[str, asyncio.Future[Exception | None]] = {}

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        while True:
            cached, digest, prompt = await self._look_up(prompt)
            if cached is not None:
                return cached
            if same := self._in_flight.get(digest):
                await asyncio.wait([same])
                if error := same.result():
                    raise error
                continue
            same = self._in_flight[digest] = asyncio.get_running_loop().create_future()
            error = None
            try:
                if reply := await self._request(digest, prompt):
                    return reply
            except Exception as failed:
                error = failed
                raise
            finally:
                same.set_result(error)
                del self._in_flight[digest]

    async def _look_up(self, prompt: Prompt[Any]) -> tuple[Reply | None, str, Prompt[Any]]:
        """Return the cached reply to `prompt`, or `None`, with the digest and prompt of the request to make.

        If the cached reply is unusable, these are the next sample's, if that is cached or is to be requested.
        """
        digest = request_digest(self.judge.identity, prompt)
        try:
            reply = await self._read(digest)
        except DamagedAnswer as error:
            _log.info("%s: %s It is requested again.", self.name, error.message)
            self._damaged.add(digest)
            return await self._look_up(replace(prompt, sample=prompt.sample + 1))
        if reply is None:
            return None, digest, prompt
        too_large = len(reply.text) > self._max_reply_bytes
        if too_large or read(reply, prompt)[0] is None:
            later = await self._look_up(replace(prompt, sample=prompt.sample + 1))
            if later[0] is not None or self._retry_failed or too_large:
                return later
        return reply, digest, prompt

    async def _read(self, digest: str) -> Reply | None:
        answer = await call_storage(self._answers, self._answers.get, digest)
        try:
            return None if answer is None else load_reply(answer)
        except ValueError as error:
            raise DamagedAnswer(f"The answer {digest} is not a reply: {error}.") from None

    async def _request(self, digest: str, prompt: Prompt[Any]) -> Reply | None:
        """Return the judge's reply; `None` if the cache has to be looked up again."""
        await call_storage(self._answers, self._answers.check_writable)
        if self._answers.remote and await call_storage(self._answers, self._answers.get, digest) is not None:
            return None  # a request that ended during the look-up was the same
        try:
            reply = await self.judge.reply(prompt)
        except ReplyAfterCancellation as late:
            await self._put(digest, dump_reply(late.reply))
            raise
        if await self._put(digest, dump_reply(reply)):
            return reply
        try:
            first = await self._read(digest)  # what another process cached first; this reply was paid for too
        except DamagedAnswer:
            return None
        return replace(first, usage=reply.usage, cached=False) if first else reply

    async def _put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Return whether `answer` was cached. It was paid for, so a cancellation waits until it is stored."""
        if not self._answers.remote:
            return self._answers.put(digest, answer)
        # Not a task: those are cancelled when the event loop is closed, before a busy thread pool has begun with them.
        storing = asyncio.get_running_loop().run_in_executor(None, self._answers.put, digest, answer)
        try:
            return await asyncio.shield(storing)
        except asyncio.CancelledError:
            await asyncio.wait([storing])
            if error := storing.exception():
                _log.warning("%s: the answer %s could not be cached: %s", self.name, digest, error)
            raise


async def call_storage(storage: Storage, function: Callable[..., T], *arguments: Any) -> T:
    """Return the result of a call of a storage, made in a thread if it waits for a network."""
    return await asyncio.to_thread(function, *arguments) if storage.remote else function(*arguments)


HEADER = {"format": "rubriclab-recording", "version": 1}
PREFIX = "recorded:"


@dataclass(slots=True)
class RecordingContent:
    """A recording: identities by judge, replies by request; `end` is the offset after the last complete line."""

    judges: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    end: int = 0


def read_recording(path: Path) -> RecordingContent:
    """Return the content of the recording at `path`. An incomplete last line, as a killed run leaves it, is skipped.

    Raises:
        DataError: if the file cannot be read, is no regular file, is no recording, or is damaged elsewhere.
    """
    content = RecordingContent()
    hint = "Record again to a new file, with `record=PATH`."
    try:
        check_regular(path)
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    if line.endswith(b"\n"):
                        row = orjson.loads(line)
                        if number == 1 and row != HEADER:
                            raise ValueError(row)
                        if number > 1 and "judge" in row:
                            content.judges[row["judge"]] = dict(row["identity"])
                        elif number > 1:
                            content.replies.setdefault(str(row["request"]), load_reply(row["reply"]))
                        content.end += len(line)
                    elif number == 1 and not orjson.dumps(HEADER).startswith(line):
                        raise ValueError(line)
                    else:
                        _log.warning("%s ends with an incomplete line, which is skipped", path)
                except (ValueError, KeyError, TypeError):
                    expected = "the header of a recording" if number == 1 else "a judge or a reply"
                    got = repr(line[:80].decode("utf-8", "replace"))
                    raise DataError(f"{path}, line {number}: expected {expected}, got {got}.", hint) from None
    except (OSError, Unreadable) as error:
        raise DataError(f"The recording {path} cannot be read: {getattr(error, 'strerror', error)}.") from None
    return content


class Recording(JudgeWrapper):
    """A judge whose replies are also appended to the file at `path` as they arrive.

    An existing recording is continued: an incomplete last line is removed, and no request is written twice. One of
    another kind, or of this judge with other settings, is a `DataError`.
    """

    def __init__(self, judge: Judge, path: Path) -> None:
        super().__init__(judge)
        self._path = path
        content = read_recording(path) if path.exists() else RecordingContent()
        if path.exists() and content.end < path.stat().st_size:
            self._write(lambda file: file.truncate(content.end), "r+b")
        if content.end == 0:
            self._append(HEADER)
        known = content.judges.get(self.name)
        if known is None:
            self._append({"judge": self.name, "identity": dict(self.identity)})
        elif known != self.identity:
            raise DataError(
                f"The recording {path} holds {self.name} at another address or with other settings: "
                f"{known} there, {self.identity} here.",
                "Record to a new file.",
            )
        self._recorded = set(content.replies)

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        reply = await self.judge.reply(prompt)
        digest = request_digest(self.identity, prompt)
        if digest not in self._recorded:
            self._recorded.add(digest)
            self._append({"request": digest, "template": prompt.name, "reply": dump_reply(reply)})
        return reply

    def _append(self, row: Mapping[str, Any]) -> None:
        # Opened for each line, so that two judges of one command can share the file.
        self._write(lambda file: file.write(orjson.dumps(row) + b"\n"), "ab")

    def _write(self, change: Callable[[BinaryIO], object], mode: Literal["ab", "r+b"]) -> None:
        try:
            with self._path.open(mode) as file:
                change(file)
        except OSError as error:
            raise DataError(f"The recording {self._path} cannot be written: {error.strerror}.") from None


class Replay:
    """A judge that returns the recorded replies of another judge, marked as cached; others are a `ReplayMiss`.

    `spec` is `recorded:PATH`, or `recorded:PATH#JUDGE` if several judges are recorded. A file that is no recording is a
    `DataError`; a judge that it does not hold, or several without a name, a `SettingsError`.
    """

    def __init__(self, spec: str) -> None:
        path, judge = Path(spec.removeprefix(PREFIX)), None
        if "#" in spec and not path.exists():
            path, judge = Path(str(path).rpartition("#")[0]), recorded_name(spec)
        content = read_recording(path)
        names = sorted(content.judges)
        self.recorded_name = names[0] if judge is None and len(names) == 1 else judge or ""
        if self.recorded_name not in content.judges:
            fault = "has more than one judge" if judge is None and names else f"has no judge {judge or ''}".rstrip()
            raise SettingsError(
                f"The recording {path} {fault}; it holds {', '.join(names) or 'none'}.",
                f"Name one, as in {PREFIX}{path}#{names[0] if names else 'JUDGE'}.",
            )
        self.name = spec
        self.identity: Mapping[str, Any] = content.judges[self.recorded_name]
        self._replies = content.replies
        self._path = path

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        digest = request_digest(self.identity, prompt)
        if digest not in self._replies:
            raise ReplayMiss(
                f"The recording {self._path} holds no reply of {self.recorded_name} to this {prompt.name} prompt "
                f"({digest[:19]}…): data, settings or the prompt's wording differ from when it was recorded.",
                f"Record it with `judge={self.recorded_name}` and `record={self._path}`.",
            )
        return self._replies[digest]


def recorded_name(judge: str) -> str:
    """Return the judge whose replies `recorded:PATH#JUDGE` holds; any other name unchanged."""
    path, separator, recorded = judge.rpartition("#")
    return recorded if separator and path.startswith(PREFIX) else judge


class Metered(JudgeWrapper):
    """A judge whose replies are counted in `ledger`. It is the outermost wrapper, so it sees every reply that is used.

    A prompt counts as failed if it has no reply or a filtered one, or if the reply to its repair is unusable too.
    """

    def __init__(self, judge: Judge, ledger: Ledger) -> None:
        super().__init__(judge)
        self.ledger: Ledger = ledger

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        ledger = self.ledger
        ledger.repaired += prompt.repair is not None
        try:
            reply = await self.judge.reply(prompt)
        except (JudgeUnavailable, PromptRejected):
            ledger.failed += 1
            raise
        ledger.model_versions.add(reply.model)
        if reply.cached:
            ledger.cached += 1
        else:
            ledger.calls += 1
            ledger.usage += reply.usage
        ledger.stages[prompt.name] += 1
        ledger.stage_tokens[prompt.name] += reply.usage.prompt_tokens + reply.usage.completion_tokens
        if reply.filtered or (prompt.repair is not None and read(reply, prompt)[0] is None):
            ledger.failed += 1
        return reply


def count_text(judge: Judge, outcome: str) -> None:
    """Count a text in the judge's ledger, if it has one, by what became of it; see `Ledger.texts`."""
    if isinstance(judge, JudgeWrapper) and judge.ledger:
        judge.ledger.texts[outcome] += 1


NO_REPLY = "the judge gave no reply"
REJECTED = "the judge cannot answer about this text"


class RedactingJudge(JudgeWrapper):
    """A judge for callers who do not run it: what the provider says of a failed request goes to the log only."""

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        try:
            return await self.judge.reply(prompt)
        except ReplyTooLarge:
            raise
        except (PromptRejected, JudgeUnavailable) as error:
            _log.warning("%s: %s", self.name, error)
            is_rejected = isinstance(error, PromptRejected)
            raise (PromptRejected(REJECTED) if is_rejected else JudgeUnavailable(NO_REPLY)) from error
