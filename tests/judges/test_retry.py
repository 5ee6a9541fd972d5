"""Retries."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from judge_questions import GOOD, Clock, ScriptedJudge, rate

from rubriclab.errors import JudgeRefused, JudgeUnavailable, PromptRejected, ProviderDown, RubriclabError
from rubriclab.judges.judge import Reply, ask
from rubriclab.judges.stack import LocalBreaker, Retried


def failing(*errors: RubriclabError | None) -> ScriptedJudge:
    """Return a judge that raises `errors` one after the other, `None` for a reply, and replies from then on."""
    left = list(errors)

    async def script(prompt: Any) -> str:
        if left and (error := left.pop(0)):
            raise error
        return GOOD

    return ScriptedJudge(script)


def unavailable(wish: float | None = None) -> JudgeUnavailable:
    return JudgeUnavailable("busy.", retry_after=wish)


async def test_retries_until_a_reply_comes() -> None:
    clock, judge = Clock(), failing(*[unavailable()] * 3)
    assert (await Retried(judge, sleep=clock.sleep).reply(rate())).text == GOOD
    assert judge.prompts == 4


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


async def test_pauses_grow_within_their_bounds() -> None:
    clock = Clock()
    judge = Retried(failing(*[unavailable()] * 5), base=1, longest=5, sleep=clock.sleep, rng=random.Random(3))
    await judge.reply(rate())
    for pause, most in zip(clock.slept, [1, 2, 4, 5, 5], strict=True):
        assert most / 2 <= pause <= most


async def test_pauses_are_jittered() -> None:
    pauses = set()
    for seed in range(5):
        clock = Clock()
        await Retried(failing(unavailable()), sleep=clock.sleep, rng=random.Random(seed)).reply(rate())
        pauses.update(clock.slept)
    assert len(pauses) == 5


async def test_answer_is_missing_after_the_last_attempt() -> None:
    judge = failing(*[unavailable()] * 3)
    answer = await ask(Retried(judge, attempts=3, sleep=Clock().sleep), rate())
    assert answer.value is None
    assert "after 3 attempts" in (answer.missing)
    assert judge.prompts == 3


@pytest.mark.parametrize("error", [JudgeRefused("no."), PromptRejected("no.")])
async def test_nothing_else_is_retried(error: RubriclabError) -> None:
    clock, judge = Clock(), failing(error)
    with pytest.raises(type(error)):
        await Retried(judge, sleep=clock.sleep).reply(rate())
    assert judge.prompts == 1
    assert not clock.slept


async def test_dead_provider_ends_the_command_and_not_only_the_answer() -> None:
    judge = Retried(failing(*[unavailable()] * 100), attempts=2, breaker=LocalBreaker(3), sleep=Clock().sleep)
    for _ in range(2):
        assert (await ask(judge, rate())).value is None
    with pytest.raises(ProviderDown) as caught:
        await ask(judge, rate())
    assert caught.value.exit_code == 4
    assert "3 prompts in a row" in str(caught.value)


async def test_refusals_for_unknown_reasons_end_the_command_when_no_prompt_is_answered() -> None:
    def refused(is_doubtful: bool) -> PromptRejected:
        return PromptRejected("no.", is_doubtful=is_doubtful)

    async def missing(*errors: RubriclabError | None) -> int:
        judge = Retried(failing(*errors), breaker=LocalBreaker(3), sleep=Clock().sleep)
        return [(await ask(judge, rate())).value for _ in errors].count(None)

    assert await missing(*[refused(True)] * 2, None, *[refused(True)] * 2) == 4
    assert await missing(*[refused(True)] * 2, refused(False), *[refused(True)] * 2) == 5
    assert await missing(*[refused(False)] * 9) == 9
    with pytest.raises(ProviderDown, match=r"no\."):
        await missing(*[refused(True)] * 3)


async def test_filtered_reply_neither_begins_the_count_again_nor_is_counted() -> None:
    async def script(prompt: Any) -> Reply:
        if prompt.fields["output"] == "filtered":
            return Reply("", "m", filtered=True)
        raise unavailable()

    judge = Retried(ScriptedJudge(script), attempts=1, breaker=LocalBreaker(3), sleep=Clock().sleep)
    for text in ("filtered", "filtered", "filtered", "down", "down", "filtered"):
        assert (await ask(judge, rate(text))).value is None
    with pytest.raises(ProviderDown):
        await ask(judge, rate("down"))


@pytest.mark.parametrize("life", [None, PromptRejected("too long.")])
async def test_sign_of_life_starts_the_count_again(life: RubriclabError | None) -> None:
    script = [unavailable(), unavailable(), life, unavailable(), unavailable()]
    judge = Retried(failing(*script), attempts=1, breaker=LocalBreaker(3), sleep=Clock().sleep)
    answers = [await ask(judge, rate()) for _ in script]
    assert [answer.value is None for answer in answers] == [True, True, life is not None, True, True]
