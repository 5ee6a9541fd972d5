"""Scores of texts for requests, within the limits of a service; work under way outlives its request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from rubriclab.services.base import ServeOptions
from rubriclab.services.scores import Scores
from rubriclab.services.text_scorer import TextScorer
from rubriclab.web.api.models import InputText
from rubriclab.web.api.problems import WHEN_BUSY, Refused


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
        self._under_way: set[asyncio.Task[Scores]] = set()

    async def scores(self, texts: Sequence[InputText]) -> Scores:
        """Return the scores of the texts of a request, which takes a slot until they are known.

        Raises:
            Refused: if too many requests are under way, or after the time limit.
            RubriclabError: as `TextScorer.score_rows` does.
        """
        if not self._slots.take():
            most = f"{self._slots.most:,} requests are under way"
            raise Refused("too_many_at_once", f"{most}; send this one later.", WHEN_BUSY)
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

    def _ended(self, work: asyncio.Task[Scores]) -> None:
        self._under_way.discard(work)
        self._slots.free()
        if not work.cancelled():
            work.exception()  # nobody may be waiting for it any more
