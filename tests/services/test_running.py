"""Asynchronous work from synchronous code, with and without a running loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator

import pytest

from rubriclab.ops.workspace import AHEAD, finish, iterate


async def failing() -> None:
    raise LookupError("nothing there")


async def test_errors_come_out_of_the_thread_as_they_are() -> None:
    with pytest.raises(LookupError, match="nothing there"):
        finish(failing)


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

    finish(leaving)
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
    assert seen[-1] == -1
    assert len(seen) <= AHEAD + 6


def test_a_stream_hands_on_what_it_raises_after_what_it_yielded() -> None:
    async def broken() -> AsyncGenerator[int]:
        yield 1
        raise LookupError("the end")

    stream = iterate(broken)
    assert next(stream) == 1
    with pytest.raises(LookupError, match="the end"):
        next(stream)
