"""Replies are read, salvaged and repaired; requests have digests."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from judge_questions import GOOD, Rating, rate
from pydantic import BaseModel, ValidationInfo, field_validator

from rubriclab.errors import BudgetReached, JudgeRefused, JudgeUnavailable, PromptRejected, ProviderDown, ReplayMiss
from rubriclab.judges.judge import FakeJudge, ask, dump_reply, load_reply, request_digest
from rubriclab.judges.replies import MAX_DEPTH, Reply, json_objects, parse_reply
from rubriclab.prompts.prompt import Prompt


def reading(text: str, **settings_: Any) -> Rating | None:
    value, complaint = parse_reply(Reply(text, "m"), rate(**settings_))
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


@pytest.mark.parametrize("error", [JudgeRefused("no."), ProviderDown("off."), BudgetReached("no."), ReplayMiss("no.")])
async def test_what_ends_a_command_is_not_swallowed(error: Exception) -> None:
    with pytest.raises(type(error)):
        await ask(replies(error), rate())


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


PROMPT = Prompt("questions/rate", {"output": "A text.", "high": 5}, Numbers)


def replies(*scripted: Any) -> FakeJudge:
    """Return a judge that answers with one list of numbers, text or reply after the other; errors are raised."""
    left = list(scripted)

    def script(_prompt: Prompt[Any]) -> Any:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return {"numbers": answer} if isinstance(answer, list) else answer

    return FakeJudge(script)


@pytest.mark.parametrize(
    ("scripted", "kind", "numbers"),
    [
        (([1, 5],), Numbers, [1, 5]),
        (([1, 9], [1, 3]), Numbers, [1, 3]),
        (([1, 9], [4, 9]), SoundNumbers, [4]),
        (([1, 9], "I am sorry."), SoundNumbers, [1]),
        (("Well.", ""), None, None),
        (("Well.", Reply('{"numbers": [4, 9]', "m", truncated=True)), None, None),
    ],
    ids=str,
)
async def test_the_sound_entries_of_the_later_usable_reply_are_kept_where_a_repair_was_in_vain(
    scripted: tuple[Any, ...], kind: type[Numbers] | None, numbers: list[int] | None
) -> None:
    judge = replies(*scripted)
    answer = await ask(judge, PROMPT, salvage_model=SoundNumbers)
    assert len(judge.prompts) == len(scripted)
    assert answer.replied
    if kind is None or answer.value is None:
        assert (kind, answer.value) == (None, None)
        assert answer.missing.startswith("unusable reply, also after one repair: it ")
    else:
        assert (type(answer.value), answer.value.numbers, answer.missing) == (kind, numbers, "")


@pytest.mark.parametrize("before", [(), ([1, 9],)])
@pytest.mark.parametrize("error", [JudgeUnavailable("busy."), PromptRejected("too long.")])
async def test_an_answer_whose_reply_or_repair_never_came_is_missing(before: tuple[Any, ...], error: Exception) -> None:
    answer = await ask(replies(*before, error), PROMPT, salvage_model=SoundNumbers)
    assert (answer.value, answer.missing, answer.replied) == (None, str(error), False)


PIECES = ['{"a":', '{"a":1}', '"a"', '"a":1,"a":2', '\\"', "1e999", "NaN", "[", "]", "{}", "}{", '{"', "\\ud83d", "1.5"]
HALF_A_MEGABYTE = 500_000
DECODER = json.JSONDecoder(parse_int=lambda number: float(number) if len(number) > 4000 else int(number), strict=False)


def outermost_by_trying_every_brace(text: str) -> Iterator[tuple[int, int, Any]]:
    """Return what is at each brace by parsing anew from there: plain, and quadratic."""
    at = text.find("{")
    while at >= 0:
        try:
            value, end = DECODER.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            yield at, end, json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        at = text.find("{", end)


@given(
    st.text(alphabet='{}[]",:\\ a1', max_size=40) | st.lists(st.sampled_from([*'{}[]",:\\ a1', *PIECES])).map("".join)
)
@settings(max_examples=200)
def test_the_objects_found_are_complete_ones_that_no_damaged_one_encloses(text: str) -> None:
    every = {begin: (end, repr(value)) for begin, end, value in outermost_by_trying_every_brace(text)}
    found = list(json_objects(text))
    for each in found:
        assert every[each.begin] == (each.end, repr(each.value))
    if len(every) == 1 and text.find("{") in every:
        assert len(found) == 1


@pytest.mark.parametrize(
    "unit",
    [
        *("{ ", '{"', '"{', '{"a":', '{"a":[', '{"a":"x', '{"\\', '{"a":1}{', '{"":x', '{"a":1,"a":2,"b":', "{x} "),
        '{"a":{},',
    ],
)
def test_half_a_megabyte_of_anything_takes_seconds_at_most(unit: str) -> None:
    began = time.process_time()
    sum(1 for _ in json_objects(unit * (HALF_A_MEGABYTE // len(unit))))
    # Half a second at worst; trying every brace takes a quarter of a minute and more for most of these.
    assert time.process_time() - began < 10


def test_nothing_is_found_after_an_object_that_is_nested_too_deep() -> None:
    deep = '{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1)
    assert list(json_objects(f'{deep} {{"b": 1}}')) == []
    assert len(list(json_objects(deep[5:-1]))) == 1


JUDGE = {"model": "m"}


def test_everything_that_shapes_the_reply_is_in_the_digest() -> None:
    class Other(BaseModel):
        score: float

    plain = rate()
    variants = [plain, plain.repaired("x", "y"), Prompt(plain.name, plain.fields, Other)]
    variants += [rate(temperature=0.1), rate(max_tokens=1), rate(sample=1), rate(alternatives=5), rate(alternatives=20)]
    digests = {request_digest(judge, prompt) for judge in (JUDGE, {"model": "n"}) for prompt in variants}  # type: ignore[arg-type]
    assert len(digests) == 2 * len(variants)


@pytest.mark.parametrize(
    "tokens", ["4", [4], [{"text": "4"}], [{"text": "4", "alternatives": [["4"]]}], [{"alternatives": []}]]
)
def test_damaged_tokens_are_an_error(tokens: Any) -> None:
    with pytest.raises(ValueError, match="tokens"):
        load_reply({**dump_reply(Reply(GOOD, "m")), "tokens": tokens})
