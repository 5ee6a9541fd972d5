"""Awaiting several requests at once."""

from __future__ import annotations

import asyncio

import pytest

from rubriclab.methods.prompting import gathered


async def test_results_are_in_the_order_of_the_requests_and_these_run_concurrently() -> None:
    arrived = asyncio.Event()

    async def first() -> str:
        await arrived.wait()
        return "first"

    async def second() -> str:
        arrived.set()
        return "second"

    assert await asyncio.wait_for(gathered([first(), second()]), 5) == ["first", "second"]
    assert await gathered([]) == []


async def test_a_single_request_runs_in_the_task_of_its_caller() -> None:
    async def task() -> asyncio.Task[None] | None:
        return asyncio.current_task()

    assert await gathered([task()]) == [asyncio.current_task()]
    assert asyncio.current_task() not in await gathered([task(), task()])


@pytest.mark.parametrize("others", [0, 1])
async def test_the_first_error_is_raised(others: int) -> None:
    async def fails() -> None:
        raise ValueError("no")

    async def works() -> None:
        return None

    with pytest.raises(ValueError, match="no"):
        await gathered([fails(), *(works() for _ in range(others))])
