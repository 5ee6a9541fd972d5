"""Limits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from judge_questions import GOOD, Clock, ScriptedJudge, good, rate
from server import RunningServer

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.judge import Reply, Usage
from rubriclab.judges.llm import LanguageModel
from rubriclab.judges.stack import Limited, LocalLimits


async def test_no_more_requests_in_flight_than_allowed(server: RunningServer) -> None:
    server.latency = 0.02
    judge = Limited(LanguageModel("openai/fake", timeout=60), LocalLimits(concurrency=3))
    await asyncio.gather(*(judge.reply(rate(f"text {n}")) for n in range(12)))
    assert server.most_at_once == 3


async def test_requests_per_minute_are_waited_for() -> None:
    clock = Clock()
    judge = Limited(
        ScriptedJudge(good), LocalLimits(concurrency=1, requests_per_minute=60, clock=clock, sleep=clock.sleep)
    )
    for _ in range(121):
        await judge.reply(rate())
    assert clock.now == pytest.approx(120)


async def test_small_burst_goes_out_at_once() -> None:
    clock = Clock()
    judge = Limited(
        ScriptedJudge(good), LocalLimits(concurrency=1, requests_per_minute=600, clock=clock, sleep=clock.sleep)
    )
    for _ in range(10):
        await judge.reply(rate())
    assert clock.now == 0
    await judge.reply(rate())
    assert clock.now == pytest.approx(0.1)


async def test_idle_time_saves_up_no_more_than_the_burst() -> None:
    clock = Clock()
    judge = Limited(
        ScriptedJudge(good), LocalLimits(concurrency=1, requests_per_minute=60, clock=clock, sleep=clock.sleep)
    )
    await judge.reply(rate())
    clock.now = 1000.0
    for _ in range(3):
        await judge.reply(rate())
    assert clock.now == pytest.approx(1002)


async def test_tokens_per_minute_follow_what_replies_took() -> None:
    clock = Clock()

    async def script(prompt: Any) -> Reply:
        return Reply(GOOD, "m", Usage(80, 20))

    judge = Limited(
        ScriptedJudge(script), LocalLimits(concurrency=1, tokens_per_minute=6000, clock=clock, sleep=clock.sleep)
    )
    for _ in range(61):
        await judge.reply(rate())
    # 60 replies of 100 tokens at 100 a second, the first of them from the burst, and the last prompt's estimate.
    assert 59 <= clock.now <= 63


async def test_unreported_usage_leaves_the_estimate_standing() -> None:
    clock = Clock()

    async def script(prompt: Any) -> Reply:
        return Reply(GOOD, "m", Usage(0, 0, None))

    judge = Limited(
        ScriptedJudge(script), LocalLimits(concurrency=1, tokens_per_minute=6000, clock=clock, sleep=clock.sleep)
    )
    for _ in range(11):
        await judge.reply(rate("word " * 600))
    assert clock.now > 10 * 10


async def test_nothing_is_sent_while_the_provider_wants_silence() -> None:
    clock = Clock()
    sent: list[float] = []

    async def script(prompt: Any) -> str:
        sent.append(clock.now)
        if len(sent) == 1:
            raise JudgeUnavailable("busy.", retry_after=30)
        return GOOD

    judge = Limited(ScriptedJudge(script), LocalLimits(concurrency=1, clock=clock, sleep=clock.sleep))
    with pytest.raises(JudgeUnavailable):
        await judge.reply(rate())
    await judge.reply(rate())
    assert sent == [0, 30]
