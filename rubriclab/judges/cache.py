"""Answers are kept the moment they arrive, so that a killed run continues for free; nothing is asked twice at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from rubriclab.errors import DamagedAnswer
from rubriclab.judges.ask import read
from rubriclab.judges.judge import Judge, Reply
from rubriclab.judges.reply_size import DEFAULT_BYTES
from rubriclab.judges.request import read_back, request_digest, written
from rubriclab.prompts import Prompt

# Seconds between two looks at whether another process has answered.
FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.32


class AnswerCache(Protocol):
    """Where replies are kept, under the digest of their request."""

    def get(self, digest: str, /) -> dict[str, Any] | None:
        """Return what was kept under `digest`, or `None`.

        Raises:
            DamagedAnswer: if it is not as it was written.
        """
        ...

    def put(self, digest: str, answer: dict[str, Any], /) -> bool:
        """Return whether `answer` (JSON types only) was kept; one that is there already stays."""
        ...

    def claim(self, digest: str, /) -> bool:
        """Return whether the caller is to ask; `False` if another process is asking, or has answered meanwhile.

        Raises:
            StoreError: if an answer could not be kept.
        """
        ...

    def release(self, digest: str, /) -> None:
        """Give up a claim that led to no answer."""
        ...


class MemoryAnswers:
    """Answers kept as long as the process lives."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, Any]] = {}

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return what was kept under `digest`, or `None`."""
        return self._kept.get(digest)

    def put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Return whether `answer` was kept; one that is there already stays."""
        return self._kept.setdefault(digest, answer) is answer

    def claim(self, _digest: str) -> bool:
        """Return `True`: no other process shares these answers."""
        return True

    def release(self, _digest: str) -> None:
        """Do nothing: there is nobody to make way for."""


class Cached:
    """A judge that answers from `answers` what it was asked before, and asks `judge` for the rest.

    A reply is kept as it came, also one that cannot be used: it was paid for, and at temperature 0 it would come again;
    the repair that follows is a request of its own. Whoever wants another try (`retry_failed`) gets a further sample of
    the same question, which is kept beside the first and stands for it from then on; the same where the kept reply is
    larger than `max_reply_bytes`, which is not even read, or is damaged. Errors are never kept. Of
    identical requests in flight one is sent and the others wait for it: they share its reply or its error, and if it is
    cancelled one of them takes its place. Of several processes that share `answers`, too, one asks and the others wait
    for its reply; if it fails, each of them asks itself. Where two have asked after all, both return the reply that was
    kept.

    Args:
        damaged: where the digests of requests are added whose kept reply is damaged.
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
        self._judge = judge
        self._answers = answers
        self._retry_failed = retry_failed
        self._max_reply_bytes = max_reply_bytes
        self._damaged = set() if damaged is None else damaged
        self._in_flight: dict[str, asyncio.Future[Reply | Exception | None]] = {}

    @property
    def name(self) -> str:
        """The name of the judge that is asked."""
        return self._judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the judge that is asked."""
        return self._judge.identity

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the reply kept for `prompt`, else the judge's own."""
        while True:
            kept, digest, prompt = self._kept(prompt)
            if kept is not None:
                return kept
            if digest not in self._in_flight:
                asked = await self._ask(digest, prompt)
                if asked is not None:
                    return asked
                continue
            first = self._in_flight[digest]
            await asyncio.wait([first])
            if not first.cancelled() and isinstance(error := first.result(), Exception):
                raise error

    def _kept(self, prompt: Prompt[Any]) -> tuple[Reply | None, str, Prompt[Any]]:
        """Return the reply kept for `prompt`, or `None`, with the request that it answers or that is to be asked.

        Where a reply cannot be used, that is the next sample's, if there is one or it is to be tried.
        """
        digest = request_digest(self._judge.identity, prompt)
        try:
            reply = self._read(digest)
        except DamagedAnswer:
            self._damaged.add(digest)
            return self._kept(replace(prompt, sample=prompt.sample + 1))
        if reply is None:
            return None, digest, prompt
        too_large = len(reply.text) > self._max_reply_bytes
        if too_large or read(reply, prompt)[0] is None:
            later = self._kept(replace(prompt, sample=prompt.sample + 1))
            if later[0] is not None or self._retry_failed or too_large:
                return later
        return reply, digest, prompt

    def _read(self, digest: str) -> Reply | None:
        kept = self._answers.get(digest)
        try:
            return None if kept is None else read_back(kept)
        except ValueError as error:
            raise DamagedAnswer(f"The answer {digest} is not a reply: {error}.") from None

    async def _ask(self, digest: str, prompt: Prompt[Any]) -> Reply | None:
        """Return the judge's reply; `None` if another process has answered meanwhile."""
        waiting = self._in_flight[digest] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._ask_once(digest, prompt)
        except Exception as error:
            waiting.set_result(error)
            raise
        else:
            waiting.set_result(reply)
            return reply
        finally:
            waiting.cancel()
            del self._in_flight[digest]

    async def _ask_once(self, digest: str, prompt: Prompt[Any]) -> Reply | None:
        pause = FIRST_PAUSE
        while not self._answers.claim(digest):
            if self._answers.get(digest) is not None:
                return None
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        try:
            reply = await self._judge.reply(prompt)
            return reply if self._answers.put(digest, written(reply)) else self._stored(digest, reply)
        except BaseException:
            self._answers.release(digest)
            raise

    def _stored(self, digest: str, reply: Reply) -> Reply | None:
        """Return the reply that another process kept meanwhile, with what `reply` took, which was paid for too.

        `None` if that one is damaged.
        """
        try:
            kept = self._read(digest)
        except DamagedAnswer:
            return None
        return replace(kept, usage=reply.usage, cached=False) if kept else reply
