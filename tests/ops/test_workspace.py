"""Event loops and threads, a store on a server, and the log of progress."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT, LABELLED

from rubriclab import Lab
from rubriclab.ops import workspace
from rubriclab.running import iterate, run_to_end
from rubriclab.store.store import Store


def test_tasks_that_are_left_under_way_are_ended() -> None:
    ended = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    async def leaving() -> None:
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        assert not task.done()

    run_to_end(leaving)
    assert ended.is_set()


async def counting(seen: list[int], most: int = 1000) -> AsyncGenerator[int]:
    try:
        for number in range(most):
            seen.append(number)
            yield number
            await asyncio.sleep(0)
    finally:
        seen.append(-1)


def test_a_stream_that_is_not_read_to_its_end_is_closed_and_never_runs_far_ahead() -> None:
    seen: list[int] = []
    stream = iterate(lambda: counting(seen))
    assert [next(stream) for _ in range(3)] == [0, 1, 2]
    stream.close()
    assert seen == [0, 1, 2, -1]


def test_a_stream_hands_on_what_it_raises_after_what_it_yielded() -> None:
    async def broken() -> AsyncGenerator[int]:
        yield 1
        raise LookupError("the end")

    stream = iterate(broken)
    assert next(stream) == 1
    with pytest.raises(LookupError, match="the end"):
        next(stream)


LEARN: dict[str, Any] = {"task": "summarization", "aspect": "coherence"}
CALLS: dict[str, Callable[[Lab], Any]] = {
    "learn": lambda lab: lab.learn_async(LABELLED, **LEARN, methods="hypoeval", name="news"),
    "score": lambda lab: lab.score_async(HELDOUT, "news"),
    "transfer": lambda lab: lab.transfer_async("news", HELDOUT, no_relearn=True, save=True, name="moved"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("remote") / "store.db"
    Lab(place, progress=None).learn(LABELLED, **LEARN, methods="hypoeval", name="news")
    return place


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The threads in which the store was opened and its versions were read and written."""
    seen: list[tuple[str, int]] = []

    def watched(name: str) -> Callable[..., Any]:
        plain = getattr(Store, name)

        def method(self: Store, *arguments: Any, **options: Any) -> Any:
            seen.append((name, threading.get_ident()))
            return plain(self, *arguments, **options)

        return method

    for name in ("__init__", "load", "training", "log", "names", "save"):
        monkeypatch.setattr(Store, name, watched(name))
    monkeypatch.setattr(workspace, "is_remote", lambda _where: True)
    return seen


@pytest.mark.parametrize("operation", CALLS)
def test_a_remote_store_does_not_block_the_event_loop(
    store: Path, threads: list[tuple[str, int]], operation: str
) -> None:
    with Lab(store, progress=None) as lab:
        asyncio.run(CALLS[operation](lab))
    assert "__init__" in {name for name, _ in threads}
    assert {name for name, thread in threads if thread == threading.get_ident()} == set()


def test_operations_on_what_the_store_holds_import_neither_judges_nor_learning() -> None:
    heavy = ("rubriclab.judges.", "rubriclab.learning.", "rubriclab.methods.")
    code = f"import sys, rubriclab.ops.versions; print([name for name in sys.modules if name.startswith({heavy})])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"[]"
