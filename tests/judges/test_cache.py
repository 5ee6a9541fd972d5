"""The cache."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from judge_questions import GOOD, ScriptedJudge, rate
from memory_answers import MemoryAnswers
from server import RunningServer

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import FILTERED, Reply, Usage, ask, request_digest, written
from rubriclab.judges.llm import LanguageModel
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.stack import Budgeted, Cached, Interruptible, Ledger, Limited, LocalBudget, LocalLimits, Retried


def waiting(gate: asyncio.Event, answer: Any = GOOD) -> ScriptedJudge:
    async def script(prompt: Any) -> Any:
        await gate.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ScriptedJudge(script)


def opened() -> asyncio.Event:
    gate = asyncio.Event()
    gate.set()
    return gate


async def test_second_time_comes_from_the_cache_with_its_first_usage(server: RunningServer) -> None:
    judge = Cached(LanguageModel("openai/fake", timeout=60), MemoryAnswers())
    first, second = await judge.reply(rate()), await judge.reply(rate())
    assert len(server.bodies) == 1
    assert (first.cached, second.cached) == (False, True)
    assert (first.text, first.usage, first.model) == (second.text, second.usage, second.model)


async def test_filtered_reply_is_kept_and_missing_with_its_reason(server: RunningServer) -> None:
    answers, ledger = MemoryAnswers(), Ledger()
    for _ in range(2):
        server.script.append("withheld")
        judge = connect("openai/fake", options=JudgeOptions(), ledger=ledger, answers=answers)
        answer = await ask(judge, rate())
        assert (answer.value, answer.missing) == (None, FILTERED)
    assert len(server.bodies) == 1
    assert (ledger.calls, ledger.cached, ledger.failed) == (1, 1, 2)
    assert ledger.usage.prompt_tokens > 0


@pytest.mark.parametrize("answer", ["in time", "late", "never", "with an error"])
async def test_reply_that_arrives_soon_after_a_cancellation_is_kept(
    monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr("rubriclab.judges.stack.GRACE", 0.1)
    ended = False

    async def script(_prompt: Any) -> str:
        nonlocal ended
        try:
            await asyncio.sleep({"in time": 0.03, "with an error": 0.03, "late": 0.5}.get(answer, 60))
            if answer == "with an error":
                raise JudgeUnavailable("busy.")
            return GOOD
        finally:
            ended = True

    answers, budget, source = MemoryAnswers(), LocalBudget(max_calls=1), ScriptedJudge(script)
    limited = Limited(Budgeted(Interruptible(source), budget), LocalLimits(concurrency=1))
    asked = asyncio.create_task(Cached(Retried(limited), answers).reply(rate()))
    await asyncio.sleep(0.01)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    kept = answers.get(request_digest(source.identity, rate()))
    assert (kept is not None) == (answer == "in time")
    assert ended
    assert budget.calls == 1


async def test_second_cancellation_waits_no_longer() -> None:
    judge = Cached(Interruptible(waiting(asyncio.Event())), MemoryAnswers())
    asked = asyncio.create_task(judge.reply(rate()))
    await asyncio.sleep(0.01)
    for _ in range(2):
        asked.cancel()
        await asyncio.sleep(0.01)
    assert asked.cancelled()


async def test_identical_requests_in_flight_are_merged(server: RunningServer) -> None:
    server.latency = 0.05
    judge = Cached(LanguageModel("openai/fake", timeout=60), MemoryAnswers())
    replies = await asyncio.gather(*(judge.reply(rate()) for _ in range(10)))
    assert len(server.bodies) == 1
    assert sum(not reply.cached for reply in replies) == 1
    assert len({reply.text for reply in replies}) == 1


async def test_an_unusable_reply_is_asked_again_only_on_demand_and_the_new_one_stands_for_it() -> None:
    answers, useless, better = MemoryAnswers(), waiting(opened(), "no JSON"), waiting(opened())
    assert (await Cached(useless, answers).reply(rate())).text == "no JSON"
    assert (await Cached(better, answers).reply(rate())).text == "no JSON"
    assert better.prompts == 0
    assert (await Cached(better, answers, retry_failed=True).reply(rate())).text == GOOD
    assert (await Cached(better, answers, retry_failed=True).reply(rate())).cached
    assert (await Cached(better, answers).reply(rate())).text == GOOD
    assert better.prompts == 1


async def test_those_who_wait_share_the_error() -> None:
    gate = asyncio.Event()
    judge = waiting(gate, JudgeUnavailable("down."))
    cached = Cached(judge, MemoryAnswers())
    tasks = [asyncio.create_task(cached.reply(rate())) for _ in range(5)]
    await asyncio.sleep(0)
    gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, JudgeUnavailable) for result in results)
    assert judge.prompts == 1


async def test_one_of_those_who_wait_takes_the_place_of_a_cancelled_request() -> None:
    gate = asyncio.Event()
    judge = waiting(gate)
    cached = Cached(judge, MemoryAnswers())
    tasks = [asyncio.create_task(cached.reply(rate())) for _ in range(4)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.sleep(0)
    gate.set()
    results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    assert isinstance(results[0], asyncio.CancelledError)
    assert all(isinstance(result, Reply) for result in results[1:])
    assert judge.prompts == 2


async def test_cancelling_one_who_waits_cancels_nobody_else() -> None:
    gate = asyncio.Event()
    cached = Cached(waiting(gate), MemoryAnswers())
    tasks = [asyncio.create_task(cached.reply(rate())) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.sleep(0)
    gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(result, Reply) for result in results] == [True, False, True]


async def test_tokens_are_kept_and_asked_for_apart_from_the_reply_without_them(server: RunningServer) -> None:
    judge = Cached(LanguageModel("openai/fake", timeout=60), MemoryAnswers())
    plain = await judge.reply(rate())
    first, second = await judge.reply(rate(alternatives=5)), await judge.reply(rate(alternatives=5))
    assert not plain.tokens
    assert first.tokens
    assert second.tokens == first.tokens
    assert second.cached
    assert len(server.bodies) == 2


async def test_a_damaged_answer_is_asked_again_once_and_noted() -> None:
    answers, judge, damaged = MemoryAnswers(), waiting(opened()), set()
    digest = request_digest(judge.identity, rate())
    answers.put(digest, {"txt": "?"})
    cached = Cached(judge, answers, damaged=damaged)
    first, second = await cached.reply(rate()), await cached.reply(rate())
    assert (first.text, first.cached, second.text, second.cached) == (GOOD, False, GOOD, True)
    assert judge.prompts == 1
    assert damaged == {digest}
    assert answers.get(digest) == {"txt": "?"}


class Overtaken(MemoryAnswers):
    """Answers into which another process puts its own before the first of the asker's."""

    def __init__(self, *others: dict[str, Any]) -> None:
        super().__init__()
        self.others = list(others)

    def put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Keep the other's, if there is one left, then the asker's."""
        if self.others:
            super().put(digest, self.others.pop())
        return super().put(digest, answer)


async def test_of_two_replies_the_one_that_is_kept_is_returned_and_both_are_counted() -> None:
    other = Reply("another process's", "m", Usage(1, 1, 0.5))
    own = Reply(GOOD, "m", Usage(3, 4, 0.01))
    answers = Overtaken(written(other))
    reply = await Cached(waiting(opened(), own), answers).reply(rate())
    assert reply == Reply("another process's", "m", Usage(3, 4, 0.01), cached=False)


async def test_where_the_kept_one_of_two_replies_is_damaged_the_question_is_asked_again() -> None:
    judge = waiting(opened())
    assert (await Cached(judge, Overtaken({"txt": "?"})).reply(rate())).text == GOOD
    assert judge.prompts == 2
