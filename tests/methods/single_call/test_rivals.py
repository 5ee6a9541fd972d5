"""Several texts of one group in one call: what is shown, and whose ratings come back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from holistic_scripts import part as overall_part, whole
from hypoeval_scripts import assignment
from rival_scripts import Entries, judging, one_to_five, rivals, shown
from single_call_scripts import DIRECT, HYPOTHESES, IDS, PARTS

from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods import single_call as single_call_rivals
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.single_call import (
    judge_all,
    judge_rivals,
    rival_calls,
    rivals_prompt,
)
from rubriclab.models.aggregation import RivalLimits
from rubriclab.models.text import Example
from rubriclab.prompts import render
from rubriclab.prompts.render import render_turns

TEXTS = rivals(4)
FENCE = re.compile(
    r"<<<(?P<label>[^>]+?) (?P<tag>[0-9a-f]{16})>>>\n(?P<text>.*?)\n<<<end of (?P=label) (?P=tag)>>>", re.DOTALL
)


async def rated(judge: Any, texts: Sequence[Example] = TEXTS) -> list[dict[str, CriterionRating]]:
    """Return each text's ratings by criterion."""
    return [{each.criterion: each for each in row} for row in await judge_rivals(texts, PARTS, assignment(), judge)]


def calls_of(given: Sequence[Example], parts: Any = PARTS, **limits: int) -> list[list[str]]:
    """Return the ids of the texts of each call."""
    calls = rival_calls(given, parts, assignment(), RivalLimits(**limits))
    return [[given[place].id for place in call] for call in calls]


async def test_one_call_gives_every_text_its_own_ratings_by_every_criterion() -> None:
    judge = judging()
    found = await rated(judge)
    assert [prompt.name for prompt in judge.prompts] == ["single_call/judge_rivals"]
    for text, ratings in zip(TEXTS, found, strict=True):
        assert tuple(ratings) == IDS
        assert {ratings[name].score for name in ("h1", "h2", "e1", "direct")} == {one_to_five(text.output)}


async def test_the_offline_judge_rates_texts_together_as_it_does_apart() -> None:
    together = await judge_rivals(TEXTS, PARTS, assignment(), EmbeddedJudge())
    assert together == [await judge_all(text, PARTS, assignment(), EmbeddedJudge()) for text in TEXTS]


def _other_score(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "direct": {**entry["direct"], "score": 5}}


def as_list(entries: Entries) -> list[dict[str, Any]]:
    """Return the entries as a list in which each one says what text it is about."""
    return [{"text": name, **entry} for name, entry in entries.items()]


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda entries: {name: each for name, each in entries.items() if name != "text 2"}, "text 2: missing"),
        (lambda entries: {"texts": [*as_list(entries), as_list(entries)[1]]}, "one entry was expected; got 2"),
        (lambda entries: {"texts": [*as_list(entries), _other_score(as_list(entries)[1])]}, "one entry was expected"),
        (lambda entries: {**entries, "text 2": "good"}, "expected an object"),
    ],
    ids=["missing", "doubled", "contradicted", "unreadable"],
)
async def test_a_faulty_entry_costs_one_text_its_ratings_and_one_repair(spoil: Any, complaint: str) -> None:
    judge = judging(spoil)
    found, sound = await rated(judge), await rated(judging())
    assert len(judge.prompts) == 2
    assert [row for place, row in enumerate(found) if place != 1] == [sound[0], *sound[2:]]
    lost = {name: each for name, each in found[1].items() if each.score is None and each.applies}
    assert "direct" in lost or found[1] == sound[1]
    for rating in lost.values():
        assert rating.reason.startswith("no usable entry for text 2 of its call, also after one repair: ")
        assert complaint in rating.reason


async def test_a_missing_criterion_of_one_text_leaves_its_other_ratings() -> None:
    def spoil(entries: Entries) -> Entries:
        return {**entries, "text 1": {name: each for name, each in entries["text 1"].items() if name != "h2"}}

    found = await rated(judging(spoil))
    assert (found[0]["h1"].score, found[0]["h2"].score) == (1, None)
    assert found[0]["direct"].score == 1
    assert "text 1.h2: missing" in found[0]["h2"].reason


@pytest.mark.parametrize("name", ["text {}", "{}", "[{}]"])
async def test_entries_numbered_from_0_are_about_unknown_texts_and_none_counts(name: str) -> None:
    judge = judging(lambda entries: {name.format(n): each for n, each in enumerate(entries.values())})
    assert all(rating.score is None for row in await rated(judge) for rating in row.values())


@pytest.mark.parametrize("written", ["2", "TEXT 2", "Text 2:", "[text 2]"])
async def test_a_text_may_be_called_in_words_of_the_prompt(written: str) -> None:
    judge = judging(lambda entries: {written if name == "text 2" else name: each for name, each in entries.items()})
    assert await rated(judge) == await rated(judging())
    assert len(judge.prompts) == 1


def test_what_groups_share_comes_first_then_the_source_then_the_texts() -> None:
    first, second = (
        render_turns(rivals_prompt(texts, PARTS, assignment()))[-1].parts for texts in (TEXTS, rivals(2, "g1", start=7))
    )
    assert len(first) == len(second) == 3
    assert first[0] == second[0]
    assert all(f"[{name}]" in first[0] for name in IDS)
    assert "The source of g0." in first[1]
    assert json.dumps(TEXTS[0].output)[1:-1] in first[2]


# Which texts share a call


def test_texts_are_shown_in_an_order_of_their_own_whatever_the_order_of_the_input() -> None:
    texts = rivals(9)
    (call,) = calls_of(texts)
    assert [call] == calls_of(texts[::-1])
    assert sorted(call) == [text.id for text in texts] != call


def test_only_texts_of_one_group_source_and_context_share_a_call() -> None:
    texts = [
        *rivals(2),
        *rivals(2, "g1", start=2),
        replace(TEXTS[0], id="s", source="Another."),
        replace(TEXTS[0], id="c", context="New."),
    ]
    assert sorted(map(sorted, calls_of(texts))) == [["c"], ["s"], ["t00", "t01"], ["t02", "t03"]]


@pytest.mark.parametrize(("most", "sizes"), [(10, [10, 10]), (9, [6, 7, 7]), (19, [10, 10]), (20, [20]), (2, [2] * 10)])
def test_groups_beyond_the_limit_are_divided_evenly(most: int, sizes: list[int]) -> None:
    assert [len(call) for call in calls_of(rivals(20), (DIRECT,), texts=most)] == sizes


def test_a_group_beyond_the_limit_of_tokens_is_divided_until_every_call_is_within_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(single_call_rivals, "MOST_TOKENS", 6000)
    texts = [replace(text, output=f"{'word ' * 500}{text.output}") for text in rivals(8)]
    calls = rival_calls(texts, (HYPOTHESES,), assignment(), RivalLimits())
    assert len(calls) > 1
    assert max(map(len, calls)) - min(map(len, calls)) <= 1
    for call in calls:
        prompt = rivals_prompt([texts[place] for place in call], (HYPOTHESES,), assignment())
        size = sum(len(message["content"].split()) for message in render(prompt)) + prompt.max_tokens
        assert size <= 6000


async def test_a_part_that_cannot_join_is_rated_text_by_text() -> None:
    def script(prompt: Any) -> Any:
        if prompt.name != "single_call/judge_rivals":
            return {"analysis": "At length.", "score": 3}
        entry = {"direct": {"reason": "It shows.", "score": 4}}
        return {f"text {number}": entry for number in range(1, 1 + len(shown(prompt)))}

    judge = FakeJudge(script)
    parts = (DIRECT, overall_part("analyze_rate", whole(id="analysed")))
    found = await judge_rivals(TEXTS[:2], parts, assignment(), judge)
    assert [prompt.name for prompt in judge.prompts].count("single_call/judge_rivals") == 1
    assert [[(each.criterion, each.score) for each in row] for row in found] == [[("direct", 4), ("analysed", 3)]] * 2
