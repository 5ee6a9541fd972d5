"""Scoring with Ray as far as it needs no Ray; `tests/integrations/test_ray_scoring.py` runs workers."""

from __future__ import annotations

import asyncio
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rubriclab
from rubriclab.errors import BudgetReached, RubriclabError, SettingsError
from rubriclab.judges.options import JudgeOptions
from rubriclab.ops import ray as ray_worker
from rubriclab.ops.ray import RunState, SharedState, _connected_cluster, check_workers
from rubriclab.ops.workspace import Workspace


class Handle:
    """An actor in this process: calls of its methods are tasks, whose arguments and results are pickled."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self.tasks = list[asyncio.Task[Any]]()

    def __getattr__(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda *arguments: self._call(getattr(self._actor, name), arguments))

    def _call(self, method: Callable[..., Any], arguments: tuple[Any, ...]) -> asyncio.Future[Any]:
        async def run() -> Any:
            result = method(*pickle.loads(pickle.dumps(arguments)))
            return pickle.loads(pickle.dumps(await result if asyncio.iscoroutine(result) else result))

        self.tasks.append(asyncio.ensure_future(run()))
        # Cancelling whoever waits for an actor does not cancel the actor's work.
        return asyncio.shield(self.tasks[-1])


def workers(number: int, **options: Any) -> list[SharedState]:
    chosen = JudgeOptions(**options)
    handle = Handle(RunState(chosen))
    return [SharedState(handle, chosen) for _ in range(number)]


@pytest.mark.parametrize(("caps", "made"), [({"max_calls": 50}, 50), ({"max_cost": 1.0}, 33)])
async def test_workers_together_make_as_many_calls_as_allowed(caps: dict[str, Any], made: int) -> None:
    sharing = workers(3, **caps)

    async def call(number: int) -> None:
        budget = sharing[number % 3]
        for cost in (None, 0.03):  # the first is not billed
            await budget.reserve(0.03)
            await asyncio.sleep(0.001)
            budget.settle(0.03, cost)

    done = await asyncio.wait_for(asyncio.gather(*map(call, range(120)), return_exceptions=True), 30)
    assert done.count(None) == made
    assert sum(isinstance(error, BudgetReached) for error in done) == 120 - made


async def test_a_reservation_that_is_granted_after_it_was_cancelled_is_given_back() -> None:
    first, second = workers(2, max_calls=1)
    await first.reserve(0.0)
    waiting = asyncio.ensure_future(second.reserve(0.0))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.sleep(0.01)
    first.settle(0.0, None)
    # The only call is free again, and taken once more.
    await asyncio.wait_for(first.reserve(0.0), 5)
    first.settle(0.0, 0.0)
    with pytest.raises(BudgetReached):
        await asyncio.wait_for(second.reserve(0.0), 5)


async def test_what_a_lost_worker_had_in_flight_counts_as_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_worker, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(ray_worker, "LOST_SECONDS", 0.1)
    lost, other = workers(2, max_cost=1.0)
    await lost.reserve(0.75)
    waiting = asyncio.ensure_future(other.reserve(0.5))
    await asyncio.sleep(0.3)
    assert not waiting.done(), "a worker that lives is waited for"
    assert lost._heartbeat_task
    lost._heartbeat_task.cancel()
    with pytest.raises(BudgetReached, match=r"0\.75 US dollars are spent or may be billed"):
        await asyncio.wait_for(waiting, 5)
    await other.reserve(0.25)
    other.settle(0.25, None)
    lost.settle(0.75, 0.5)  # it lives after all; its request stays counted once
    await asyncio.sleep(0.01)
    with pytest.raises(BudgetReached):
        await other.reserve(0.3)


async def test_caps_that_are_given_later_hold_and_what_is_spent_stays_spent() -> None:
    state = RunState(JudgeOptions(max_calls=1))
    assert await state.reserve("a", 0.0) is True
    state.settle("a", 0.0, 0.0)
    assert isinstance(await state.reserve("a", 0.0), BudgetReached)
    state.configure(JudgeOptions(max_calls=2))
    assert await state.reserve("a", 0.0) is True
    state.settle("a", 0.0, 0.0)
    assert isinstance(await state.reserve("a", 0.0), BudgetReached)


async def test_rates_and_pauses_hold_for_all_workers() -> None:
    first, second = workers(2, requests_per_minute=480.0, concurrency=8)
    now = asyncio.get_running_loop().time
    started = now()
    await asyncio.gather(*(each.acquire(0) for each in (first, second) * 6))
    assert now() - started > 0.4, "12 requests at 8 a second, of which 8 at once"
    first.release(0, None, 0.3)
    started = now()
    await second.acquire(0)
    assert now() - started > 0.2


def errors(kind: type[RubriclabError]) -> Iterator[type[RubriclabError]]:
    for each in kind.__subclasses__():
        yield each
        yield from errors(each)


@pytest.mark.parametrize("kind", list(errors(RubriclabError)), ids=lambda kind: kind.__name__)
def test_errors_are_the_same_in_another_process(kind: type[RubriclabError]) -> None:
    found = pickle.loads(pickle.dumps(kind("A message.", "A hint.")))
    assert (type(found), str(found), found.hint) == (kind, "A message. A hint.", "A hint.")


@pytest.mark.parametrize(
    ("settings", "cluster", "message"),
    [
        ({"record": Path("r.jsonl")}, None, "`workers=2`: `record` works in one process only"),
        ({"location": ":memory:"}, None, "the store is in memory, where other processes cannot read it"),
        ({}, "auto", "The store is a file of this machine, which the machines of a cluster cannot share"),
    ],
)
def test_what_one_process_only_can_do_is_refused(settings: dict[str, Any], cluster: str | None, message: str) -> None:
    with Workspace(**{"location": "store.db", **settings}) as work, pytest.raises(SettingsError, match=message):
        check_workers(work, 2, cluster)


def test_ray_is_started_outside_of_the_working_folder_and_sigterm_stays_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray puts the folder that it is started in first on the path of its workers, and ends a process at SIGTERM."""
    started_in: list[Path] = []

    def init(**_settings: Any) -> None:
        started_in.append(Path.cwd())
        signal.signal(signal.SIGTERM, lambda *_: None)

    ray = SimpleNamespace(is_initialized=lambda: False, init=init, shutdown=lambda: None)
    ours = signal.getsignal(signal.SIGTERM)
    monkeypatch.setitem(sys.modules, "ray", ray)
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_BACKEND_LOG_LEVEL"):
        monkeypatch.setenv(name, "0")
    monkeypatch.chdir(tmp_path)
    with _connected_cluster(None, 2):
        assert (Path.cwd(), signal.getsignal(signal.SIGTERM)) == (tmp_path, ours)
    assert started_in == [Path(rubriclab.__file__).parents[1]]
