"""Prompts are collected into waves, and each wave is sent as a batch.

A wave ends when no prompt has arrived for a moment: every text then waits for an answer. A batch is stored before it is
waited for, and removed from the store when all its answers are cached, so a command that is interrupted at any moment
finds its batches again and collects them.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from rubriclab.errors import (
    BatchCancelled,
    JudgeError,
    JudgeRefused,
    JudgeUnavailable,
    ProviderDown,
    RubriclabError,
)
from rubriclab.judges.batch_model import BatchAnswer, BatchModel, BatchStatus, answers_in
from rubriclab.judges.budget import WaveTooSmall
from rubriclab.judges.cache import AnswerCache
from rubriclab.judges.judge import Judge, JudgeWrapper, Reply
from rubriclab.judges.request import read_back, request_digest, written
from rubriclab.judges.retry import PATIENCE
from rubriclab.models.base import PREFIX, digest
from rubriclab.option_names import RUN_AGAIN, option
from rubriclab.prompts.prompt import Prompt
from rubriclab.store.answers import OpenBatch

if TYPE_CHECKING:
    from rubriclab.store.answers import BatchTable

T = TypeVar("T")

# Seconds without a new prompt after which a wave is complete, at most the first pause between two checks.
QUIET = 1.0
# Fewer prompts are sent one by one, at the usual price.
AT_LEAST = 10
# Seconds between the first two checks whether a batch is done.
PAUSE = 10.0
# Each pause between two checks is this many times the last one, at most `LONGEST` times the first.
GROWTH = 1.5
LONGEST = 30
# Requests about a batch that may fail in a row; with the pauses between them, more than an hour.
FAILURES = 20
# Pause in seconds before requests are sent again that did not fit into the provider's queue.
QUEUE_PAUSE = 60.0
# Half of what OpenAI and Azure take in one file.
MOST_BYTES = 100_000_000

_log = logging.getLogger(__name__)


class Batched(JudgeWrapper):
    """A judge that is asked by waves, and for small waves one by one.

    Args:
        waves: asks by batches.
        direct: asks by single calls, with limits and retries of its own.
        attempts: batches in which a prompt is sent, before its answer is missing.
    """

    def __init__(self, waves: Judge, direct: Judge, *, attempts: int) -> None:
        super().__init__(waves)
        self._direct = direct
        self._attempts = attempts

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the reply of the first batch that has one, or of a single call.

        Raises:
            JudgeUnavailable: after the last attempt.
            JudgeRefused, BatchCancelled, ProviderDown, BudgetReached: these concern every prompt.
        """
        attempt = 1
        while True:
            try:
                return await self.judge.reply(prompt)
            except WaveTooSmall:
                return await self._direct.reply(prompt)
            except JudgeUnavailable as error:
                if attempt == self._attempts:
                    raise JudgeUnavailable(f"no reply in {self._attempts} batches: {error.message}") from error
                _log.info("%s: no reply in batch %d: %s", self.name, attempt, error.message)
                await asyncio.sleep(min(error.retry_after or 0.0, PATIENCE))
            attempt += 1


@dataclass(eq=False)
class _WaitingPrompt:
    """A prompt that waits for its reply."""

    prompt: Prompt[Any]
    digest: str
    reply: asyncio.Future[Reply] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def settle(self, outcome: Reply | Exception) -> None:
        """Give the reply or error to whoever waits, if anyone still does."""
        if self.reply.done():
            return
        if isinstance(outcome, Reply):
            self.reply.set_result(outcome)
        else:
            self.reply.set_exception(outcome)


class Waves(JudgeWrapper):
    """A judge that answers the prompts of a wave by batches. Every answer is cached as soon as it is fetched.

    Args:
        model: sends the batches.
        answers: the cache, with the same keys as for single calls.
        batches: the store's open batches; those with prompts of a wave are collected instead of sent again.
        largest: the most prompts of a batch.
        notify: told of every batch.
    """

    def __init__(
        self,
        model: BatchModel,
        answers: AnswerCache,
        batches: BatchTable,
        largest: int,
        notify: Callable[[str], None] = lambda _text: None,
    ) -> None:
        super().__init__(model)
        self._model = model
        self._answers = answers
        self._batches = batches
        self._largest = largest
        self._notify = notify
        self._quiet = min(QUIET, PAUSE)
        self._arrived = 0.0
        self._waiting: dict[str, _WaitingPrompt] = {}
        self._followed: dict[str, dict[str, _WaitingPrompt]] = {}
        self._finished: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._collecting: asyncio.Task[None] | None = None
        self._fault: JudgeError | None = None

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the reply from the batch of the prompt's wave.

        Raises:
            WaveTooSmall: if fewer prompts wait than a batch is worth.
            PromptRejected, JudgeUnavailable: for this prompt.
            JudgeRefused, BatchCancelled, ProviderDown: these concern every prompt, also the next ones.
        """
        if self._fault:
            raise self._fault
        request = _WaitingPrompt(prompt, request_digest(self.identity, prompt))
        self._waiting[request.digest] = request
        self._arrived = asyncio.get_running_loop().time()
        if self._collecting is None or self._collecting.done():
            self._collecting = self._start(self._collect())
        return await request.reply

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _collect(self) -> None:
        while self._waiting:
            rest = self._quiet
            while rest > 0:
                await asyncio.sleep(rest)
                rest = self._arrived + self._quiet - asyncio.get_running_loop().time()
            waiting, self._waiting = self._waiting, {}
            wave = {key: request for key, request in waiting.items() if not request.reply.done()}
            try:
                await self._answer(wave)
            except Exception as error:
                self._fail(wave.values(), error)

    def _fail(self, requests: Iterable[_WaitingPrompt], error: Exception) -> None:
        for request in requests:
            self._settle(request, error)

    async def _answer(self, wave: dict[str, _WaitingPrompt]) -> None:
        """Collect the prompts that open batches hold, and send the others."""
        rest = dict(wave)
        for batch in await self._in_store(self._batches.open, digest(self.identity)):
            if batch.key in self._finished:
                continue
            own = {key: rest.pop(key) for key in batch.requests if key in rest}
            if batch.key in self._followed:
                self._followed[batch.key].update(own)
            elif own:
                self._start(self._follow(batch, own, resumed=True))
        for request in list(rest.values()):
            # Another batch may have brought its answer since it was looked up.
            if (answer := await self._in_store(self._answers.get, request.digest)) is not None:
                rest.pop(request.digest).settle(read_back(answer))
        if len(rest) < AT_LEAST:
            self._fail(rest.values(), WaveTooSmall())
            return
        async for requests, lines in self._files(rest.values()):
            await self._send(requests, lines)

    async def _files(
        self, requests: Iterable[_WaitingPrompt]
    ) -> AsyncGenerator[tuple[dict[str, _WaitingPrompt], bytes]]:
        part: dict[str, _WaitingPrompt] = {}
        lines = bytearray()
        for request in requests:
            # Without the prefix: providers take names of at most 64 characters.
            line = self._model.line(request.digest.removeprefix(PREFIX), request.prompt)
            if part and (len(part) == self._largest or len(lines) + len(line) > MOST_BYTES):
                yield part, bytes(lines)
                part, lines = {}, bytearray()
            part[request.digest] = request
            lines += line
            await asyncio.sleep(0)  # translating a request takes about a millisecond
        if part:
            yield part, bytes(lines)

    async def _send(self, requests: dict[str, _WaitingPrompt], lines: bytes) -> None:
        file_id = await self._persistently(lambda: self._model.upload(lines))
        batch = OpenBatch(
            key=secrets.token_hex(8),
            judge=digest(self.identity),
            model=self.name,
            api_base=self._model.api_base,
            file_id=file_id,
            batch_id=None,
            created=datetime.now(UTC).isoformat(timespec="microseconds"),
            requests=tuple(requests),
        )
        await self._in_store(self._batches.add, batch)
        self._start(self._follow(batch, requests, resumed=False))

    async def _follow(self, batch: OpenBatch, requests: dict[str, _WaitingPrompt], *, resumed: bool) -> None:
        self._followed[batch.key] = requests
        try:
            batch_id = await self._made(batch, resumed=resumed)
            status, cancelled = await self._ended(batch, batch_id, resumed=resumed)
            outcomes = await self._outcomes(batch, status)
        except JudgeRefused as error:
            await self._refused(batch, error)
        except Exception as error:
            self._fail(self._finish(batch).values(), error)
        except BaseException:
            del self._followed[batch.key]
            raise
        else:
            missing = JudgeUnavailable(f"batch {batch_id} has no answer to this prompt.")
            for key, request in self._finish(batch).items():
                outcome = outcomes.get(key, missing)
                if cancelled and isinstance(outcome, JudgeUnavailable):
                    outcome = cancelled
                self._settle(request, outcome)

    def _finish(self, batch: OpenBatch) -> dict[str, _WaitingPrompt]:
        self._finished.add(batch.key)
        return self._followed.pop(batch.key)

    async def _refused(self, batch: OpenBatch, error: JudgeRefused) -> None:
        """Give an error to those who wait, unless another process has fetched the answers and deleted the files."""
        requests = self._finish(batch)
        try:
            for request in requests.values():
                answer = await self._in_store(self._answers.get, request.digest)
                self._settle(request, error if answer is None else read_back(answer))
        except Exception as fault:
            self._fail(requests.values(), fault)

    def _settle(self, request: _WaitingPrompt, outcome: Reply | Exception) -> None:
        if isinstance(outcome, JudgeRefused | BatchCancelled | ProviderDown):
            self._fault = outcome
        request.settle(outcome)

    async def _made(self, batch: OpenBatch, *, resumed: bool) -> str:
        if batch.batch_id:
            self._notify(f"batch {batch.batch_id} is continued: {len(batch.requests):,} requests")
            return batch.batch_id
        # A request whose response was lost may have made the batch.
        look = resumed

        async def made() -> str:
            nonlocal look
            found = await self._model.find(batch.file_id, datetime.fromisoformat(batch.created)) if look else None
            look = True
            return found or await self._model.create(batch.file_id)

        try:
            batch_id = await self._persistently(made)
        except JudgeRefused:
            await self._in_store(self._batches.remove, batch.key)
            raise
        await self._in_store(self._batches.set_id, batch.key, batch_id)
        self._notify(f"batch {batch_id} is under way: {len(batch.requests):,} requests")
        return batch_id

    async def _ended(
        self, batch: OpenBatch, batch_id: str, *, resumed: bool
    ) -> tuple[BatchStatus, BatchCancelled | None]:
        """Return the status of a batch once it has ended, with an error if it was cancelled meanwhile.

        Raises:
            JudgeRefused, JudgeUnavailable: if the provider refuses the whole batch.
        """
        pause, checks, done = PAUSE, 0, -1
        while not (status := await self._persistently(lambda: self._model.status(batch_id))).ended:
            checks += 1
            if status.done != done:
                done = status.done
                _log.info("batch %s: %s, %d of %d requests done", batch_id, status.state, done, status.total)
            await asyncio.sleep(pause)
            pause = min(GROWTH * pause, LONGEST * PAUSE)
        _log.info("batch %s: %s, %d of %d requests done", batch_id, status.state, status.done, status.total)
        if status.state == "failed":
            await self._in_store(self._batches.remove, batch.key)
            raise _failed(status)
        if status.state == "cancelled" and (checks or not resumed):
            return status, _cancelled(status)
        return status, None

    async def _outcomes(self, batch: OpenBatch, status: BatchStatus) -> dict[str, Reply | Exception]:
        """Return what became of the requests of a batch, with all its answers cached and the batch removed."""
        names = {key.removeprefix(PREFIX): key for key in batch.requests}
        files = [await self._persistently(partial(self._model.content, file, len(names))) for file in status.files]
        outcomes: dict[str, Reply | Exception] = {}
        for name, answer in answers_in(files, names).items():
            key = names[name]
            request = self._followed.get(batch.key, {}).get(key)
            outcome = self._outcome(answer, request.prompt if request else None)
            if isinstance(outcome, Reply):
                await self._in_store(self._answers.put, key, written(outcome))
            if outcome is not None:
                outcomes[key] = outcome
        await self._in_store(self._batches.remove, batch.key)
        if len(outcomes) == len(names):
            # Not essential: the files take up space of the provider's storage.
            for file in (batch.file_id, *status.files):
                try:
                    await self._model.delete(file)
                except RubriclabError as error:
                    _log.info("the file %s could not be deleted: %s", file, error.message)
        return outcomes

    def _outcome(self, answer: BatchAnswer, prompt: Prompt[Any] | None) -> Reply | Exception | None:
        try:
            if answer.succeeded:
                return self._model.reply_in(answer.body, prompt)
        except JudgeError as error:
            return error
        if answer.status is None:
            unprocessed = JudgeUnavailable(f"{self.name}: the request was not processed: {answer.reason}")
            unprocessed.may_be_billed = False
            return unprocessed
        return self._model.error_in(answer.status, answer.body, prompt) if prompt else None

    async def _persistently(self, request: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a request about a batch, repeated while a retry can help."""
        pause = PAUSE
        for _ in range(FAILURES):
            try:
                return await request()
            except JudgeUnavailable as error:
                last = error
                wait = max(pause, min(error.retry_after or 0.0, PATIENCE))
                _log.info("%s; the next attempt follows in %.1f s", error.message, wait)
                await asyncio.sleep(wait)
                pause = min(GROWTH * pause, LONGEST * PAUSE)
        raise ProviderDown(
            f"{FAILURES} requests in a row failed; the last one: {last.message}",
            f"{RUN_AGAIN} later: batches that are under way are continued.",
        )

    async def _in_store(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return the result of a call of the store, made in a thread if it waits for a network."""
        if self._batches.remote:
            return await asyncio.to_thread(function, *arguments)
        return function(*arguments)


def _cancelled(status: BatchStatus) -> BatchCancelled:
    return BatchCancelled(
        f"Batch {status.batch_id} was cancelled; {status.done:,} of its {status.total:,} requests were answered.",
        f"{RUN_AGAIN} to send the others: answers so far are cached.",
    )


def _failed(status: BatchStatus) -> JudgeError:
    fault = f"batch {status.batch_id} failed: {status.fault or 'the provider does not say why.'}"
    if status.queue_full:
        error = JudgeUnavailable(fault, retry_after=QUEUE_PAUSE)
        error.may_be_billed = False
        return error
    return JudgeRefused(fault, f"If the file is too large, give a smaller {option('batch_size')}.")
