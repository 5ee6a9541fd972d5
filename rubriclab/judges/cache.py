"""Answers are cached as soon as they arrive, so that an interrupted run resumes without paying twice."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from rubriclab.errors import DamagedAnswer
from rubriclab.judges.ask import read
from rubriclab.judges.judge import Judge, JudgeWrapper, Reply, ReplyAfterCancellation
from rubriclab.judges.reply_size import DEFAULT_BYTES
from rubriclab.judges.request import read_back, request_digest, written
from rubriclab.prompts.prompt import Prompt

T = TypeVar("T")

_log = logging.getLogger(__name__)


class AnswerCache(Protocol):
    """Replies by the digest of their request."""

    @property
    def remote(self) -> bool:
        """Whether calls wait for a network; they are then made in a thread, and have to be safe to use from several."""
        ...

    def get(self, digest: str, /) -> dict[str, Any] | None:
        """Return the answer cached under `digest`, or `None`.

        Raises:
            DamagedAnswer: if it is not as it was written.
        """
        ...

    def put(self, digest: str, answer: dict[str, Any], /) -> bool:
        """Return whether `answer` (JSON types only) was cached; an answer that is there already stays."""
        ...

    def check_writable(self) -> None:
        """Check that an answer could be cached.

        Raises:
            StoreError: otherwise.
        """
        ...


class MemoryAnswers:
    """Answers cached as long as the process lives."""

    remote = False

    def __init__(self) -> None:
        self._answers: dict[str, dict[str, Any]] = {}

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the answer cached under `digest`, or `None`."""
        return self._answers.get(digest)

    def put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Return whether `answer` was cached; an answer that is there already stays."""
        return self._answers.setdefault(digest, answer) is answer

    def check_writable(self) -> None:
        """Do nothing: an answer can always be cached."""


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
        self._in_flight: dict[str, asyncio.Future[Reply | Exception | None]] = {}

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the cached reply to `prompt`, or else the wrapped judge's."""
        while True:
            cached, digest, prompt = await self._look_up(prompt)
            if cached is not None:
                return cached
            if digest not in self._in_flight:
                reply = await self._request(digest, prompt)
                if reply is not None:
                    return reply
                continue
            first = self._in_flight[digest]
            await asyncio.wait([first])
            if not first.cancelled() and isinstance(error := first.result(), Exception):
                raise error

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
        answer = await self._call(self._answers.get, digest)
        try:
            return None if answer is None else read_back(answer)
        except ValueError as error:
            raise DamagedAnswer(f"The answer {digest} is not a reply: {error}.") from None

    async def _request(self, digest: str, prompt: Prompt[Any]) -> Reply | None:
        """Return the judge's reply; `None` if the cache has to be looked up again."""
        waiting = self._in_flight[digest] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._request_once(digest, prompt)
        except Exception as error:
            waiting.set_result(error)
            raise
        else:
            waiting.set_result(reply)
            return reply
        finally:
            waiting.cancel()
            del self._in_flight[digest]

    async def _request_once(self, digest: str, prompt: Prompt[Any]) -> Reply | None:
        await self._call(self._answers.check_writable)
        if self._answers.remote and await self._call(self._answers.get, digest) is not None:
            return None  # a request that ended during the look-up was the same
        try:
            reply = await self.judge.reply(prompt)
        except ReplyAfterCancellation as late:
            await self._put(digest, written(late.reply))
            raise
        first = await self._put(digest, written(reply))
        return reply if first else await self._first_reply(digest, reply)

    async def _first_reply(self, digest: str, reply: Reply) -> Reply | None:
        """Return the reply that another process cached first, with the usage of `reply`, which was paid for too.

        `None` if that one is damaged.
        """
        try:
            cached = await self._read(digest)
        except DamagedAnswer:
            return None
        return replace(cached, usage=reply.usage, cached=False) if cached else reply

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

    async def _call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return the result of a call of the cache, made in a thread if it waits for a network."""
        if self._answers.remote:
            return await asyncio.to_thread(function, *arguments)
        return function(*arguments)
