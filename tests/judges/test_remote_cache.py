"""A cache behind a network: it is used from threads, so that nothing else has to wait for it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from commands import PATIENCE
from judge_questions import GOOD, ScriptedJudge, rate

from rubriclab.judges import Cached, MemoryAnswers


class Remote(MemoryAnswers):
    """Answers that take until the event loop has had a turn, and longer while they are held, as over a network."""

    remote = True

    def __init__(self, held: str = "") -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._held = held
        self.waits = threading.Event()
        self.may_go_on = threading.Event()
        self.claims: set[str] = set()
        self.claimed = 0
        self.stored = 0

    def _wait(self, operation: str) -> None:
        turn = threading.Event()
        self._loop.call_soon_threadsafe(turn.set)
        assert turn.wait(PATIENCE), "the event loop is blocked"
        if operation == self._held:
            self.waits.set()
            assert self.may_go_on.wait(PATIENCE)

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the answer, late."""
        self._wait("look-up")
        return super().get(digest)

    def put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Cache the answer, late."""
        self._wait("write")
        self.claims.discard(digest)
        self.stored += 1
        return super().put(digest, answer)

    def claim(self, digest: str) -> bool:
        """Return whether nobody else holds the claim, late."""
        self._wait("claim")
        if digest in self.claims:
            return False
        self.claims.add(digest)
        self.claimed += 1
        return True

    def release(self, digest: str) -> None:
        """Give up the claim, late."""
        self._wait("release")
        self.claims.discard(digest)


async def good(_prompt: Any) -> str:
    return GOOD


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


@pytest.mark.parametrize(("during", "claimed"), [("look-up", 0), ("claim", 1), ("write", 1)])
async def test_a_cancelled_request_leaves_no_claim_behind(during: str, claimed: int) -> None:
    answers = Remote(held=during)
    task = asyncio.create_task(Cached(ScriptedJudge(good), answers).reply(rate()))
    assert await asyncio.to_thread(answers.waits.wait, PATIENCE)
    task.cancel()
    await asyncio.sleep(0)
    answers.may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(PATIENCE):
        while answers.claims or answers.claimed < claimed:  # threads change them  # noqa: ASYNC110
            await asyncio.sleep(0.001)


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
