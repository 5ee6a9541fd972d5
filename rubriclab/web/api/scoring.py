"""Scores of texts for requests, within the limits of a service; work under way outlives its request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from rubriclab.services.scores import Scores
from rubriclab.services.serve_options import ServeOptions
from rubriclab.services.text_scorer import TextScorer
from rubriclab.web.api.models import InputText
from rubriclab.web.api.problems import WHEN_BUSY, Refused

MINUTE = 60.0
# Times are sums of many intervals.
ROUNDING = 1e-6


class RateLimit:
    """At most so many requests of a caller in a minute; all of them may come at once.

    Attributes:
        per_minute: the number of requests.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._interval = MINUTE / per_minute
        self._clock = clock
        # When the requests of a caller so far would be over at the even rate (the generic cell rate algorithm).
        self._over: dict[str, float] = {}

    def wait(self, caller: str) -> float:
        """Return 0 and count a request, or return the seconds until the caller may send one."""
        now = self._clock()
        over = max(self._over.get(caller, now), now) + self._interval
        early = over - now - max(MINUTE, self._interval)
        if early > ROUNDING:
            return early
        self._over[caller] = over
        return 0.0


class Slots:
    """Requests at a time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0

    def take(self) -> bool:
        """Take a slot, and return whether one was free."""
        if self.taken >= self.most:
            return False
        self.taken += 1
        return True

    def free(self) -> None:
        """Give a slot back."""
        self.taken -= 1


class ScoringWork:
    """The texts that are being scored.

    A request may be given up by its caller or by its time limit. The work for it goes on, and keeps its slot: answers
    that have been paid for are kept in the store, where the same request finds them.

    Attributes:
        scorer: the open rubric.
        options: the limits.
    """

    def __init__(self, scorer: TextScorer, options: ServeOptions) -> None:
        self.scorer = scorer
        self.options = options
        self._slots = Slots(options.at_once)
        self._rate = RateLimit(options.rate)
        self._under_way: set[asyncio.Task[Scores]] = set()

    async def scores(self, caller: str, texts: Sequence[InputText]) -> Scores:
        """Return the scores of the texts of a request, which takes a slot until they are known.

        Raises:
            Refused: if the caller has sent too many requests, too many are under way, or after the time limit.
            RubriclabError: as `TextScorer.score_rows` does.
        """
        self._begin(caller)
        rows: list[dict[str, Any]] = [text.model_dump(exclude_none=True) for text in texts]
        work = asyncio.create_task(self.scorer.score_rows_async(rows))
        self._under_way.add(work)
        work.add_done_callback(self._ended)
        try:
            async with asyncio.timeout(self.options.request_timeout):
                return await asyncio.shield(work)
        except TimeoutError:
            late = f"No score within {self.options.request_timeout:g} seconds."
            kept = "The judge's answers are kept when they arrive: send the same request again."
            raise Refused("timeout", f"{late} {kept}", WHEN_BUSY) from None

    async def finish(self, patience: float) -> int:
        """Return, once all work has ended or `patience` seconds have passed, how many requests' work is left."""
        if not self._under_way:
            return 0
        _, left = await asyncio.wait(self._under_way, timeout=patience)
        return len(left)

    def _begin(self, caller: str) -> None:
        """Count a request of a caller, and take a slot for it."""
        # A request that finds no slot does not count.
        if not self._slots.take():
            most = f"{self._slots.most:,} requests are under way"
            raise Refused("too_many_at_once", f"{most}; send this one later.", WHEN_BUSY)
        if wait := self._rate.wait(caller):
            self._slots.free()
            most = f"{self._rate.per_minute:g} requests in a minute"
            raise Refused("rate_limit", f"More than {most}; send this one later.", wait)

    def _ended(self, work: asyncio.Task[Scores]) -> None:
        self._under_way.discard(work)
        self._slots.free()
        if not work.cancelled():
            work.exception()  # nobody may be waiting for it any more
