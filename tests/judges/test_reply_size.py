"""Replies beyond any use: not received, not kept, not paid for again; what a store holds of them already."""

from __future__ import annotations

import pytest
from judge_questions import GOOD, ScriptedJudge, good, rate
from memory_answers import MemoryAnswers

from rubriclab.errors import ProviderDown, ReplyTooLarge
from rubriclab.judges.judge import Reply, request_digest, written
from rubriclab.judges.replies import body_limit, text_limit
from rubriclab.judges.stack import Budgeted, Cached, LocalBreaker, LocalBudget, Retried
from rubriclab.prompts.prompt import MAX_QUOTED


async def flooding(_prompt: object) -> str:
    raise ReplyTooLarge("too large.")


def test_the_limit_leaves_room_for_log_probabilities_and_is_capped_otherwise() -> None:
    assert text_limit(rate(max_tokens=100), 0, 1000) == 1000
    assert body_limit(rate(max_tokens=10**6), 0, 10**6) == 10**6
    assert body_limit(rate(max_tokens=500, alternatives=20), 0, 10**6) > 500 * 20 * 100


async def test_a_large_reply_kept_earlier_is_asked_for_again_once() -> None:
    judge, answers = ScriptedJudge(good), MemoryAnswers()
    answers.put(request_digest(judge.identity, rate()), written(Reply("{ " * 500_000, "m")))
    for _ in range(2):
        assert (await Cached(judge, answers, max_reply_bytes=100_000).reply(rate())).text == GOOD
    assert judge.prompts == 1


async def test_a_flood_counts_towards_the_budget_and_ends_the_command() -> None:
    judge, budget = ScriptedJudge(flooding), LocalBudget(max_calls=10)
    asked = Retried(Budgeted(judge, budget), breaker=LocalBreaker(3))
    for expected in (ReplyTooLarge, ReplyTooLarge, ProviderDown):
        with pytest.raises(expected):
            await asked.reply(rate())
    assert (judge.prompts, budget.calls) == (3, 3)


def test_a_repair_quotes_the_beginning_and_the_end_of_a_long_reply() -> None:
    repair = rate().repaired("begin" + "x" * 1_000_000 + "end", "no.").repair
    assert repair is not None
    assert repair.reply.startswith("beginx")
    assert repair.reply.endswith("xend")
    assert "996,008 characters are left out here" in repair.reply
    assert len(repair.reply) < MAX_QUOTED + 100
