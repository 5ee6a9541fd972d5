"""A cache behind a network: it is used from threads, so that nothing else has to wait for it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from commands import PATIENCE
from judge_questions import GOOD, ScriptedJudge, good, rate
from memory_answers import MemoryAnswers

from rubriclab.judges.stack import Cached


class Remote(MemoryAnswers):
    """Answers that take until the event loop has had a turn, as over a network."""

    remote = True

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self.stored = 0

    def _wait(self) -> None:
        turn = threading.Event()
        self._loop.call_soon_threadsafe(turn.set)
        assert turn.wait(PATIENCE), "the event loop is blocked"

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the answer, late."""
        self._wait()
        return super().get(digest)

    def put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Cache the answer, late."""
        self._wait()
        self.stored += 1
        return super().put(digest, answer)


async def test_a_remote_cache_does_not_block_the_event_loop() -> None:
    answers = Remote()
    cached = Cached(ScriptedJudge(good), answers)
    replies = await asyncio.gather(*(cached.reply(rate(f"text {number}")) for number in range(4)))
    assert [reply.text for reply in replies] == [GOOD] * 4
    assert answers.stored == 4


async def test_identical_requests_are_merged_though_their_look_ups_overlap() -> None:
    judge = ScriptedJudge(good)
    cached = Cached(judge, Remote())
    replies = await asyncio.gather(*(cached.reply(rate()) for _ in range(5)))
    assert judge.prompts == 1
    assert {reply.text for reply in replies} == {GOOD}


async def test_a_reply_that_arrived_is_cached_though_its_request_is_cancelled_while_all_threads_are_busy() -> None:
    answers = Remote()
    arrived, free = asyncio.Event(), threading.Event()

    async def with_busy_threads(_prompt: Any) -> str:
        for _ in range(64):  # more than the thread pool has: storing has to wait for its turn
            asyncio.get_running_loop().run_in_executor(None, free.wait, PATIENCE)
        arrived.set()
        return GOOD

    request = asyncio.ensure_future(Cached(ScriptedJudge(with_busy_threads), answers).reply(rate()))
    await arrived.wait()
    await asyncio.sleep(0)
    request.cancel()
    await asyncio.sleep(0)
    free.set()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert answers.stored == 1
