"""Texts scored on a Ray cluster: workers read a file by block and score its rows; the scores come back in order."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, chdir, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import rubriclab
from rubriclab.data import Rows
from rubriclab.data.blocks import check_blocks, file_blocks
from rubriclab.data.reading import ReadingOptions
from rubriclab.errors import JudgeError, RubriclabError, SettingsError, UserError
from rubriclab.judges.connect import makes_requests
from rubriclab.option_names import RUN_AGAIN, option
from rubriclab.rubric import Rubric
from rubriclab.scoring import Score
from rubriclab.services.cluster_worker import ClusterJob, budget_name, share_of
from rubriclab.services.inputs import Data, ReadRow
from rubriclab.services.judge_choice import JudgeChoice
from rubriclab.services.score_ray_worker import ChunkScorer, ChunkScores, RayJob, RunState, read_chunks
from rubriclab.services.worker_log import LogLevels, handle_sent
from rubriclab.services.workspace import Workspace
from rubriclab.store.engine import address, in_memory, is_remote, moved

# Chunks that a worker scores at a time, so that the last texts of one never leave requests idle, and that are sent to
# it, with those that wait.
CHUNKS_AT_A_TIME = 4
CHUNKS_SENT = 8
# Blocks of the file that one task reads, at least, and tasks at most: few enough that Ray can hold them all.
READING_TASKS = 4096
# Shares of a processor: most of a worker's time is spent waiting for the provider.
WORKER_CPUS = 0.9
READING_CPUS = 0.1


def check_ray(work: Workspace, data: Data, rows: Rows, cluster: str | None) -> Path:
    """Return the file that a cluster is to score.

    Raises:
        SettingsError: if the data cannot be read by block, or the store cannot be shared by the workers.
        UserError: if Ray is not installed.
    """
    if not isinstance(data, str | Path) or str(data) == "-":
        raise SettingsError("A cluster reads a file by block, and this is none;", "write the rows to a .parquet file.")
    check_blocks(Path(data), rows.source.encoding)
    if work.record:
        raise SettingsError(f"{option('record')} does not work with Ray;", "leave it out.")
    if work.options.batch:
        raise SettingsError(f"{option('batch')} does not work with Ray: one process collects a batch;", "leave it out.")
    if in_memory(address(work.location)):
        raise SettingsError("The store is in memory, where other processes cannot read it;", "use a file or a URL.")
    remote = cluster not in (None, "local") or (cluster is None and "RAY_ADDRESS" in os.environ)
    if remote and not is_remote(work.location):
        raise SettingsError(
            "The store is a file of this machine, which the machines of a cluster cannot share;",
            f"keep it on a PostgreSQL server: {option('store', 'postgresql://user@host/name')}.",
        )
    try:
        import ray.data  # noqa: F401
    except ImportError:
        raise UserError("Ray is not installed.", "Install it with: pip install 'rubriclab[ray]'") from None
    return Path(data).absolute()


async def score_on_ray(
    work: Workspace,
    rubric: Rubric,
    rows: Rows,
    choice: JudgeChoice,
    name: str,
    *,
    path: Path,
    reading: ReadingOptions,
    workers: int,
    cluster: str | None,
    ahead: deque[ReadRow],
) -> AsyncGenerator[Score]:
    """Yield one score a row, in order, and add each row to `ahead` before its score.

    A worker that is lost is replaced, and its rows are scored again from the answers in the store. If a row ends the
    run (a refused key, a cap reached), the chunks under way are waited for, so that answers already paid for are kept.

    Args:
        rows: the file's rows, of which none has been read; it takes the counts of what was left out.
        path: the file, which every machine can read.
        cluster: address of a running cluster; `None` for `RAY_ADDRESS`, or else workers on this machine.

    Raises:
        RubriclabError: as the judge does.
        JudgeError: if Ray fails.
    """
    rows.look_ahead(lambda _example: True, 1)  # whatever concerns the file as a whole is reported before Ray starts
    options = share_of(work.options, workers, limited=makes_requests(choice.spec))
    folder = Path.cwd()
    store = moved(str(work.location), folder) if work.location else str(address(None).database)
    job = ClusterJob(store, rubric, name, choice, options, run=secrets.token_hex(16))
    with _run(work, RayJob(job, reading, rows.where, folder, LogLevels.of_process()), path, workers, cluster) as run:
        while (chunk := await asyncio.to_thread(next, run.chunks, None)) is not None:
            _count(work, rows, chunk)
            for score, row, example in chunk.found:
                ahead.append(ReadRow(row, example))
                yield score
            if chunk.error:
                for late in await asyncio.to_thread(run.end):
                    _add(work, late)
                raise chunk.error


def _count(work: Workspace, rows: Rows, chunk: ChunkScores) -> None:
    rows.skipped += chunk.skipped
    rows.skipped_scores += chunk.skipped_scores
    rows.first_skipped = rows.first_skipped or chunk.first_skipped
    rows.comparisons += chunk.comparisons
    _add(work, chunk)


def _add(work: Workspace, chunk: ChunkScores) -> None:
    work.ledger.add(chunk.effort)
    for note in chunk.notes:
        work.notify(note)
    for record in chunk.records:
        handle_sent(record)


@dataclass(frozen=True)
class _RayRun:
    """A run on a cluster: its scored chunks, in order, and its state."""

    chunks: Iterator[ChunkScores]
    state: Any

    def end(self) -> list[ChunkScores]:
        """Let no further chunk begin, and return those that had begun, once they are scored."""
        import ray
        from ray.exceptions import RayError

        left: list[ChunkScores] = []
        with suppress(RubriclabError, RayError):  # the run has failed already
            ray.get(self.state.end.remote())
            left.extend(replace(chunk, found=()) for chunk in self.chunks)
        return left


@contextmanager
def _run(work: Workspace, job: RayJob, path: Path, workers: int, cluster: str | None) -> Iterator[_RayRun]:
    with ExitStack() as held:
        if work.options.max_calls is not None or work.options.max_cost is not None:
            # After the workers, which write to it, have ended.
            held.callback(work.store.shared_state(budget_name(job.job.run)).remove)
        held.enter_context(_cluster(cluster, workers))
        state = _run_state()
        yield _RayRun(_chunks(job, path, workers, state), state)


def _run_state() -> Any:
    """Return the state of a run that begins, as an actor beside this process: without it, the run ends anyway."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(num_cpus=0, scheduling_strategy=here)(RunState).remote()


@contextmanager
def _cluster(cluster: str | None, workers: int) -> Iterator[None]:
    """Connect to a cluster, or start one on this machine, unless the process has done so already."""
    # Ray would otherwise report its use to its makers, and print what its own recovery takes care of.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    import ray

    if ray.is_initialized():
        yield
        return
    local = cluster in (None, "local") and "RAY_ADDRESS" not in os.environ
    settings: dict[str, Any] = {"num_cpus": workers + 1, "include_dashboard": False} if local else {}
    try:
        # Ray puts the working folder, which may be somebody else's, first on the path of its workers.
        with chdir(Path(rubriclab.__file__).parents[1]):
            ray.init(address=cluster, log_to_driver=False, logging_level=logging.ERROR, **settings)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise JudgeError(
            f"The Ray cluster {cluster or os.environ.get('RAY_ADDRESS', 'on this machine')} cannot be used: "
            f"{' '.join(str(error).split())}",
            f"Check {option('address')}, or leave it out to start workers on this machine.",
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _chunks(job: RayJob, path: Path, workers: int, state: Any) -> Iterator[ChunkScores]:
    """Yield the scored chunks of a file, in order."""
    import ray.data
    from ray.data import ActorPoolStrategy, DataContext
    from ray.exceptions import RayError

    context = DataContext.get_current().copy()
    context.execution_options.preserve_order = True
    # Each chunk is a block of its own: it goes to whichever worker is free, and comes back as soon as it is scored.
    context.target_max_block_size = 1
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # its errors are raised too
    with DataContext.current(context):
        blocks = [{"block": pickle.dumps(block)} for block in file_blocks(path)]
        scored = (
            ray.data.from_items(blocks, override_num_blocks=min(len(blocks), READING_TASKS))
            .map_batches(
                read_chunks,
                batch_size=1,
                batch_format="pyarrow",
                fn_kwargs={"job": job, "state": state},
                num_cpus=READING_CPUS,
            )
            .map_batches(
                ChunkScorer,
                batch_size=1,
                batch_format="pyarrow",
                fn_constructor_kwargs={"job": job, "state": state},
                compute=ActorPoolStrategy(
                    size=workers,
                    max_tasks_in_flight_per_actor=CHUNKS_SENT,
                    max_concurrent_calls_per_actor=CHUNKS_AT_A_TIME,
                ),
                num_cpus=WORKER_CPUS,
            )
        )
    try:
        for row in scored.iter_rows():
            yield pickle.loads(row["scored"])
    except RayError as error:
        raise _ended(error) from error


def _ended(error: Exception) -> RubriclabError:
    """Return why Ray ended a run: an error of this package, or one of Ray."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, RubriclabError):
            return cause
        cause = getattr(cause, "cause", None) or cause.__cause__
    return JudgeError(
        f"Ray ended the run: {' '.join(str(error).split())[-1000:]}",
        f"{RUN_AGAIN}; cached answers are not requested again.",
    )
