"""A cache behind a network: it is used from threads, so that nothing else has to wait for it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from judge_questions import GOOD, ScriptedJudge, rate

from rubriclab.judges import Cached, MemoryAnswers

DELAY = 0.15


class Remote(MemoryAnswers):
    """Answers that take a while, as over a network."""

    remote = True

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[str] = set()
        self.claims: set[str] = set()
        self.stored = 0

    def _wait(self) -> None:
        self.threads.add(threading.current_thread().name)
        time.sleep(DELAY)

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the answer, late."""
        self._wait()
        return super().get(digest)

    def put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Cache the answer, late."""
        self._wait()
        self.claims.discard(digest)
        self.stored += 1
        return super().put(digest, answer)

    def claim(self, digest: str) -> bool:
        """Return whether nobody else holds the claim, late."""
        self._wait()
        if digest in self.claims:
            return False
        self.claims.add(digest)
        return True

    def release(self, digest: str) -> None:
        """Give up the claim, late."""
        self._wait()
        self.claims.discard(digest)


async def good(_prompt: Any) -> str:
    return GOOD


async def longest_gap(until: Callable[[], bool]) -> float:
    """Return the longest time in seconds between two turns of the event loop."""
    longest, last = 0.0, time.monotonic()
    while not until():
        await asyncio.sleep(0.005)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    return longest


async def test_a_remote_cache_does_not_block_the_event_loop() -> None:
    answers = Remote()
    cached = Cached(ScriptedJudge(good), answers)
    replies = asyncio.gather(*(cached.reply(rate(f"text {number}")) for number in range(4)))
    gap = await longest_gap(replies.done)
    assert [reply.text for reply in await replies] == [GOOD] * 4
    assert gap < DELAY
    assert threading.main_thread().name not in answers.threads


async def test_identical_requests_are_merged_though_their_look_ups_overlap() -> None:
    judge = ScriptedJudge(good)
    cached = Cached(judge, Remote())
    replies = await asyncio.gather(*(cached.reply(rate()) for _ in range(5)))
    assert judge.prompts == 1
    assert {reply.text for reply in replies} == {GOOD}


@pytest.mark.parametrize("moment", [0.5, 1.5, 2.5])
async def test_a_cancelled_request_leaves_no_claim_behind(moment: float) -> None:
    """The moments lie within the look-up, the claim and the write."""
    answers = Remote()
    task = asyncio.create_task(Cached(ScriptedJudge(good), answers).reply(rate()))
    await asyncio.sleep(moment * DELAY)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(4 * DELAY)
    assert answers.claims == set()


async def test_a_reply_that_arrived_is_cached_though_its_request_is_cancelled_while_all_threads_are_busy() -> None:
    answers = Remote()
    arrived = asyncio.Event()

    async def with_busy_threads(_prompt: Any) -> str:
        for _ in range(64):  # more than the thread pool has: storing has to wait for its turn
            asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.1)
        arrived.set()
        return GOOD

    request = asyncio.ensure_future(Cached(ScriptedJudge(with_busy_threads), answers).reply(rate()))
    await arrived.wait()
    await asyncio.sleep(0)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert answers.stored == 1
