"""Budget and limits that several workers ask their parent for, joined without processes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from commands import PATIENCE
from judge_questions import GOOD, Clock, ScriptedJudge, rate

from rubriclab.errors import BudgetReached, JudgeUnavailable, ProviderDown
from rubriclab.judges import (
    Budgeted,
    JudgeOptions,
    Ledger,
    Limited,
    LocalBudget,
    LocalLimits,
    Price,
    Reply,
    Usage,
    connect,
)
from rubriclab.judges.limits import Limits
from rubriclab.judges.observed import RequestObserver
from rubriclab.judges.retry import LocalBreaker, Retried
from rubriclab.metrics import Metrics
from rubriclab.workers.channel import Message
from rubriclab.workers.shared import Requests, Shared, WorkerBreaker, WorkerBudget, WorkerLimits, WorkerObserver


class Joined:
    """A worker and what its parent keeps for it, in one event loop."""

    def __init__(
        self,
        budget: LocalBudget,
        limits: Limits,
        breaker: LocalBreaker | None = None,
        observer: RequestObserver | None = None,
    ) -> None:
        breaker = breaker or LocalBreaker()
        self.shared = Shared(self.reply, budget=budget, limits=limits, breaker=breaker, observer=observer)
        self.requests = Requests(self.send)
        self.budget = WorkerBudget(budget.max_cost, self.requests, self.send)
        self.limits = WorkerLimits(self.requests, self.send, counts_tokens=limits.counts_tokens)
        self.breaker = WorkerBreaker(self.requests, self.send)
        self.observer = WorkerObserver(self.send)
        self.sent: list[Message] = []

    def send(self, *message: Any) -> None:
        self.sent.append(message)
        asyncio.get_running_loop().call_soon(self.shared.handle, message)

    def reply(self, _granted: str, number: int, error: Exception | None) -> None:
        asyncio.get_running_loop().call_soon(self.requests.settle, number, error)

    def judge(self, script: Any, price: Price | None = None) -> Limited:
        return Limited(Budgeted(ScriptedJudge(script), self.budget, price=price), self.limits)


async def slow(_prompt: Any) -> Reply:
    await asyncio.sleep(0.001)
    return Reply(GOOD, "m", Usage(80, 20, 0.5))


@pytest.mark.parametrize("cap", [0, 1, 7, 20])
async def test_a_cap_on_calls_holds_exactly_for_three_workers(cap: int) -> None:
    budget, limits = LocalBudget(max_calls=cap), LocalLimits(concurrency=4)
    judges = [Joined(budget, limits).judge(slow) for _ in range(3)]
    asked = [judge.reply(rate(f"text {n}")) for n in range(8) for judge in judges]
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(each, Reply) for each in found) == budget.calls == cap
    assert sum(isinstance(each, BudgetReached) for each in found) == 24 - cap


async def test_a_cap_on_cost_holds_for_three_workers() -> None:
    budget, limits = LocalBudget(max_cost=5.0), LocalLimits(concurrency=4)
    # A reply may cost 0.6 dollars and costs 0.5.
    judges = [Joined(budget, limits).judge(slow, Price(1.0, 1000.0)) for _ in range(3)]
    asked = [judge.reply(rate(f"text {n}", max_tokens=600)) for n in range(8) for judge in judges]
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(each, Reply) for each in found) == 9
    assert budget.cost == pytest.approx(4.5)


async def test_requests_and_tokens_per_minute_hold_for_all_workers_together() -> None:
    clock = Clock()
    limits = LocalLimits(concurrency=2, requests_per_minute=60, clock=clock, sleep=clock.sleep)
    judges = [Joined(LocalBudget(), limits).judge(slow) for _ in range(2)]
    for n in range(31):
        await judges[n % 2].reply(rate())
    assert clock.now == pytest.approx(30)
    limits = LocalLimits(concurrency=1, tokens_per_minute=6000, clock=clock, sleep=clock.sleep)
    judges, begun = [Joined(LocalBudget(), limits).judge(slow) for _ in range(2)], clock.now
    for n in range(61):
        await judges[n % 2].reply(rate())
    assert 59 <= clock.now - begun <= 63


async def test_a_pause_that_one_worker_is_asked_for_holds_for_the_other() -> None:
    clock = Clock()
    sent: list[float] = []

    async def script(_prompt: Any) -> str:
        sent.append(clock.now)
        if len(sent) == 1:
            raise JudgeUnavailable("busy.", retry_after=30)
        return GOOD

    limits = LocalLimits(concurrency=1, clock=clock, sleep=clock.sleep)
    one, other = (Joined(LocalBudget(), limits).judge(script) for _ in range(2))
    with pytest.raises(JudgeUnavailable):
        await one.reply(rate())
    await other.reply(rate())
    assert sent == [0, 30]


async def test_a_lost_worker_s_slot_is_given_back_and_its_requests_in_flight_count() -> None:
    budget, limits = LocalBudget(max_calls=2), LocalLimits(concurrency=1)
    lost, other = Joined(budget, limits), Joined(budget, limits)
    stuck = asyncio.ensure_future(lost.judge(lambda _prompt: asyncio.Event().wait()).reply(rate("stuck")))
    waiting = asyncio.ensure_future(lost.judge(slow).reply(rate("waiting")))
    await asyncio.sleep(0.01)
    asked = asyncio.ensure_future(other.judge(slow).reply(rate("next")))
    await asyncio.sleep(0.01)
    assert not asked.done()
    lost.shared.close()
    assert (await asked).text == GOOD
    assert budget.calls == 2
    for task in (stuck, waiting):
        task.cancel()
    await asyncio.gather(stuck, waiting, return_exceptions=True)


async def test_a_slot_granted_after_its_request_was_cancelled_is_given_back() -> None:
    limits = LocalLimits(concurrency=1)
    worker = Joined(LocalBudget(), limits)
    await limits.acquire(0)
    waiting = asyncio.ensure_future(worker.limits.acquire(0))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.sleep(0.01)
    limits.release(0, None, 0.0)
    next_holder = asyncio.ensure_future(limits.acquire(0))
    done, _ = await asyncio.wait([next_holder], timeout=PATIENCE)
    assert next_holder in done


async def test_prompts_that_fail_in_a_row_are_counted_over_all_workers_and_a_reply_to_one_begins_anew() -> None:
    replies = [GOOD]

    async def script(_prompt: Any) -> str:
        if replies:
            return replies.pop()
        raise JudgeUnavailable("busy.")

    breaker = LocalBreaker(4)
    workers = [Joined(LocalBudget(), LocalLimits(concurrency=1), breaker) for _ in range(2)]
    judges = [Retried(ScriptedJudge(script), attempts=1, breaker=worker.breaker) for worker in workers]

    async def failed(number: int, kind: type[Exception]) -> None:
        with pytest.raises(kind, match="4 prompts in a row" if kind is ProviderDown else "after 1 attempts"):
            await judges[number % 2].reply(rate())

    assert (await judges[0].reply(rate())).text == GOOD
    for number in range(3):
        await failed(number, JudgeUnavailable)
    replies.append(GOOD)
    assert (await judges[1].reply(rate())).text == GOOD
    for number in range(3):
        await failed(number, JudgeUnavailable)
    await failed(3, ProviderDown)
    await failed(4, ProviderDown)


async def test_requests_that_a_lost_worker_had_in_flight_are_not_observed_any_more() -> None:
    with Metrics(0) as metrics:
        lost, other = (Joined(LocalBudget(), LocalLimits(concurrency=1), observer=metrics) for _ in range(2))
        for worker in (lost, other):
            for change in (worker.observer.queued, worker.observer.queued, worker.observer.in_flight):
                change(1)
        await asyncio.sleep(0.01)
        assert (metrics._in_flight._value.get(), metrics._waiting._value.get()) == (2, 2)
        lost.shared.close()
        assert (metrics._in_flight._value.get(), metrics._waiting._value.get()) == (1, 1)


def test_the_totals_of_two_ledgers_add_up_and_are_taken_once() -> None:
    one = Ledger(calls=2, cached=1, failed=1, repaired=1, usage=Usage(10, 5, 0.5), model_versions={"a"}, damaged={"x"})
    one.stages["rate"] = 3
    damaged, total = one.damaged, Ledger(calls=1, usage=Usage(1, 1, 0.25), model_versions={"b"})
    total.stages["rate"] = 1
    total.add(one.take())
    total.add(one.take())
    assert total.effort(0).model_dump() == {
        **Ledger().effort(0).model_dump(),
        "calls": 3,
        "cached": 1,
        "failed": 1,
        "repaired": 1,
        "prompt_tokens": 11,
        "completion_tokens": 6,
        "cost_usd": 0.75,
        "stages": {"rate": 4},
    }
    assert (total.model_versions, total.damaged) == ({"a", "b"}, {"x"})
    assert one == Ledger()
    assert one.damaged is damaged


def test_a_judge_can_be_connected_with_the_limits_of_another_process() -> None:
    limits = LocalLimits(concurrency=1)
    judge = connect("openai/fake", options=JudgeOptions(), ledger=Ledger(), limits=limits, budget=LocalBudget())
    assert judge.name == "openai/fake"
