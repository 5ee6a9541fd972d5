"""What a worker process that scores texts gets and gives, and its main function."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rubriclab.data.example import Example
from rubriclab.data.row import RowError
from rubriclab.judges.judge import Judge
from rubriclab.judges.ledger import Ledger
from rubriclab.judges.options import JudgeOptions
from rubriclab.option_names import flags_of_reader, reader_of_commands
from rubriclab.rubric import Rubric
from rubriclab.scoring import Score
from rubriclab.scoring.stream import score_row
from rubriclab.services.judge_choice import JudgeChoice
from rubriclab.services.running import closing_connections
from rubriclab.services.worker_log import LogLevels, SendingHandler
from rubriclab.services.workspace import Workspace
from rubriclab.tracing import trace_of
from rubriclab.workers.channel import Channel, Message
from rubriclab.workers.portable_errors import portable
from rubriclab.workers.process import end_soon, parent_channel
from rubriclab.workers.shared import (
    Requests,
    WorkerBreaker,
    WorkerBudget,
    WorkerLimits,
    WorkerObserver,
    WorkerRecorder,
)

Row = Example | RowError


@dataclass(frozen=True)
class ScoreJob:
    """What all texts are scored by, as a worker gets it first.

    Attributes:
        flags: how options are written in messages; see `flags_of_reader`.
        max_cost, counts_tokens: those of the parent's budget and limits.
        records, observes: whether the parent records the replies, and observes the requests.
        trace: the parent's span, as `Trace.carrier` has it; `None` for no spans.
    """

    rubric: Rubric
    name: str
    choice: JudgeChoice
    location: str | Path | None
    options: JudgeOptions
    max_cost: float | None
    counts_tokens: bool
    records: bool
    observes: bool
    trace: Mapping[str, str] | None
    levels: LogLevels
    flags: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """The scores of the rows of a chunk, in order, up to the first that ended the run by `error`, if any.

    Attributes:
        number: the chunk's.
        effort: what the worker asked since its last chunk.
    """

    number: int
    scores: tuple[Score, ...]
    error: Exception | None
    effort: Ledger


def job_of(work: Workspace, rubric: Rubric, name: str, choice: JudgeChoice, *, counts_tokens: bool) -> ScoreJob:
    """Return what workers need to score by a rubric as `work` would."""
    return ScoreJob(
        rubric,
        name,
        choice,
        work.location,
        work.options,
        work.budget.max_cost if work.budget else None,
        counts_tokens,
        work.record is not None,
        work.observer is not None,
        work.trace.carrier if work.trace else None,
        LogLevels.of_process(),
        flags_of_reader(),
    )


def main() -> None:
    """Score the chunks that the parent sends until it closes the channel."""
    channel = parent_channel()
    job: ScoreJob = channel.receive()[0]
    _log_to(channel, job.levels)
    flags = job.flags
    with nullcontext() if flags is None else reader_of_commands(lambda: flags):
        try:
            asyncio.run(closing_connections(_ChunkScorer(job, channel).run()))
        except Exception as error:
            channel.send("failed", portable(error))
    channel.close()
    channel.join()


class _ChunkScorer:
    """Scores chunks as they come; how many there are at a time is up to the parent."""

    def __init__(self, job: ScoreJob, channel: Channel) -> None:
        self._job = job
        self._channel = channel
        self._requests = Requests(channel.send)
        self._ended = asyncio.Event()
        self._scoring: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Score until the parent closes the channel, then drop what is under way."""
        job, send = self._job, self._channel.send
        self._workspace = Workspace(
            job.location,
            job.options,
            record=WorkerRecorder(send) if job.records else None,
            budget=WorkerBudget(job.max_cost, self._requests, send),
            limits=WorkerLimits(self._requests, send, counts_tokens=job.counts_tokens),
            breaker=WorkerBreaker(self._requests, send),
            observer=WorkerObserver(send) if job.observes else None,
            trace=trace_of(carrier=job.trace) if job.trace is not None else None,
        )
        with self._workspace:
            self._judge = self._workspace.judge(job.choice)
            self._channel.listen(self._handle, self._end)
            await self._ended.wait()
            for task in self._scoring:
                task.cancel()
            await asyncio.gather(*self._scoring, return_exceptions=True)

    def _end(self) -> None:
        end_soon()
        self._ended.set()

    def _handle(self, message: Message) -> None:
        match message:
            case ("score", number, rows):
                self._start(self._score(number, rows, self._judge))
            case ("granted", number, error):
                self._requests.settle(number, error)
            case _:
                raise ValueError(message)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._scoring.add(task)
        task.add_done_callback(self._scoring.discard)

    async def _score(self, number: int, rows: tuple[Row, ...], judge: Judge) -> None:
        job = self._job
        found = await asyncio.gather(
            *(score_row(job.rubric, row, judge, job.name) for row in rows), return_exceptions=True
        )
        scores: list[Score] = []
        error = None
        for each in found:
            if isinstance(each, Exception):
                error = portable(each)
                break
            if isinstance(each, BaseException):
                raise each
            scores.append(each)
        self._channel.send("scored", ScoredChunk(number, tuple(scores), error, self._workspace.ledger.take()))


def _log_to(channel: Channel, levels: LogLevels) -> None:
    root = logging.getLogger()
    root.addHandler(SendingHandler(partial(channel.send, "log")))
    root.setLevel(levels.root)
    logging.getLogger("rubriclab").setLevel(levels.package)
