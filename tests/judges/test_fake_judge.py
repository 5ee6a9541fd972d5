"""The judge for tests."""

from __future__ import annotations

from judge_questions import GOOD, rate

from rubriclab.judges import FakeJudge, Reply, Token, Usage


async def test_mapping_becomes_json_and_a_text_stands_as_it_is() -> None:
    assert (await FakeJudge(lambda _: {"reasoning": "fine", "score": 4}).reply(rate())).text == GOOD
    assert (await FakeJudge(lambda _: "no JSON").reply(rate())).text == "no JSON"


async def test_whole_reply_is_given_as_it_is_with_its_tokens() -> None:
    scripted = Reply(GOOD, "m", Usage(1, 2), tokens=(Token(GOOD, ((GOOD, -0.1),)),))
    judge = FakeJudge(lambda _: scripted)
    assert await judge.reply(rate(alternatives=5)) == scripted
    assert judge.prompts == [rate(alternatives=5)]
