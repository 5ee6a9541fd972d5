"""Budgets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from judge_questions import GOOD, Clock, ScriptedJudge, rate
from server import RunningServer

from rubriclab.errors import BudgetReached, JudgeUnavailable
from rubriclab.judges.judge import Reply, Usage
from rubriclab.judges.llm import LanguageModel, close_connections
from rubriclab.judges.options import Price
from rubriclab.judges.stack import Budgeted, LocalBudget, Retried

PRICE = Price(1.0, 1000.0)


async def slow(prompt: Any) -> str:
    await asyncio.sleep(0.001)
    return GOOD


async def outcomes(judge: Any, count: int) -> list[Any]:
    prompts = [rate(f"text {n}", max_tokens=100) for n in range(count)]
    return await asyncio.gather(*map(judge.reply, prompts), return_exceptions=True)


@pytest.mark.parametrize("cap", [0, 1, 7, 20])
async def test_calls_are_capped_exactly_under_concurrency(cap: int) -> None:
    judge = ScriptedJudge(slow)
    results = await outcomes(Budgeted(judge, LocalBudget(max_calls=cap)), 20)
    assert judge.prompts == cap
    assert sum(isinstance(result, Reply) for result in results) == cap
    assert sum(isinstance(result, BudgetReached) for result in results) == 20 - cap


@pytest.mark.parametrize(("may_be_billed", "replies"), [(False, 4), (True, 1)])
async def test_failed_requests_count_unless_they_are_certainly_not_billed(may_be_billed: bool, replies: int) -> None:
    failures = 3

    async def script(prompt: Any) -> str:
        nonlocal failures
        await asyncio.sleep(0)
        failures -= 1
        if failures >= 0:
            error = JudgeUnavailable("busy.")
            error.may_be_billed = may_be_billed
            raise error
        return GOOD

    async def instantly(seconds: float) -> None:
        await asyncio.sleep(0)

    budgeted = Budgeted(ScriptedJudge(script), LocalBudget(max_calls=4))
    results = await outcomes(Retried(budgeted, attempts=20, sleep=instantly), 8)
    assert sum(isinstance(result, Reply) for result in results) == replies


async def test_a_request_that_did_not_reach_the_server_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    budget = LocalBudget(max_calls=1)
    judge = Budgeted(LanguageModel("openai/fake", api_base="http://127.0.0.1:9/v1"), budget)
    results = await outcomes(judge, 3)
    await close_connections()
    assert all(isinstance(result, JudgeUnavailable) for result in results)
    assert budget.calls == 0


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        ("unauthorized", 0),
        ("not_found", 0),
        ("rate_limit", 0),
        ("overloaded", 0),
        ("server_error", 1),
        ("timeout", 1),
        ("cut_body", 1),
        ("too_long", 1),
        ("withheld", 1),
        ("empty", 1),
    ],
)
async def test_a_request_counts_unless_the_server_refused_it(server: RunningServer, fault: str, calls: int) -> None:
    server.script.append(fault)
    server.hang = 0.1
    budget = LocalBudget()
    await outcomes(Budgeted(LanguageModel("openai/fake", timeout=60), budget), 1)
    assert budget.calls == calls


async def test_a_reply_without_the_requested_probabilities_is_asked_for_again_within_the_cap(
    server: RunningServer,
) -> None:
    server.logprobs = lambda *_: {"content": "4"}  # litellm refuses the reply, which is billed nevertheless
    clock, budget = Clock(), LocalBudget(max_calls=1)
    judge = Retried(Budgeted(LanguageModel("openai/fake", timeout=60), budget), sleep=clock.sleep)
    with pytest.raises(BudgetReached):
        await judge.reply(rate(alternatives=20))
    assert len(server.bodies) == 1


async def test_reply_of_unknown_cost_counts_as_its_reservation() -> None:
    async def script(prompt: Any) -> Reply:
        return Reply(GOOD, "m", Usage(0, 0, None))

    budget = LocalBudget(max_cost=5)
    await Budgeted(ScriptedJudge(script), budget, price=PRICE).reply(rate(max_tokens=100))
    assert 0.1 <= budget.cost < 0.101


async def test_tokens_for_reasoning_are_reserved_too() -> None:
    model = LanguageModel("o3-mini", price=PRICE, reasoning_tokens=1000)
    judge = Budgeted(ScriptedJudge(slow), LocalBudget(max_cost=1.0), price=PRICE, tokens=model.most_tokens)
    with pytest.raises(BudgetReached, match="1 US dollars"):
        await judge.reply(rate(max_tokens=10))


def test_the_highest_price_of_a_token_is_reserved() -> None:
    usual, highest = LanguageModel("claude-sonnet-4-5").price, LanguageModel("claude-sonnet-4-5").highest_price
    assert usual
    assert highest
    assert highest.prompt > usual.prompt  # of writing to the prompt cache
    assert highest.completion >= usual.completion
    assert LanguageModel("openai/fake", price=PRICE).highest_price == PRICE
    assert LanguageModel("openai/fake").highest_price is None


async def test_cancelled_request_keeps_its_reservation() -> None:
    async def script(_prompt: Any) -> str:
        await asyncio.Event().wait()
        return GOOD

    budget = LocalBudget(max_calls=1)
    judge = Budgeted(ScriptedJudge(script), budget)
    first = asyncio.create_task(judge.reply(rate("stuck")))
    await asyncio.sleep(0)
    second = asyncio.create_task(judge.reply(rate("next")))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(BudgetReached):
        await second
    assert budget.calls == 1


async def test_request_that_is_cancelled_before_it_is_sent_reserves_nothing() -> None:
    held = asyncio.Event()

    async def script(_prompt: Any) -> Reply:
        await held.wait()
        return Reply(GOOD, "m", Usage(10, 5, 0.01))

    budget = LocalBudget(max_calls=2)
    judge = Budgeted(ScriptedJudge(script), budget)
    sent = [asyncio.create_task(judge.reply(rate(str(n)))) for n in range(3)]
    await asyncio.sleep(0.01)
    sent[2].cancel()
    held.set()
    await asyncio.gather(*sent, return_exceptions=True)
    assert (budget.calls, budget.cost) == (2, 0.02)
