"""What is kept of a reply with several answers of which some cannot be used."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import BaseModel, ValidationInfo, field_validator

from rubriclab.errors import JudgeUnavailable, PromptRejected
from rubriclab.judges.judge import Reply, ask
from rubriclab.prompts.prompt import Prompt


class Numbers(BaseModel):
    """Whole numbers from 1 to `fields["high"]`."""

    numbers: list[int]

    @field_validator("numbers", mode="after")
    @classmethod
    def _in_range(cls, numbers: list[int], info: ValidationInfo) -> list[int]:
        if bad := [number for number in numbers if not 1 <= number <= info.context["high"]]:
            raise ValueError(f"{bad[0]} is out of range")
        return numbers


class SoundNumbers(Numbers):
    """Those of the numbers that are in range."""

    @field_validator("numbers", mode="before")
    @classmethod
    def _sound_ones(cls, numbers: Any, info: ValidationInfo) -> Any:
        return [number for number in numbers if 1 <= number <= info.context["high"]]


PROMPT = Prompt("questions/numbers", {"high": 5}, Numbers)


class Replies:
    """Answers with one reply after the other; errors are raised. `asked` holds the prompts."""

    name = "replies"

    def __init__(self, *replies: Any) -> None:
        self.identity = {"model": "replies"}
        self._replies = list(replies)
        self.prompts: list[Prompt[Any]] = []

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        self.prompts.append(prompt)
        answer = self._replies.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Reply) else Reply(answer, "m")


def listed(*numbers: int) -> str:
    return json.dumps({"numbers": numbers})


async def test_a_sound_reply_is_taken_whole_and_nothing_is_salvaged():
    judge = Replies(listed(1, 5))
    answer = await ask(judge, PROMPT, salvage=SoundNumbers)
    assert (type(answer.value), answer.value.numbers, len(judge.prompts)) == (Numbers, [1, 5], 1)


async def test_a_repair_comes_before_salvage():
    judge = Replies(listed(1, 9), listed(1, 3))
    answer = await ask(judge, PROMPT, salvage=SoundNumbers)
    assert (type(answer.value), answer.value.numbers) == (Numbers, [1, 3])
    assert [prompt.repair is not None for prompt in judge.prompts] == [False, True]


async def test_after_a_repair_in_vain_the_sound_answers_of_the_later_reply_are_kept():
    second = Reply(listed(4, 9), "m")
    answer = await ask(Replies(listed(1, 9), second), PROMPT, salvage=SoundNumbers)
    assert (answer.value.numbers, answer.missing, answer.reply) == ([4], "", second)


async def test_the_earlier_reply_is_salvaged_where_the_later_one_holds_nothing():
    first = Reply(listed(1, 9), "m")
    answer = await ask(Replies(first, "I am sorry."), PROMPT, salvage=SoundNumbers)
    assert (answer.value.numbers, answer.reply) == ([1], first)


@pytest.mark.parametrize("second", ["I am sorry.", "", Reply(listed(4, 9)[:-1], "m", truncated=True)], ids=str)
async def test_where_neither_holds_anything_the_answer_is_missing_with_the_last_complaint(second):
    answer = await ask(Replies("Well.", second), PROMPT, salvage=SoundNumbers)
    assert answer.value is None
    assert answer.missing.startswith("unusable reply, also after one repair: it ")
    assert answer.replied


@pytest.mark.parametrize("error", [JudgeUnavailable("busy."), PromptRejected("too long.")])
async def test_a_repair_that_never_came_leaves_the_answer_missing(error):
    answer = await ask(Replies(listed(1, 9), error), PROMPT, salvage=SoundNumbers)
    assert (answer.value, answer.missing, answer.replied) == (None, str(error), False)


@settings(deadline=None, max_examples=60)
@given(numbers=st.lists(st.integers(-3, 9), max_size=8))
def test_the_check_against_the_question_holds_for_what_is_salvaged(numbers):
    answer = asyncio.run(ask(Replies(listed(*numbers), listed(*numbers)), PROMPT, salvage=SoundNumbers))
    assert answer.value.numbers == [number for number in numbers if 1 <= number <= 5]
