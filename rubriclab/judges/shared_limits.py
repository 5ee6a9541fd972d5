"""Rate limits that processes on several machines share, kept in the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rubriclab.judges.limits import Bucket, LocalLimits
from rubriclab.judges.rounds import Rounds
from rubriclab.store.shared_state import Document, SharedDocument
from rubriclab.waits import log_wait

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rates:
    """Requests and tokens per minute; `None` for no limit."""

    requests: float | None
    tokens: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """What happened since the last round: tokens that were estimated but not used, and the pause asked for."""

    unused_tokens: int = 0
    pause: float = 0.0


class SharedLimits:
    """The rate limits of a provider's account, for any number of processes.

    A request takes its place in the token buckets of the document, which all processes share, and so does a pause that
    the provider asks for. The number of requests in flight is limited for this process alone.

    Args:
        state: the document of the account in the store.
        concurrency: requests in flight of this process.
        requests_per_minute, tokens_per_minute: limits of all processes together; `None` for no limit.
        sleep: waits for a number of seconds.
    """

    def __init__(
        self,
        state: SharedDocument,
        *,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._state = state
        self._rates = Rates(requests_per_minute, tokens_per_minute)
        self._local = LocalLimits(concurrency=concurrency, sleep=sleep)
        self._sleep = sleep
        self._report = Report()
        self._waiting: list[tuple[int, asyncio.Future[float]]] = []
        self._rounds = Rounds(self._round)

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens are limited."""
        return self._rates.tokens is not None

    async def acquire(self, tokens: int) -> None:
        """Take a slot, and return as soon as a request may be sent; see `Limits`.

        Raises:
            StoreUnavailable: if the database fails.
        """
        await self._local.acquire(tokens)
        try:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append((tokens, turn))
            self._rounds.wake()
            if (wait := await turn) > 0:
                log_wait(_log, wait, "the rate limit of all processes")
                await self._sleep(wait)
        except BaseException:
            self._local.release(0, None, 0.0)
            raise

    def release(self, expected: int, used: int | None, pause: float) -> None:
        """Give the slot back; see `Limits`."""
        self._local.release(expected, used, pause)
        unused = expected - used if self.counts_tokens and used is not None else 0
        if unused or pause:
            self._report = Report(self._report.unused_tokens + unused, max(self._report.pause, pause))
            self._rounds.wake()

    async def _round(self) -> float | None:
        asked, self._waiting = [(tokens, turn) for tokens, turn in self._waiting if not turn.done()], []
        report, self._report = self._report, Report()
        if not asked and report == Report():
            return None
        change = partial(_taken, rates=self._rates, report=report, tokens=[tokens for tokens, _ in asked])
        try:
            waits = await asyncio.to_thread(self._state.change, change)
        except Exception as error:
            for _, turn in asked:
                if not turn.done():
                    turn.set_exception(error)
            return None
        for (_, turn), wait in zip(asked, waits, strict=True):
            if not turn.done():
                turn.set_result(wait)
        return 0.0 if self._waiting or self._report != Report() else None


def _taken(
    document: Document, now: float, *, rates: Rates, report: Report, tokens: Sequence[int]
) -> tuple[Document, tuple[float, ...]]:
    """Return the document after a round, and how many seconds each request of so many tokens has to wait."""
    buckets = {
        name: Bucket(rate, lambda: now, _state(document, name))
        for name, rate in (("requests", rates.requests), ("tokens", rates.tokens))
        if rate
    }
    if "tokens" in buckets:
        buckets["tokens"].give_back(report.unused_tokens)
    paused_until = max(document.get("paused_until", 0.0), now + report.pause)
    waits = []
    for amount in tokens:
        taken = [bucket.take(amount if name == "tokens" else 1) for name, bucket in buckets.items()]
        waits.append(max(paused_until - now, *taken, 0.0) if taken else max(paused_until - now, 0.0))
    written = {name: list(bucket.state) for name, bucket in buckets.items()}
    return {**document, **written, "paused_until": paused_until}, tuple(waits)


def _state(document: Document, name: str) -> tuple[float, float] | None:
    found = document.get(name)
    return None if found is None else (found[0], found[1])
