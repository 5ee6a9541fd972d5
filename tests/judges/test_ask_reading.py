"""From a raw reply to a parsed answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from judge_questions import GOOD, Rating, rate

from rubriclab.errors import BudgetReached, JudgeRefused, JudgeUnavailable, PromptRejected, ProviderDown, ReplayMiss
from rubriclab.judges.judge import FakeJudge, Reply, ask, read


def reading(text: str, **settings_: Any) -> Rating | None:
    value, complaint = read(Reply(text, "m"), rate(**settings_))
    assert (value is None) == bool(complaint), "either a value or what is wrong, never both and never neither"
    return value


@given(st.text() | st.text(alphabet='{}[]":,\\ 0123456789.eE-nultrfasNIiy\ud800', max_size=60))
@settings(deadline=None, max_examples=100)
def test_no_text_breaks_the_reading(text: str) -> None:
    value = reading(text)
    assert value is None or 1 <= value.score <= 5


@given(st.text(), st.integers(1, 5), st.text(alphabet=st.characters(exclude_characters="{}")), st.booleans())
@settings(deadline=None, max_examples=100)
def test_one_object_is_found_among_any_prose(reasoning: str, score: int, prose: str, fence: bool) -> None:
    text = json.dumps({"reasoning": reasoning, "score": score})
    value = reading(f"{prose}```json\n{text}\n```{prose}" if fence else prose + text + prose)
    assert value == Rating(reasoning=reasoning, score=score)


def test_fields_of_the_question_are_there_for_the_check() -> None:
    prompt = rate()
    strict = type(prompt)(prompt.name, {**prompt.fields, "high": 3}, prompt.reply)
    assert read(Reply(GOOD, "m"), strict)[0] is None


async def test_repair_is_asked_once_with_the_reply_and_the_complaint() -> None:
    judge = FakeJudge(lambda prompt: GOOD if prompt.repair else "none")
    assert (await ask(judge, rate())).value == Rating(reasoning="fine", score=4)
    repair = judge.prompts[1].repair
    assert repair is not None
    assert repair.reply == "none"
    assert "JSON object" in repair.complaint


async def test_after_the_repair_the_answer_is_missing_with_its_reason() -> None:
    judge = FakeJudge(lambda _: '{"reasoning": "fine", "score": 9}')
    answer = await ask(judge, rate())
    assert answer.value is None
    assert "9 is not between 1 and 5" in (answer.missing)
    assert "Value error" not in (answer.missing)
    assert len(judge.prompts) == 2


@pytest.mark.parametrize("error", [JudgeUnavailable("down."), PromptRejected("too long.")])
async def test_answer_that_never_came_is_missing(error: Exception) -> None:
    assert (await ask(FakeJudge(raising(error)), rate())).missing == str(error)


@pytest.mark.parametrize("error", [JudgeRefused("no."), ProviderDown("off."), BudgetReached("no."), ReplayMiss("no.")])
async def test_what_ends_a_command_is_not_swallowed(error: Exception) -> None:
    with pytest.raises(type(error)):
        await ask(FakeJudge(raising(error)), rate())


def raising(error: Exception) -> Any:
    def script(prompt: Any) -> str:
        raise error

    return script


def test_half_a_character_in_a_reply_breaks_no_file() -> None:
    value, _ = read(Reply('{"reasoning": "so \\ud83d and \\ud83d\\ude00", "score": 3}', "m"), rate())
    assert value is not None
    assert value.reasoning == "so ? and 😀"
