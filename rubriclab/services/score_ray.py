"""Texts scored by workers of Ray: this process reads the rows and sends them in chunks; scores come back in order."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter, deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import chdir, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import rubriclab
from rubriclab.data import Example
from rubriclab.data.row import RowError
from rubriclab.errors import JudgeError, SettingsError, UserError
from rubriclab.judges.connect import makes_requests
from rubriclab.judges.options import JudgeOptions
from rubriclab.option_names import RUN_AGAIN, flags_of_reader, option
from rubriclab.rubric import Rubric
from rubriclab.scoring import Score
from rubriclab.services.judge_choice import JudgeChoice
from rubriclab.services.ray_worker import MOST_CALLS, RayJob, RayWorker, RowScores, RunState
from rubriclab.services.workspace import Workspace
from rubriclab.store.engine import address, in_memory, is_remote, moved

Row = Example | RowError

# Rows of a chunk, at most: enough that messages cost little, and few enough that the last chunks end together.
CHUNK = 16
# Chunks that a worker has, at least, so that it never waits for the next.
AHEAD = 2
# Chunks sent and not yet yielded, as a multiple of those that workers have: a slow text holds up its followers, but
# memory stays bounded.
WINDOW = 2
# How often a chunk is scored again whose worker was lost, in case that the chunk itself is the cause.
RETRIES = 3
# Seconds that workers have to keep replies that arrive soon after an interruption.
GRACE = 5.0


def check_workers(work: Workspace, workers: int, cluster: str | None) -> None:
    """Check that several processes can use the store, and that nothing is asked for that only one can do.

    Raises:
        SettingsError: otherwise.
    """
    several = option("ray_address", cluster) if cluster is not None else option("workers", str(workers))
    alone = {"record": work.record, "batch": work.options.batch}
    for name, given in alone.items():
        if given:
            raise SettingsError(f"{several}: {option(name)} works in one process only;", "leave one of them out.")
    if in_memory(address(work.location)):
        raise SettingsError(
            f"{several}: the store is in memory, where other processes cannot read it;",
            f"use a file, or leave {option('workers')} out.",
        )
    if cluster not in (None, "local") and not is_remote(work.location):
        raise SettingsError(
            "The store is a file of this machine, which the machines of a cluster cannot share;",
            f"keep it on a PostgreSQL server: {option('store', 'postgresql://user@host/name')}.",
        )


async def score_on_ray(
    work: Workspace,
    rubric: Rubric,
    rows: Iterable[Row],
    choice: JudgeChoice,
    name: str,
    *,
    workers: int,
    cluster: str | None,
) -> AsyncGenerator[Score]:
    """Yield one score a row, in order.

    A worker that is lost is replaced, and its rows are scored again from the answers in the store. If a row ends the
    run (a refused key, a cap reached), the chunks under way are waited for, so that answers already paid for are kept.

    Args:
        cluster: address of a running cluster; `None` for workers on this machine.

    Raises:
        RubriclabError: as the judge does.
        UserError: if Ray is not installed.
        JudgeError: if Ray fails.
    """
    # Not asked, but whatever is wrong with the judge or the store is reported as in one process.
    work.judge(choice)
    folder = Path.cwd()
    store = moved(str(work.location), folder) if work.location else str(address(None).database)
    options = _share_of(work.options, workers, limited=makes_requests(choice.spec))
    job = RayJob(store, rubric, name, choice, options, folder, flags_of_reader())
    with _cluster(cluster, workers):
        pool = _Pool(job, work.options, workers)
        size = max(1, min(CHUNK, work.under_way // (AHEAD * workers)))
        window = WINDOW * max(AHEAD * workers, work.under_way // size)
        chunks, pending, error = _chunks(rows, size), deque[asyncio.Task[RowScores]](), None
        try:
            while True:
                while error is None and len(pending) < window and (chunk := next(chunks, None)):
                    if isinstance(chunk, Exception):
                        error = chunk
                    else:
                        pending.append(asyncio.ensure_future(pool.scores(chunk)))
                if not pending:
                    break
                scored = await pending.popleft()
                work.ledger.add(scored.effort)
                for score in () if error else scored.scores:
                    yield score
                error = error or scored.error
        except BaseException:
            for task in pending:
                task.cancel()
            await pool.stop()
            raise
        if error:
            raise error


def _share_of(options: JudgeOptions, workers: int, *, limited: bool) -> JudgeOptions:
    """Return the options of one of several workers, which have the requests in flight together.

    Args:
        limited: whether the judge makes requests.
    """
    if limited and options.concurrency < workers:
        raise SettingsError(
            f"{option('concurrency', str(options.concurrency))} is less than {workers} workers, and each needs at "
            "least one request in flight;",
            f"raise it, or use fewer {option('workers')}.",
        )
    return options.model_copy(update={"concurrency": max(1, options.concurrency // workers)})


def _chunks(rows: Iterable[Row], size: int) -> Iterator[tuple[Row, ...] | Exception]:
    """Yield the rows in chunks, and at the end the error that ended reading, if any."""
    source = iter(rows)
    try:
        while chunk := tuple(islice(source, size)):
            yield chunk
    except Exception as error:
        yield error


class _Pool:
    """The workers of a run, and the actor beside this process that holds its state."""

    def __init__(self, job: RayJob, options: JudgeOptions, workers: int) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        shared = ray.remote(num_cpus=0, max_concurrency=MOST_CALLS, scheduling_strategy=here)(RunState)
        # Without it, the run ends anyway.
        self._state = shared.remote(options)
        scoring = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=RETRIES)(RayWorker)
        self._workers = [scoring.remote(job, self._state) for _ in range(workers)]
        self._under_way = Counter(dict.fromkeys(range(workers), 0))

    async def scores(self, chunk: tuple[Row, ...]) -> RowScores:
        """Return the scores of a chunk, computed by the worker with the fewest.

        Raises:
            JudgeError: if Ray fails.
        """
        from ray.exceptions import RayError, RayTaskError

        worker = min(self._under_way, key=self._under_way.__getitem__)
        self._under_way[worker] += 1
        try:
            scored: RowScores = await self._workers[worker].score.remote(chunk)
        except RayTaskError:
            raise  # a defect, with its traceback
        except RayError as error:
            raise JudgeError(
                f"Ray ended the run: {' '.join(str(error).split())[-1000:]}",
                f"{RUN_AGAIN}; cached answers are not requested again.",
            ) from error
        finally:
            self._under_way[worker] -= 1
        return scored

    async def stop(self) -> None:
        """Cancel what the workers do, and wait a moment for replies, which are kept."""
        stopping = (worker.stop.remote() for worker in self._workers)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*stopping, return_exceptions=True), GRACE)


@contextmanager
def _cluster(cluster: str | None, workers: int) -> Iterator[None]:
    """Connect to a cluster, or start one on this machine, unless the process has done so already."""
    # Ray would otherwise report its use to its makers, and print what its own recovery takes care of.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
    except ImportError:
        raise UserError("Ray is not installed.", "Install it with: pip install 'rubriclab[ray]'") from None
    if ray.is_initialized():
        yield
        return
    local = cluster in (None, "local")
    settings: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False} if local else {}
    try:
        # Ray puts the working folder, which may be somebody else's, first on the path of its workers.
        with chdir(Path(rubriclab.__file__).parents[1]):
            ray.init(address=cluster or "local", log_to_driver=False, logging_level=logging.ERROR, **settings)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise JudgeError(
            f"The Ray cluster {cluster or 'on this machine'} cannot be used: {' '.join(str(error).split())}",
            f"Check {option('ray_address')}, or leave it out to start workers on this machine.",
        ) from error
    try:
        yield
    finally:
        ray.shutdown()
