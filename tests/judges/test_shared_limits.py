"""Rate limits that several processes share."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from shared_documents import MemoryDocument

from rubriclab.errors import StoreUnavailable
from rubriclab.judges.shared_limits import SharedLimits


class Sleeper:
    """Notes how long it was asked to sleep, and returns at once."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


def sharing(document: MemoryDocument, sleep: Sleeper, **limits: Any) -> list[SharedLimits]:
    return [SharedLimits(document, concurrency=100, sleep=sleep, **limits) for _ in range(2)]


async def changed(document: MemoryDocument, times: int) -> None:
    """Return once a document was changed so many times."""
    async with asyncio.timeout(30):
        while document.changes < times:  # a thread changes it  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_processes_share_the_requests_per_minute() -> None:
    sleep = Sleeper()
    both = sharing(MemoryDocument(), sleep, requests_per_minute=60)
    await asyncio.gather(*(both[n % 2].acquire(0) for n in range(11)))
    assert sorted(sleep.slept) == pytest.approx([float(second) for second in range(1, 11)])


async def test_tokens_that_were_not_used_are_given_back_to_all() -> None:
    document, sleep = MemoryDocument(), Sleeper()
    first, second = sharing(document, sleep, tokens_per_minute=600)
    assert first.counts_tokens
    await first.acquire(110)
    first.release(110, 10, 0.0)
    await changed(document, 2)
    await second.acquire(10)
    assert sleep.slept == pytest.approx([10.0, 1.0])


async def test_a_pause_that_the_provider_asks_for_holds_for_all() -> None:
    document, sleep = MemoryDocument(), Sleeper()
    first, second = sharing(document, sleep, requests_per_minute=6000)
    await first.acquire(0)
    first.release(0, None, 7.0)
    await changed(document, 2)
    await second.acquire(0)
    assert sleep.slept == pytest.approx([7.0])


async def test_requests_in_flight_are_limited() -> None:
    limits = SharedLimits(MemoryDocument(), concurrency=2, requests_per_minute=6000)
    await asyncio.gather(limits.acquire(0), limits.acquire(0))
    third = asyncio.ensure_future(limits.acquire(0))
    await asyncio.sleep(0.05)
    assert not third.done()
    limits.release(0, None, 0.0)
    await third


async def test_a_database_that_is_away_fails_the_request_and_takes_no_slot() -> None:
    document = MemoryDocument()
    limits = SharedLimits(document, concurrency=1, requests_per_minute=6000)
    document.away = True
    with pytest.raises(StoreUnavailable):
        await limits.acquire(0)
    document.away = False
    await asyncio.wait_for(limits.acquire(0), 1)
