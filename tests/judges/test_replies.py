"""Distributions over scores from token probabilities, and the size of replies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from judge_questions import GOOD, ScriptedJudge, good, rate
from memory_answers import MemoryAnswers

from rubriclab.errors import ProviderDown, ReplyTooLarge
from rubriclab.judges.cache import Cached
from rubriclab.judges.judge import dump_reply, request_digest
from rubriclab.judges.limits import Breaker, Budgeted, LocalBudget, Retried
from rubriclab.judges.replies import Reply, Token, score_distribution
from rubriclab.judges.responses import body_limit, text_limit
from rubriclab.prompts.prompt import MAX_QUOTED

FIVE = (1.0, 2.0, 3.0, 4.0, 5.0)
TEN = tuple(float(score) for score in range(1, 11))
SURE = {"4": 0.6, "5": 0.3, "3": 0.05}


def token(text: str, shares: Mapping[str, float] | None = None) -> Token:
    likely = shares or {text: 0.9, " else": 0.05}
    return Token(text, tuple((other, math.log(share)) for other, share in likely.items()))


def reply(before: str, number: Token, behind: str) -> Reply:
    tokens = (*map(token, before), number, *map(token, behind))
    return Reply("".join(part.text for part in tokens), "m", tokens=tokens)


def scored(shares: Mapping[str, float], chosen: str = "4", legal: Sequence[float] = FIVE) -> Any:
    return score_distribution(reply('{"reasoning": "ok", "score": ', token(chosen, shares), "}"), legal)


@pytest.mark.parametrize("spelling", ["5", " 5", "  5", "\n5", '"5', '"5"', "5}", "5,", "5\n", ' "5" }', "': 5", "5.0"])
def test_spellings_of_a_score_are_added_up(spelling: str) -> None:
    assert scored({"4": 0.5, "5 ": 0.1, spelling: 0.3})[5] == pytest.approx(0.4 / 0.9)


@pytest.mark.parametrize(
    "other", ["five", "5th", "5/5", "-5", "+5", "05", "5.", "5.5", ".5", "5 5", "6", "0", "", "٥", "5e0"]
)
def test_what_reads_as_something_else_is_left_out(other: str) -> None:
    assert scored({"4": 0.6, "3": 0.2, other: 0.2}) == pytest.approx({1: 0, 2: 0, 3: 0.25, 4: 0.75, 5: 0})


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ('{"score": ', "}"),
        ('{"score": "', '"}'),
        ('{"score": 1, "score": ', "}"),
        ('{"reasoning": "a \\"score\\": 1, I think", "score": ', ', "sure": 1}'),
        ('{"parts": {"score": 1}, "list": [{"score": 2}], "score": ', "}"),
        ('Here {in short} you are:\n```json\n{"score": ', "}\n```\nscore: 1 of 5."),
    ],
)
def test_value_of_the_field_is_found(before: str, behind: str) -> None:
    assert score_distribution(reply(before, token("4", SURE), behind), FIVE) == scored(SURE)


@pytest.mark.parametrize(
    "text",
    [
        *("4", "score: 4", '{"score": 4', '{"points": 4}', '{"score": "four"}', '{"score": true}', '{"score": null}'),
        *('{"score": [4]}', '{"score": {"score": 4}}', '{"score": 4e0}', '{"score": "4/5"}'),
        *('{"score": 4} {"score": 4}', '[{"parts": {"score": 4}}]', '{"reasoning": "\\"score\\": 4"}'),
        '{"score":' * 5000,
    ],
)
def test_text_without_one_such_number_cannot_be_told(text: str) -> None:
    before, _, behind = text.partition("4")
    four = reply(before, token("4", SURE), behind) if "4" in text else reply(text, token(""), "")
    assert four.text == text
    assert score_distribution(four, FIVE) is None


HALVES = tuple(step / 2 for step in range(2, 11))


@pytest.mark.parametrize(
    ("legal", "shares", "expected"),
    [
        (FIVE, SURE, {3: 0.05 / 0.95, 4: 0.6 / 0.95, 5: 0.3 / 0.95}),
        (FIVE, {"4": 0.51, "none": 0.49}, {4: 1}),
        (FIVE, {"4": 0.49, "none": 0.51}, None),
        # A tokeniser that writes 10 as "1" and "0" leaves open what a "1" would have become.
        (TEN, {"8": 0.6, "1": 0.2, "9": 0.2}, {8: 0.75, 9: 0.25}),
        (TEN, {"1": 0.9, "2": 0.1}, None),
        (TEN, {"8": 0.6, "1": 0.2, "10": 0.2}, {1: 0.2, 8: 0.6, 10: 0.2}),
        # Two digits are seen, so 80 to 89 are single tokens; three are not, so "10" may have become 100.
        (tuple(map(float, range(101))), {"85": 0.5, "8": 0.2, "90": 0.1, "10": 0.2}, {8: 0.25, 85: 0.625, 90: 0.125}),
        (HALVES, SURE, None),
        (HALVES, {"4.5": 0.6, "4.0": 0.4}, {4: 0.4, 4.5: 0.6}),
        ((-10, -1, 2), {"-1": 0.9, "2": 0.1}, None),
    ],
)
def test_probabilities_are_shared_out_among_legal_scores_that_one_token_tells(
    legal: Sequence[float], shares: Mapping[str, float], expected: Mapping[float, float] | None
) -> None:
    found = scored(shares, next(iter(shares)), legal)
    assert found == (None if expected is None else pytest.approx({**dict.fromkeys(legal, 0), **expected}))


ALTERNATIVES = st.lists(
    st.tuples(
        st.sampled_from([*map(str, range(12)), " 4", '"5"', "4}", "0.5", "-1", "a", ""]) | st.text(), st.floats()
    ),
    max_size=6,
).map(tuple)


@given(
    st.lists(
        st.builds(
            Token, st.sampled_from(['{"score"', ":", " ", "4", "}", "{", '"', ",", "[", "\\"]) | st.text(), ALTERNATIVES
        ),
        max_size=8,
    ),
    st.lists(st.floats(), max_size=4),
    st.text(max_size=5) | st.just("score"),
)
@settings(deadline=None, max_examples=80)
def test_no_reply_breaks_the_reading(tokens: list[Token], legal: list[float], field: str) -> None:
    answer = Reply("".join(part.text for part in tokens), "m", tokens=tuple(tokens))
    found = score_distribution(answer, legal, field)
    if found is not None:
        assert set(found) == set(legal)
        assert min(found.values()) >= 0
        assert math.fsum(found.values()) == pytest.approx(1)


async def flooding(_prompt: object) -> str:
    raise ReplyTooLarge("too large.")


def test_the_limit_leaves_room_for_log_probabilities_and_is_capped_otherwise() -> None:
    assert text_limit(rate(max_tokens=100), 0, 1000) == 1000
    assert body_limit(rate(max_tokens=10**6), 0, 10**6) == 10**6
    assert body_limit(rate(max_tokens=500, alternatives=20), 0, 10**6) > 500 * 20 * 100


async def test_a_large_reply_kept_earlier_is_asked_for_again_once() -> None:
    judge, answers = ScriptedJudge(good), MemoryAnswers()
    answers.put(request_digest(judge.identity, rate()), dump_reply(Reply(GOOD + "é" * 60_000, "m")))
    for _ in range(2):
        assert (await Cached(judge, answers, max_reply_bytes=100_000).reply(rate())).text == GOOD
    assert judge.prompts == 1


async def test_a_flood_counts_towards_the_budget_and_ends_the_command() -> None:
    judge, budget = ScriptedJudge(flooding), LocalBudget(max_calls=10)
    asked = Retried(Budgeted(judge, budget), breaker=Breaker(3))
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


def test_reply_without_tokens_or_with_those_of_another_text_cannot_be_told() -> None:
    whole = reply('{"score": ', token("4", SURE), "}")
    assert score_distribution(whole, FIVE)
    assert score_distribution(Reply(whole.text, "m"), FIVE) is None
    assert score_distribution(Reply("", "m"), FIVE) is None
    assert score_distribution(Reply(whole.text + " ", "m", tokens=whole.tokens), FIVE) is None
    assert score_distribution(Reply(whole.text.replace("4", "5"), "m", tokens=whole.tokens), FIVE) is None


@pytest.mark.parametrize("parts", [("4", ".", "5"), ("4", ".0"), ("1", "0"), ("-", "1"), ("-1", ".5")])
def test_number_in_several_tokens_cannot_be_told(parts: tuple[str, ...]) -> None:
    tokens = tuple(map(token, ('{"score": ', *parts, "}")))
    text = "".join(part.text for part in tokens)
    assert score_distribution(Reply(text, "m", tokens=tokens), [-1.5, -1, 1, 4, 4.5, 10]) is None
