"""Texts scored by several processes: chunks of rows go out to workers, scores come back in the order of the rows.

The parent reads the rows and keeps what the workers share: budget, limits, breaker, recording, ledger, metrics
and log. Each worker opens
the store itself, so every answer is cached as soon as it arrives, and of two workers with the same question one asks.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from rubriclab.errors import RubriclabError, SettingsError, WorkerLost
from rubriclab.judges.connect import local_breaker, local_limits
from rubriclab.judges.limits import Limits
from rubriclab.judges.recording import RecordingFile
from rubriclab.option_names import RUN_AGAIN, option
from rubriclab.rubric import Rubric
from rubriclab.scoring import Score
from rubriclab.services.judge_choice import JudgeChoice
from rubriclab.services.score_job import Row, ScoredChunk, ScoreJob, job_of
from rubriclab.services.worker_log import handle_sent
from rubriclab.services.workspace import Workspace
from rubriclab.store.engine import address, in_memory
from rubriclab.workers.channel import Message
from rubriclab.workers.process import GRACE, WorkerProcess
from rubriclab.workers.shared import Shared

# Rows of a chunk, at most: enough that messages cost little, and few enough that the last chunks end together.
CHUNK = 16
# Chunks that are sent to a worker ahead of what it has finished, at least, so that it never waits for the next.
AHEAD = 2
# Chunks sent or finished and not yet yielded, as a multiple of those that workers hold: a slow text holds up its
# followers, but memory stays bounded.
WINDOW = 2
# Seconds that workers may take to end when the run has failed or was interrupted: nothing they do is needed then.
SHORT_GRACE = 2.0


@dataclass(eq=False)
class _Chunk:
    """Rows that one worker scores.

    Attributes:
        scores: in the order of the rows, once it is `over`; up to the row that ended the run by `error`, if any.
    """

    number: int
    scores: tuple[Score, ...] = ()
    error: Exception | None = None
    over: bool = False


def check_workers(work: Workspace, workers: int) -> None:
    """Check that several processes can use the store, and are of use.

    Raises:
        SettingsError: if it is in memory, or prompts are sent as batches, which one process collects.
    """
    if workers > 1 and work.options.batch:
        raise SettingsError(
            f"{option('workers', str(workers))}: with {option('batch')} one process collects the prompts of all texts;",
            f"leave {option('workers')} out.",
        )
    if workers > 1 and in_memory(address(work.location)):
        raise SettingsError(
            f"{option('workers', str(workers))}: the store is in memory, where other processes cannot read it;",
            f"use a file, or leave {option('workers')} out.",
        )


async def score_by_workers(
    work: Workspace, rubric: Rubric, rows: Iterable[Row], choice: JudgeChoice, name: str, *, workers: int
) -> AsyncGenerator[Score]:
    """Yield one score a row, in order, computed by up to `workers` processes; see `score_stream`.

    If one row ends the run, the others under way are waited for, so that answers already paid for are kept. If a worker
    is lost, only the requests in flight are.

    Raises:
        WorkerLost: if a worker ends early.
        SettingsError: if something cannot be sent to another process.
        RubriclabError: as the judge does.
    """
    if isinstance(work.record, Path):
        work.record = RecordingFile(work.record)
    # Not asked, but whatever is wrong with the judge or the store is reported as in one process.
    work.judge(choice)
    limits = work.limits or local_limits(work.options)
    job = job_of(work, rubric, name, choice, counts_tokens=limits.counts_tokens)
    try:
        pickle.dumps(job)
    except Exception as error:
        raise _not_portable("the rubric or its judge", error) from error
    pool = _Pool(work, job, limits, workers)
    try:
        async for score in pool.scores(iter(rows)):
            yield score
    finally:
        await pool.close()


def _not_portable(what: str, error: Exception) -> SettingsError:
    return SettingsError(
        f"{option('workers')}: {what} cannot be sent to another process ({type(error).__name__}: {error}).",
        f"Leave {option('workers')} out.",
    )


class _Pool:
    """The workers of one stream. They are started as they are needed."""

    def __init__(self, work: Workspace, job: ScoreJob, limits: Limits, workers: int) -> None:
        self._work = work
        self._job = job
        self._limits = limits
        self._breaker = local_breaker(work.options)
        self._most = workers
        under_way = -(-work.under_way // workers)
        self._rows = max(1, min(CHUNK, under_way // AHEAD))
        self._ahead = max(AHEAD, under_way // self._rows)
        self._workers: list[_Worker] = []
        self._pending: deque[_Chunk] = deque()
        self._numbers = count()
        self._changed = asyncio.Event()
        self._failure: Exception | None = None
        self._losses: list[asyncio.Task[None]] = []
        self._stopping = False
        self._grace = SHORT_GRACE

    async def scores(self, rows: Iterator[Row]) -> AsyncGenerator[Score]:
        """Yield the scores in order."""
        while True:
            self._send_chunks(rows)
            while self._pending and self._pending[0].over:
                chunk = self._pending.popleft()
                for score in chunk.scores:
                    yield score
                if chunk.error:
                    await self._until(lambda: self._stopping or not any(worker.chunks for worker in self._workers))
                    await self._answered()
                    raise chunk.error
                self._send_chunks(rows)
            if self._failure:
                await self._answered()
                raise self._failure
            if not self._pending and not self._stopping:
                self._grace = GRACE
                return
            self._changed.clear()
            await self._changed.wait()

    async def close(self) -> None:
        """End the workers; what they hold is given back."""
        for worker in self._workers:
            worker.ending = True
            worker.process.channel.close()
        ended = (asyncio.to_thread(worker.process.end, self._grace) for worker in self._workers)
        await asyncio.gather(*ended, *self._losses)
        # What the channels have delivered last.
        await asyncio.sleep(0)
        for worker in self._workers:
            worker.shared.close()

    def _send_chunks(self, rows: Iterator[Row]) -> None:
        """Send rows while workers have room for them, unless the run is ending."""
        while not self._ending and len(self._pending) < WINDOW * self._most * self._ahead and self._has_room:
            sent = tuple(islice(rows, self._rows))
            if not sent:
                return
            worker, chunk = self._free(), _Chunk(next(self._numbers))
            try:
                worker.process.channel.send("score", chunk.number, sent)
            except Exception as error:
                self.failed(_not_portable("a text", error))
                return
            worker.chunks[chunk.number] = chunk
            self._pending.append(chunk)

    @property
    def _ending(self) -> bool:
        return self._stopping or any(chunk.error for chunk in self._pending)

    @property
    def _has_room(self) -> bool:
        return len(self._workers) < self._most or any(len(each.chunks) < self._ahead for each in self._workers)

    def _free(self) -> _Worker:
        """Return the worker with the fewest chunks; a new one rather than one that is busy."""
        idle = any(not worker.chunks for worker in self._workers)
        if not idle and len(self._workers) < self._most:
            self._workers.append(_Worker(self, self._job))
        return min(self._workers, key=lambda worker: len(worker.chunks))

    async def _answered(self) -> None:
        """Wait until no worker has a request in flight."""
        await self._until(lambda: not any(worker.shared.in_flight for worker in self._workers))

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds. It is checked after every message of a worker."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    def shared_by(self, process: WorkerProcess) -> Shared:
        """Return what a new worker shares with the others."""
        budget, recorder = self._work.budget, self._work.record
        assert budget is not None
        assert not isinstance(recorder, Path)
        return Shared(
            process.channel.send,
            budget=budget,
            limits=self._limits,
            breaker=self._breaker,
            recorder=recorder,
            observer=self._work.observer,
        )

    def scored(self, worker: _Worker, scored: ScoredChunk) -> None:
        """Take the scores of a chunk."""
        self._work.ledger.add(scored.effort)
        chunk = worker.chunks.pop(scored.number)
        chunk.scores, chunk.error, chunk.over = scored.scores, scored.error, True

    def failed(self, error: Exception) -> None:
        """Take an error that ends the run as soon as the requests in flight, which are paid for, have been answered."""
        self._failure = self._failure or error
        self._stop()

    def lost(self, worker: _Worker) -> None:
        """Give up the chunks of a worker that has ended; its answers are cached."""
        if not worker.ending and not self._failure:
            self._stop()
            self._losses.append(asyncio.ensure_future(self._fail_with(worker)))
        worker.chunks.clear()
        worker.shared.close()
        self.changed()

    def changed(self) -> None:
        """Check again what is waited for."""
        self._changed.set()

    def _stop(self) -> None:
        """Send no more rows, and allow no more requests."""
        self._stopping = True
        for worker in self._workers:
            worker.shared.stop()
        self.changed()

    async def _fail_with(self, worker: _Worker) -> None:
        # A worker that has closed its pipe may wait for the end of the other one.
        worker.process.channel.close()
        ending = await asyncio.to_thread(worker.process.ending)
        self.failed(
            WorkerLost(
                f"The worker process {worker.process.pid} ended early: {ending}.",
                f"{RUN_AGAIN}: answers so far are cached and not requested again. If the memory was short, use a "
                f"smaller number of {option('workers')}.",
            )
        )


class _Worker:
    """A worker process as its parent sees it.

    Attributes:
        chunks: those that it has not finished, by number.
        ending: whether it is to end.
    """

    def __init__(self, pool: _Pool, job: ScoreJob) -> None:
        self.process = WorkerProcess("rubriclab.services.score_job")
        self.chunks: dict[int, _Chunk] = {}
        self.ending = False
        self.shared = pool.shared_by(self.process)
        self._pool = pool
        self.process.channel.listen(self._handle, lambda: pool.lost(self))
        self.process.channel.send(job)

    def _handle(self, message: Message) -> None:
        match message:
            case ("scored", scored):
                self._pool.scored(self, scored)
            case ("failed", error):
                self._pool.failed(error)
            case ("log", record):
                handle_sent(record)
            case _:
                try:
                    self.shared.handle(message)
                except RubriclabError as error:
                    self._pool.failed(error)
        self._pool.changed()
