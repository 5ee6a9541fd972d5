"""Budgets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from judge_questions import GOOD, ScriptedJudge, rate
from server import RunningServer

from rubriclab.errors import BudgetReached, JudgeUnavailable, SettingsError
from rubriclab.judges import (
    Budgeted,
    Cached,
    JudgeOptions,
    LanguageModel,
    Ledger,
    Limited,
    LocalBudget,
    LocalLimits,
    MemoryAnswers,
    Price,
    Reply,
    Retried,
    Usage,
    connect,
    request_digest,
)

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


async def test_calls_are_capped_exactly_over_http(server: RunningServer) -> None:
    judge = Limited(
        Budgeted(LanguageModel("openai/fake", timeout=60), LocalBudget(max_calls=5)), LocalLimits(concurrency=4)
    )
    await outcomes(judge, 12)
    assert len(server.bodies) == 5


async def test_failed_requests_do_not_count() -> None:
    failures = 10

    async def script(prompt: Any) -> str:
        nonlocal failures
        await asyncio.sleep(0)
        failures -= 1
        if failures >= 0:
            raise JudgeUnavailable("busy.")
        return GOOD

    async def instantly(seconds: float) -> None:
        await asyncio.sleep(0)

    budgeted = Budgeted(ScriptedJudge(script), LocalBudget(max_calls=4))
    results = await outcomes(Retried(budgeted, attempts=20, sleep=instantly), 8)
    assert sum(isinstance(result, Reply) for result in results) == 4


async def test_cost_never_passes_the_cap() -> None:
    async def script(prompt: Any) -> Reply:
        await asyncio.sleep(0.001)
        return Reply(GOOD, "m", Usage(10, 5, 0.03))

    budget = LocalBudget(max_cost=0.5)
    judge = ScriptedJudge(script)
    results = await outcomes(Budgeted(judge, budget, price=PRICE), 50)
    # A reply may cost 100 tokens at 0.001 dollars each and took 0.03: the cap is used up but for less than one more.
    assert 0.5 - 0.11 < budget.cost <= 0.5
    assert budget.cost == pytest.approx(0.03 * judge.prompts)
    assert any(isinstance(result, BudgetReached) for result in results)


async def test_reply_of_unknown_cost_counts_as_its_reservation() -> None:
    async def script(prompt: Any) -> Reply:
        return Reply(GOOD, "m", Usage(0, 0, None))

    budget = LocalBudget(max_cost=5)
    await Budgeted(ScriptedJudge(script), budget, price=PRICE).reply(rate(max_tokens=100))
    assert 0.1 <= budget.cost < 0.101


async def test_spare_tokens_are_reserved_too() -> None:
    judge = Budgeted(ScriptedJudge(slow), LocalBudget(max_cost=1.0), price=PRICE, spare_tokens=1000)
    with pytest.raises(BudgetReached, match="1 US dollars"):
        await judge.reply(rate(max_tokens=10))


async def test_message_says_how_to_continue() -> None:
    with pytest.raises(BudgetReached, match="same call again with a higher cap"):
        await Budgeted(ScriptedJudge(slow), LocalBudget(max_calls=0)).reply(rate())


async def test_two_judges_draw_on_one_budget() -> None:
    budget = LocalBudget(max_calls=5)
    one, two = ScriptedJudge(slow), ScriptedJudge(slow)
    await asyncio.gather(outcomes(Budgeted(one, budget), 4), outcomes(Budgeted(two, budget), 4))
    assert one.prompts + two.prompts == 5


async def test_everything_paid_for_is_kept_when_the_cap_is_reached() -> None:
    answers = MemoryAnswers()
    source = ScriptedJudge(slow)
    judge = Cached(Retried(Limited(Budgeted(source, LocalBudget(max_calls=6)), LocalLimits(concurrency=3))), answers)

    async def all_at_once() -> None:
        async with asyncio.TaskGroup() as tasks:
            for n in range(20):
                tasks.create_task(judge.reply(rate(f"text {n}")))

    with pytest.raises(ExceptionGroup) as caught:
        await all_at_once()
    assert all(isinstance(error, BudgetReached) for error in caught.value.exceptions)
    kept = [answers.get(request_digest(source.identity, rate(f"text {n}"))) for n in range(20)]
    assert sum(answer is not None for answer in kept) == source.prompts == 6


async def test_cancelled_request_gives_its_place_back() -> None:
    stuck = asyncio.Event()

    async def script(prompt: Any) -> str:
        if prompt.fields["output"] == "stuck":
            await stuck.wait()
        return GOOD

    judge = Budgeted(ScriptedJudge(script), LocalBudget(max_calls=1))
    first = asyncio.create_task(judge.reply(rate("stuck")))
    await asyncio.sleep(0)
    second = asyncio.create_task(judge.reply(rate("next")))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).text == GOOD


def test_cap_on_money_needs_a_price() -> None:
    with pytest.raises(SettingsError, match="price='IN:OUT'"):
        connect("openai/fake", options=JudgeOptions(max_cost=1.0), ledger=Ledger())
    connect("openai/fake", options=JudgeOptions(max_cost=1.0, price=PRICE), ledger=Ledger())
    connect("gpt-4o-mini", options=JudgeOptions(max_cost=1.0), ledger=Ledger())
