"""Several processes at one store, and processes that are killed."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from typing import Any

import pytest
from store_samples import EFFORT, die_after, numbered, provenance, put_many, save_many, save_one

from rubriclab.store.store import open_store

# Processes are forked from one that has imported the store already, and has no threads.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["rubriclab.store"])
PROCESSES = 3


def run(target: Callable[..., None], *arguments: tuple[Any, ...]) -> list[int | None]:
    """Run `target` in one process for each tuple of arguments, all at once; return the exit codes."""
    processes = [CONTEXT.Process(target=target, args=each) for each in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    return [process.exitcode for process in processes]


def test_processes_that_open_a_new_store_and_save_at_once_all_succeed(where: str) -> None:
    codes = run(save_many, *((where, "news", 10 * process, 4) for process in range(PROCESSES)))
    assert codes == [0] * PROCESSES
    with open_store(where) as store:
        versions = store.log("news")
        assert [version.number for version in versions] == list(range(4 * PROCESSES, 0, -1))
        assert len({version.digest for version in versions}) == 4 * PROCESSES
        assert [version.parent for version in versions[:-1]] == [version.ref for version in versions[1:]]
        assert store.verify() == ()


def test_processes_that_save_the_same_rubric_at_once_make_one_version(where: str) -> None:
    assert run(save_one, *((where, "news") for _ in range(PROCESSES))) == [0] * PROCESSES
    with open_store(where) as store:
        assert [version.number for version in store.log("news")] == [1]


def test_processes_that_answer_at_once_lose_nothing(where: str) -> None:
    codes = run(put_many, *((where, 1000 * process, 50) for process in range(PROCESSES)))
    assert codes == [0] * PROCESSES
    with open_store(where) as store:
        assert store.answers.count() == 50 * PROCESSES + 1
        assert store.verify() == ()


@pytest.mark.parametrize("statement", ["INSERT INTO rubrics", "INSERT INTO versions"])
def test_a_process_killed_in_the_middle_of_a_save_leaves_a_store_that_verifies(where: str, statement: str) -> None:
    with open_store(where) as store:
        store.save("news", numbered(1), provenance(), EFFORT)
        assert run(die_after, (statement, where, "news")) == [-signal.SIGKILL]
        assert [version.number for version in store.log("news")] == [1]
        assert store.verify() == ()
        assert store.answers.get("sha256:kept") == {"text": "paid for"}
        assert store.save("news", numbered(99), provenance(), EFFORT).ref == "news@2"
