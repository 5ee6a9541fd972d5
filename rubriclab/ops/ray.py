"""Scoring by the processes of a Ray cluster, on this machine or on several.

`score_on_ray` divides the rows into chunks and gives them to workers. A worker (`RayWorker`) is a process that opens
the store and scores chunks as its `RayJob` says. All workers of a run share a budget (the caps on calls and cost) and
rates (requests and tokens per minute). One more process, the actor, holds these as its `RunState`; the `SharedState` of
a worker asks the actor before each request and tells it what the request used.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import ExitStack, chdir, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rubriclab.data.rows import RowError
from rubriclab.errors import BudgetReached, JudgeError, RubriclabError, SettingsError, UserError
from rubriclab.judges.connect import makes_requests
from rubriclab.judges.judge import Judge, Ledger
from rubriclab.judges.limits import LocalBudget, LocalLimits
from rubriclab.judges.options import JudgeOptions
from rubriclab.learning.scoring import Score, score_stream
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Example
from rubriclab.ops.options import ScoreOptions
from rubriclab.ops.workspace import JudgeChoice, Workspace
from rubriclab.running import end_other_tasks
from rubriclab.store.tables import database_url, is_remote, resolve_store, sqlite_file

Row = Example | RowError
ACTOR_CONCURRENCY = 1_000_000  # calls of the actor's methods that may be waiting at the same time
LOST_SECONDS = 30.0  # a worker without a heartbeat for this long counts as lost
HEARTBEAT_SECONDS = 5.0  # between two heartbeats of a worker with requests in flight
MAX_CHUNK_ROWS = 16  # enough that messages cost little, and few enough that all workers end together
MIN_CHUNKS_PER_WORKER = 2  # under way at the same time, so that a worker never waits for the next chunk
MAX_PENDING_FACTOR = 2  # memory holds at most this many times the chunks that the workers have under way
MAX_RETRIES = 3  # of a chunk whose worker was lost, since the chunk itself may be the cause
GRACE_SECONDS = 5.0  # for which workers still receive and store replies after an interruption


@dataclass(frozen=True)
class RayJob:
    store: str  # path or URL
    rubric: Rubric
    name: str  # the rubric's name in its scores
    choice: JudgeChoice
    options: JudgeOptions  # of one worker; caps and rates are for all workers together
    folder: Path | None = None  # where workers on this machine find a recording


@dataclass(frozen=True)
class RowScores:
    scores: tuple[Score, ...]
    error: RubriclabError | None
    ledger: Ledger  # the worker's requests since it last returned scores


class RunState:
    """The budget and the rates of a run, in the actor.

    Requests in flight of a lost worker count as spent, since the provider may bill them. If the worker returns, they
    are not counted again.
    """

    def __init__(self, options: JudgeOptions) -> None:
        self._budget = LocalBudget()
        self._reserved: dict[str, list[float]] = {}  # by worker: the US dollars of each request in flight
        self._last_seen: dict[str, float] = {}  # by worker
        self._rates: tuple[float | None, float | None] | None = None
        self.configure(options)

    def configure(self, options: JudgeOptions) -> None:
        """Replace the caps and rates; calls and costs so far still count."""
        self._budget.max_calls, self._budget.max_cost = options.max_calls, options.max_cost
        rates = (options.requests_per_minute, options.tokens_per_minute)
        if self._rates != rates:
            self._rates = rates
            requests, tokens = rates
            # Each worker limits its own requests in flight.
            self._limits = LocalLimits(concurrency=sys.maxsize, requests_per_minute=requests, tokens_per_minute=tokens)

    async def reserve(self, worker: str, cost: float) -> BudgetReached | bool:
        """Reserve one call and `cost` US dollars, or return the error that a cap is reached; see `Budget`.

        `False` means that the answer depends on requests in flight, and the worker has to ask again.
        """
        self.heartbeat(worker)
        for name, last_seen in list(self._last_seen.items()):
            if time.monotonic() - last_seen > LOST_SECONDS:
                del self._last_seen[name]
                for reserved in self._reserved.pop(name, ()):
                    self._budget.settle(reserved, reserved)
        try:
            await asyncio.wait_for(self._budget.reserve(cost), HEARTBEAT_SECONDS)
        except TimeoutError:
            return False
        except BudgetReached as error:
            return error
        self._reserved.setdefault(worker, []).append(cost)
        return True

    def settle(self, worker: str, reserved: float, cost: float | None) -> None:
        if reserved in self._reserved.get(worker, ()):
            self._reserved[worker].remove(reserved)
            self._budget.settle(reserved, cost)

    def heartbeat(self, worker: str) -> None:
        self._last_seen[worker] = time.monotonic()

    async def acquire(self, tokens: int) -> None:
        await self._limits.acquire(tokens)

    def release(self, expected_tokens: int, used_tokens: int | None, pause_seconds: float) -> None:
        self._limits.release(expected_tokens, used_tokens, pause_seconds)


class SharedState:
    """The `Budget` and the `Limits` of a worker. `state` is the actor, which has the methods of `RunState`."""

    def __init__(self, state: Any, options: JudgeOptions) -> None:
        self.max_cost = options.max_cost
        self.counts_tokens = options.tokens_per_minute is not None
        self._state = state
        self._is_capped = options.max_calls is not None or options.max_cost is not None
        self._has_rates = self.counts_tokens or options.requests_per_minute is not None
        self._local = LocalLimits(concurrency=options.concurrency)
        self._worker = secrets.token_hex(16)
        self._in_flight = 0
        self._heartbeat_task: asyncio.Task[None] | None = None

    async def reserve(self, cost: float) -> None:
        if not self._is_capped:
            return
        reservation = asyncio.ensure_future(self._reserve(cost))
        try:
            error = await asyncio.shield(reservation)
        except asyncio.CancelledError:
            # A reservation that is granted after the cancellation is given back.
            def give_back(ended: asyncio.Future[BudgetReached | None]) -> None:
                if not (ended.cancelled() or ended.exception() or ended.result()):
                    self.settle(cost, None)  # not billed

            reservation.add_done_callback(give_back)
            raise
        if error:
            raise error

    def settle(self, reserved: float, cost: float | None) -> None:
        if self._is_capped:
            self._in_flight -= 1
            self._state.settle.remote(self._worker, reserved, cost)

    async def acquire(self, tokens: int) -> None:
        await self._local.acquire(tokens)
        try:
            if self._has_rates:
                await self._state.acquire.remote(tokens)
        except BaseException:
            self._local.release(tokens, None, 0.0)
            raise

    def release(self, expected_tokens: int, used_tokens: int | None, pause_seconds: float) -> None:
        self._local.release(expected_tokens, used_tokens, pause_seconds)
        if self._has_rates:
            self._state.release.remote(expected_tokens, used_tokens, pause_seconds)

    async def _reserve(self, cost: float) -> BudgetReached | None:
        """Return `None` once the reservation is granted, or the error that a cap is reached."""
        answer: BudgetReached | bool = False
        while not answer:
            answer = await self._state.reserve.remote(self._worker, cost)
        if isinstance(answer, BudgetReached):
            return answer
        self._in_flight += 1
        if self._heartbeat_task is None:
            self._heartbeat_task = asyncio.create_task(self._send_heartbeats())
        return None

    async def _send_heartbeats(self) -> None:
        while self._in_flight:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            self._state.heartbeat.remote(self._worker)
        self._heartbeat_task = None


class RayWorker:
    """Scores texts as its job says. `state` is the actor; `None` if the workers share no budget and no rates."""

    def __init__(self, job: RayJob, state: Any) -> None:
        self._job = job
        self._state = state
        self._resources = ExitStack()
        self._opened: tuple[Workspace, Judge] | None = None

    async def score(self, rows: Iterable[Row]) -> RowScores:
        """Return the score of each row, in order; if an error ends the run, the scores before it and the error."""
        job = self._job
        try:
            if self._opened is None:  # not done in the constructor, since Ray would wrap its errors
                if job.folder and job.folder.is_dir():
                    os.chdir(job.folder)
                shared = SharedState(self._state, job.options) if self._state else None
                workspace = Workspace(job.store, job.options, budget=shared, limits=shared)
                self._opened = self._resources.enter_context(workspace), workspace.judge(job.choice)
            workspace, judge = self._opened
        except RubriclabError as error:
            return RowScores((), error, Ledger())
        scores = list[Score]()
        fatal_error: RubriclabError | None = None
        try:
            async for score in score_stream(job.rubric, rows, judge, job.name, workspace.texts_at_once):
                scores.append(score)
        except RubriclabError as error:
            fatal_error = error
        return RowScores(tuple(scores), fatal_error, workspace.ledger.take())

    async def stop(self) -> None:
        await end_other_tasks()


def check_workers(workspace: Workspace, workers: int, ray_address: str | None) -> None:
    """Raise SettingsError for options and stores that only one process can use."""
    option = f"`workers={workers}`" if ray_address is None else f"`ray_address={ray_address}`"
    for name, value in {"record": workspace.record, "batch": workspace.options.batch}.items():
        if value:
            raise SettingsError(f"{option}: `{name}` works in one process only;", f"leave {option} or `{name}` out.")
    if not is_remote(workspace.location) and sqlite_file(database_url(workspace.location)) is None:
        problem = "the store is in memory, where other processes cannot read it;"
        raise SettingsError(f"{option}: {problem}", "use a file, or leave `workers` out.")
    if ray_address not in (None, "local") and not is_remote(workspace.location):
        hint = "keep it on a PostgreSQL server: `store=postgresql://user@host/name`."
        raise SettingsError("The store is a file of this machine, which the machines of a cluster cannot share;", hint)


async def score_on_ray(
    workspace: Workspace, rubric: Rubric, rows: Iterable[Row], choice: JudgeChoice, name: str, *, options: ScoreOptions
) -> AsyncGenerator[Score]:
    """Yield a score for each row, in order. The workers run on the cluster at `ray_address`, or else on this machine.

    A worker that is lost is replaced, and its rows are scored again; answers in the store are reused. If an error ends
    the run (a refused key, a cap reached), the chunks under way are finished, so that answers paid for are kept.
    """
    # This judge is not used. Making it raises the errors of the judge or the store before any worker starts.
    workspace.judge(choice)
    folder, workers = Path.cwd(), options.workers
    default_store = str(database_url(None).database)
    store = resolve_store(str(workspace.location), folder) if workspace.location else default_store
    concurrency, texts_at_once = workspace.options.concurrency, workspace.texts_at_once
    if makes_requests(choice.spec) and concurrency < workers:
        problem = f"`concurrency={concurrency}` is less than {workers} workers, and each needs a request in flight;"
        raise SettingsError(problem, "raise it, or use fewer `workers`.")
    # The workers divide the allowed requests in flight among them.
    worker_options = workspace.options.model_copy(update={"concurrency": max(1, concurrency // workers)})
    job = RayJob(store, rubric, name, choice, worker_options, folder)
    with _connected_cluster(options.ray_address, workers):
        pool = _Pool(job, workspace.options, workers)
        min_chunks = MIN_CHUNKS_PER_WORKER * workers
        chunk_rows = max(1, min(MAX_CHUNK_ROWS, texts_at_once // min_chunks))
        max_pending = MAX_PENDING_FACTOR * max(min_chunks, texts_at_once // chunk_rows)
        remaining_rows, pending = iter(rows), deque[asyncio.Task[RowScores]]()
        error: Exception | None = None
        try:
            while True:
                while error is None and len(pending) < max_pending:
                    try:
                        chunk = tuple(islice(remaining_rows, chunk_rows))
                    except Exception as reading_error:
                        error, chunk = reading_error, ()
                    if not chunk:
                        break
                    pending.append(asyncio.ensure_future(pool.score(chunk)))
                if not pending:
                    break
                scored = await pending.popleft()
                workspace.ledger.add(scored.ledger)
                if error is None:
                    for score in scored.scores:
                        yield score
                    error = scored.error
        except BaseException:
            for task in pending:
                task.cancel()
            await pool.stop()
            raise
        if error:
            raise error


class _Pool:
    """The workers of a run, and their actor, which is on the machine of this process."""

    def __init__(self, job: RayJob, options: JudgeOptions, workers: int) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        on_this_machine = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        make_actor = ray.remote(num_cpus=0, max_concurrency=ACTOR_CONCURRENCY, scheduling_strategy=on_this_machine)
        # The actor is not restarted: without its machine, the run ends anyway.
        self._state = make_actor(RunState).remote(options)
        worker_class = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=MAX_RETRIES)(RayWorker)
        self._workers = [worker_class.remote(job, self._state) for _ in range(workers)]
        self._chunks_under_way = [0] * workers

    async def score(self, chunk: tuple[Row, ...]) -> RowScores:
        from ray.exceptions import RayError, RayTaskError

        least_busy = self._chunks_under_way.index(min(self._chunks_under_way))
        self._chunks_under_way[least_busy] += 1
        try:
            scored: RowScores = await self._workers[least_busy].score.remote(chunk)
        except RayTaskError:
            raise  # a defect, with its traceback
        except RayError as error:
            hint = "Run it again; cached answers are not requested again."
            raise JudgeError(f"Ray ended the run: {' '.join(str(error).split())[-1000:]}", hint) from error
        finally:
            self._chunks_under_way[least_busy] -= 1
        return scored

    async def stop(self) -> None:
        stops = (worker.stop.remote() for worker in self._workers)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*stops, return_exceptions=True), GRACE_SECONDS)


@contextmanager
def _connected_cluster(ray_address: str | None, workers: int) -> Iterator[None]:
    """Connect to a cluster, or start one on this machine, unless the process has done so already."""
    # Without these variables, Ray reports its use to its developers, and prints errors that it recovers from.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
    except ImportError:
        raise UserError("Ray is not installed.", "Install it with: pip install 'rubriclab[ray]'") from None
    if ray.is_initialized():
        yield
        return
    is_local = ray_address in (None, "local")
    settings: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False} if is_local else {}
    earlier_handler = signal.getsignal(signal.SIGTERM)
    try:
        # Ray puts the working folder, which may hold foreign modules, first on the path of its workers.
        with chdir(Path(__file__).parents[2]):
            ray.init(address=ray_address or "local", log_to_driver=False, logging_level=logging.ERROR, **settings)
    except (ConnectionError, ValueError, RuntimeError) as error:
        hint = "Check `ray_address`, or leave it out to start workers on this machine."
        problem = f"The Ray cluster {ray_address or 'on this machine'} cannot be used: {' '.join(str(error).split())}"
        raise JudgeError(problem, hint) from error
    if earlier_handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, earlier_handler)  # Ray's own handler loses replies under way
    try:
        yield
    finally:
        ray.shutdown()
