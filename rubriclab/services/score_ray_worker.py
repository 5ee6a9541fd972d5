"""What the processes of a Ray cluster do for a run of scoring: some read blocks of the file, workers score the rows."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from rubriclab.data import Example, Rows
from rubriclab.data.blocks import FileBlock, block_rows
from rubriclab.data.comparisons import Comparison
from rubriclab.data.readers import parsed_row
from rubriclab.data.reading import ReadingOptions, SourceFormat
from rubriclab.data.row import RowError
from rubriclab.errors import RubriclabError
from rubriclab.judges.ledger import Ledger
from rubriclab.scoring import Score
from rubriclab.services.cluster_worker import ClusterJob, ClusterWorker
from rubriclab.services.worker_log import LogLevels, SendingHandler

T = TypeVar("T")

# Rows that are read, sent and scored together.
CHUNK = 64


@dataclass(frozen=True)
class RayJob:
    """A job, how rows are read, and the working folder, where workers find a recording if they are on this machine."""

    job: ClusterJob
    reading: ReadingOptions
    where: str
    folder: Path
    levels: LogLevels


@dataclass(frozen=True)
class Chunk:
    """Rows with their lines, or the error that ended reading."""

    rows: tuple[tuple[int, Any], ...] = ()
    error: Exception | None = None


@dataclass(frozen=True)
class ChunkScores:
    """The scores of a chunk, each with its row, up to the row that ended the run by `error`, if any.

    Attributes:
        skipped, skipped_scores, first_skipped, comparisons: as in `Rows`.
        effort, notes, records: what the worker asked, noted and logged since its last chunk.
    """

    found: tuple[tuple[Score, Any, Example | None], ...] = ()
    skipped: int = 0
    skipped_scores: int = 0
    first_skipped: RowError | None = None
    comparisons: tuple[tuple[int, Comparison], ...] = ()
    effort: Ledger = field(default_factory=Ledger)
    notes: tuple[str, ...] = ()
    records: tuple[logging.LogRecord, ...] = ()
    error: Exception | None = None


class RunState:
    """Whether a run is ending; an actor, which readers and workers ask before each chunk."""

    def __init__(self) -> None:
        self._is_ending = False

    def end(self) -> None:
        """Let no further chunk begin."""
        self._is_ending = True

    def is_ending(self) -> bool:
        """Return whether no further chunk may begin."""
        return self._is_ending


def read_chunks(batch: Any, job: RayJob, state: Any) -> Iterator[Any]:
    """Yield the rows of blocks as chunks, until the run ends."""
    import ray

    for content in batch["block"].to_pylist():
        block: FileBlock = pickle.loads(content)
        rows = block_rows(block, job.where, job.reading.longest)
        try:
            while not ray.get(state.is_ending.remote()) and (chunk := tuple(islice(rows, CHUNK))):
                yield _cell("chunk", Chunk(chunk))
        except RubriclabError as error:
            yield _cell("chunk", Chunk(error=error))


def _cell(name: str, content: Any) -> Any:
    import pyarrow

    return pyarrow.table({name: pyarrow.array([pickle.dumps(content)], pyarrow.large_binary())})


class ChunkScorer:
    """Scores chunks in a worker of the cluster."""

    def __init__(self, job: RayJob, state: Any) -> None:
        self._reading = job.reading
        self._where = job.where
        self._state = state
        self._notes: list[str] = []
        self._records: list[logging.LogRecord] = []
        logger = logging.getLogger("rubriclab")
        logger.addHandler(SendingHandler(self._records.append))
        logger.setLevel(job.levels.package)
        if job.folder.is_dir():
            os.chdir(job.folder)
        self._worker = ClusterWorker(job.job, self._notes.append)

    async def __call__(self, batch: Any) -> Any:
        """Return the scores of the chunk in `batch`; none if the run is ending."""
        if await self._state.is_ending.remote():
            return _cell("scored", ChunkScores())
        chunk: Chunk = pickle.loads(batch["chunk"][0].as_py())
        rows = self._rows(chunk)
        read: list[tuple[Any, Example | None]] = []
        scores, error = await self._worker.scores(_remembered(rows, read))
        scored = ChunkScores(
            tuple((score, row, example) for score, (row, example) in zip(scores, read, strict=False)),
            rows.skipped,
            rows.skipped_scores,
            rows.first_skipped,
            tuple(rows.comparisons),
            self._worker.workspace.ledger.take(),
            _taken(self._notes),
            _taken(self._records),
            error or chunk.error,
        )
        return _cell("scored", scored)

    def _rows(self, chunk: Chunk) -> Rows:
        mapping, rules = self._reading.mapping, self._reading.rules(typed=True)
        parsed = ((line, row, parsed_row(row, self._where, line, mapping, rules)) for line, row in chunk.rows)
        source = SourceFormat(self._where, "rows")
        return Rows(source, parsed, skip_faulty=self._reading.skip_faulty, mapping=mapping)


def _taken(waiting: list[T]) -> tuple[T, ...]:
    """Return what waits in a list, to which other threads may add, and remove it from there."""
    taken = tuple(waiting)
    del waiting[: len(taken)]
    return taken


def _remembered(rows: Rows, read: list[tuple[Any, Example | None]]) -> Iterator[Example | RowError]:
    for row in rows:
        read.append((rows.row, row if isinstance(row, Example) else None))
        yield row
