"""Budget, limits and retries of a judge, and the counts of its replies."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from judge_questions import GOOD, Clock, ScriptedJudge, good, rate
from pydantic import ValidationError
from server import RunningServer

from rubriclab.errors import (
    BudgetReached,
    JudgeRefused,
    JudgeUnavailable,
    PromptRejected,
    ProviderDown,
    RubriclabError,
    SettingsError,
)
from rubriclab.judges.batch import batch_price_of
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import FakeJudge, Ledger, Metered, ask
from rubriclab.judges.limits import Breaker, Budgeted, Limited, LocalBudget, LocalLimits, Retried
from rubriclab.judges.llm import LanguageModel
from rubriclab.judges.options import JudgeOptions, Price, as_price
from rubriclab.judges.providers import price_of
from rubriclab.judges.replies import Reply, Usage
from rubriclab.models.version import Effort
from rubriclab.report import wording

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


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        ("unreachable", 0),
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
    budget, address = LocalBudget(), "http://127.0.0.1:9/v1" if fault == "unreachable" else None
    await outcomes(Budgeted(LanguageModel("openai/fake", timeout=60, api_base=address), budget), 1)
    assert budget.calls == calls


async def test_tokens_for_reasoning_are_reserved_too() -> None:
    model = LanguageModel("o3-mini", price=PRICE, reasoning_tokens=1000)
    judge = Budgeted(ScriptedJudge(slow), LocalBudget(max_cost=1.0), price=PRICE, token_bounds=model.token_bounds)
    with pytest.raises(BudgetReached, match="1 US dollar;"):
        await judge.reply(rate(max_tokens=10))


BOUNDS = {"concurrency": (1, 1024), "attempts": (1, 20), "batch_size": (1, 50_000), "max_calls": (1, None)}
BOUNDS |= {"reasoning_tokens": (0, None), "max_reply_bytes": (1_000, 100_000_000)}


@pytest.mark.parametrize(("name", "bounds"), BOUNDS.items())
def test_options_of_calls_are_accepted_up_to_their_bounds(name: str, bounds: tuple[int, int | None]) -> None:
    for bound, further in zip(bounds, (-1, 1), strict=True):
        if bound is not None:
            assert getattr(JudgeOptions.model_validate({name: bound}), name) == bound
            with pytest.raises(ValidationError):
                JudgeOptions.model_validate({name: bound + further})


@pytest.mark.parametrize(("model", "is_listed"), [("gpt-4o-mini", True), ("deepseek/deepseek-chat", False)])
def test_a_batch_costs_half_of_the_usual_price_as_listed_or_else_as_assumed(model: str, is_listed: bool) -> None:
    (price, listed), usual = batch_price_of(model), price_of(model)
    assert (price.prompt, price.completion) == pytest.approx((usual.prompt / 2, usual.completion / 2))
    assert listed == is_listed
    assert batch_price_of("openai/fake") == (None, False)


def test_the_highest_price_of_a_token_is_reserved() -> None:
    usual, highest = price_of("claude-sonnet-4-5"), LanguageModel("claude-sonnet-4-5").highest_price
    assert usual
    assert highest
    assert highest.prompt > usual.prompt  # of writing to the prompt cache
    assert highest.completion >= usual.completion
    assert LanguageModel("openai/fake", price=PRICE).highest_price == PRICE
    assert LanguageModel("openai/fake").highest_price is None


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


def limited(judge: ScriptedJudge, clock: Clock, **limits: float) -> Limited:
    return Limited(judge, LocalLimits(concurrency=1, clock=clock, sleep=clock.sleep, **limits))


@pytest.mark.parametrize(
    ("per_minute", "idle", "more", "seconds"), [(60, 0, 120, 120), (600, 0, 9, 0), (600, 0, 10, 0.1), (60, 1000, 3, 2)]
)
async def test_requests_per_minute_are_waited_for_beyond_a_burst_that_idle_time_does_not_increase(
    per_minute: float, idle: float, more: int, seconds: float
) -> None:
    clock = Clock()
    judge = limited(ScriptedJudge(good), clock, requests_per_minute=per_minute)
    await judge.reply(rate())
    clock.now = idle
    for _ in range(more):
        await judge.reply(rate())
    assert clock.now == pytest.approx(idle + seconds)


# 60 replies of 100 tokens at 100 a second, the first of them from the burst, and the last prompt's estimate; and 10
# estimates of long prompts whose usage is not reported.
@pytest.mark.parametrize(
    ("usage", "text", "replies", "low", "high"),
    [(Usage(80, 20), "A text.", 61, 59, 63), (Usage(0, 0, None), "word " * 600, 11, 100, 200)],
)
async def test_tokens_per_minute_follow_what_replies_took(
    usage: Usage, text: str, replies: int, low: float, high: float
) -> None:
    async def script(prompt: Any) -> Reply:
        return Reply(GOOD, "m", usage)

    clock = Clock()
    judge = limited(ScriptedJudge(script), clock, tokens_per_minute=6000)
    for _ in range(replies):
        await judge.reply(rate(text))
    assert low <= clock.now <= high


def failing(*errors: Exception | None) -> ScriptedJudge:
    """Return a judge that raises `errors` one after the other, `None` for a reply, and replies from then on."""
    left = list(errors)

    async def script(prompt: Any) -> str:
        if left and (error := left.pop(0)):
            raise error
        return GOOD

    return ScriptedJudge(script)


def unavailable(wish: float | None = None) -> JudgeUnavailable:
    return JudgeUnavailable("busy.", retry_after=wish)


async def test_a_cancellation_that_comes_out_as_a_failed_request_ends_the_attempts() -> None:
    async def script(_prompt: Any) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise unavailable() from None
        return GOOD

    judge, clock = ScriptedJudge(script), Clock()
    asking = asyncio.ensure_future(Retried(judge, sleep=clock.sleep).reply(rate()))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, 5)
    assert judge.prompts == 1


async def test_pauses_grow_within_their_bounds_and_are_jittered() -> None:
    first = set()
    for seed in range(5):
        clock, rng = Clock(), random.Random(seed)
        judge = Retried(failing(*[unavailable()] * 5), base_wait=1, max_wait=5, sleep=clock.sleep, rng=rng)
        await judge.reply(rate())
        assert all(most / 2 <= pause <= most for pause, most in zip(clock.slept, [1, 2, 4, 5, 5], strict=True))
        first.add(clock.slept[0])
    assert len(first) == 5


async def test_refusals_for_unknown_reasons_end_the_command_when_no_prompt_is_answered() -> None:
    async def missing(*errors: RubriclabError | None) -> int:
        judge = Retried(failing(*errors), attempts=1, breaker=Breaker(3), sleep=Clock().sleep)
        return [(await ask(judge, rate())).value for _ in errors].count(None)

    doubtful, rejected = PromptRejected("no.", may_concern_all=True), PromptRejected("no.")
    for failure in (doubtful, unavailable()):
        assert await missing(*[failure] * 2, None, *[failure] * 2) == 4
        assert await missing(*[failure] * 2, rejected, *[failure] * 2) == 5
        with pytest.raises(ProviderDown):
            await missing(*[failure] * 3)
    assert await missing(*[rejected] * 9) == 9


async def test_filtered_reply_neither_begins_the_count_again_nor_is_counted() -> None:
    async def script(prompt: Any) -> Reply:
        if prompt.fields["output"] == "filtered":
            return Reply("", "m", filtered=True)
        raise unavailable()

    judge = Retried(ScriptedJudge(script), attempts=1, breaker=Breaker(3), sleep=Clock().sleep)
    for text in ("filtered", "filtered", "filtered", "down", "down", "filtered"):
        assert (await ask(judge, rate(text))).value is None
    with pytest.raises(ProviderDown):
        await ask(judge, rate("down"))


def usages(*given: Usage) -> ScriptedJudge:
    left = list(given)

    async def script(prompt: Any) -> Reply:
        return Reply(GOOD, f"snapshot-{len(left)}", left.pop(0))

    return ScriptedJudge(script)


@pytest.mark.parametrize(("second", "cost"), [(0.25, 0.75), (None, None)])
async def test_replies_are_summed_and_the_cost_is_unknown_once_any_price_is(
    second: float | None, cost: float | None
) -> None:
    ledger = Ledger()
    judge = Metered(usages(Usage(10, 1, 0.5), Usage(20, 2, second)), ledger)
    for _ in range(2):
        await ask(judge, rate())
    tokens = {"prompt_tokens": 30, "completion_tokens": 3, "stage_tokens": {rate().name: 33}}
    spent = Effort(calls=2, cost_usd=cost, seconds=3.0, stages={rate().name: 2}, **tokens)
    assert ledger.effort(3.0) == spent
    assert wording.replies_by_template(spent) == f"{rate().name} 2 (33 tokens)"
    assert ledger.model_versions == {"snapshot-1", "snapshot-2"}


@pytest.mark.parametrize(
    ("error", "failed"), [(JudgeUnavailable("down."), 1), (PromptRejected("long."), 1), (JudgeRefused("no."), 0)]
)
async def test_reply_that_never_came_is_a_failure_unless_it_ends_the_command(error: Exception, failed: int) -> None:
    ledger = Ledger()
    with pytest.raises(type(error)):
        await Metered(failing(error), ledger).reply(rate())
    assert (ledger.calls, ledger.failed) == (0, failed)


@pytest.mark.parametrize(
    ("replies", "repaired", "failed"), [((GOOD,), 0, 0), (("?", GOOD), 1, 0), (("?", "?"), 1, 1), (("?", ""), 1, 1)]
)
async def test_repairs_and_missing_answers_are_counted(replies: tuple[str, ...], repaired: int, failed: int) -> None:
    left, ledger = list(replies), Ledger()
    answer = await ask(Metered(FakeJudge(lambda _: left.pop(0)), ledger), rate())
    assert (ledger.calls, ledger.repaired, ledger.failed) == (len(replies), repaired, failed)
    assert (answer.value is None) == (failed == 1)


async def test_judge_and_generator_share_a_budget(server: RunningServer) -> None:
    options, ledger, budget = JudgeOptions(max_calls=4), Ledger(), LocalBudget(max_calls=4)
    judges = [connect(name, options=options, ledger=ledger, budget=budget) for name in ("openai/a", "openai/b")]
    questions = [ask(judge, rate(f"text {n}")) for judge in judges for n in range(3)]
    await asyncio.gather(*questions, return_exceptions=True)
    assert len(server.bodies) == ledger.calls == 4


async def test_nothing_is_sent_while_the_provider_wants_silence() -> None:
    clock = Clock()
    judge = limited(failing(unavailable(30)), clock)
    with pytest.raises(JudgeUnavailable):
        await judge.reply(rate())
    await judge.reply(rate())
    assert clock.now == 30


@pytest.mark.parametrize("text", ["", "1", "1:2:3", "a:b", "-1:2", "nan:1", "1:inf"])
def test_price_is_two_numbers_per_million_tokens(text: str) -> None:
    assert as_price("2:10").cost(500_000, 100_000) == pytest.approx(2.0)
    with pytest.raises(SettingsError, match=r"0\.15:0\.60"):
        as_price(text)
