"""The estimate told before anything is asked: never less than what is then asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from holistic_scripts import spent, within
from hypoeval_scripts import examples
from seal_scripts import assignment, pack, part, scripted, sentences, text

from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.seal import SEAL, SealSettings
from rubriclab.methods.seal.estimate import learning_at_most, scoring_at_most
from rubriclab.methods.seal.learn import learn

SUPPORT = pack("fact", sizes=(1, 2), beside=("source", "reference"), support={"a1": "source"}, weights="judge")
PACKS = {
    "sentence": pack("sentence"),
    "pair": pack("sentence pair", weights="judge"),
    "fact": pack("fact", beside=("source",)),
    "support": SUPPORT,
    "response": pack("response", beside=("source", "context"), weights="judge"),
}
CHOICES: list[dict[str, Any]] = [
    {"ask": "by sub-dimension"},
    {"ask": "one by one"},
    {"most_per_call": 2},
    {"weights": "judge", "decompose": False},
    {"verify": False, "whole_below_facts": 1},
    {"most_facts": 1},
]
EXAMPLES = (
    text(1, source=sentences(2)),
    text(2),
    text(5, source=sentences(8), reference=sentences(3), context="So."),
    text("?!", source="!!", reference=sentences(2)),
)
LONG = text(30, source=sentences(45), reference=sentences(3))


@pytest.mark.parametrize(
    ("given", "chosen"),
    [*((name, {}) for name in PACKS), *((name, each) for name in ("pair", "support") for each in CHOICES)],
)
async def test_scoring_never_asks_more_than_was_told(given: str, chosen: dict[str, Any]):
    rubric = part(PACKS[given], **chosen)
    for example in EXAMPLES:
        told = scoring_at_most(example, rubric, assignment())
        for facts in {1, chosen.get("most_facts", 6)}:
            judge = scripted(per_sentence=facts)
            await SEAL.score(example, rubric, assignment(), judge)
            assert within(judge, told), (example.output[:30], facts, spent(judge), told)


async def test_a_long_text_asks_no_more_than_was_told_either():
    judge = scripted(per_sentence=6)
    await SEAL.score(LONG, part(SUPPORT), assignment(), judge)
    assert within(judge, scoring_at_most(LONG, part(SUPPORT), assignment()))


@pytest.mark.parametrize(
    ("given", "chosen", "calls"),
    [
        ("sentence", {}, 3),
        ("sentence", {"ask": "one by one"}, 90),
        ("pair", {}, 3),
        ("pair", {"ask": "by sub-dimension"}, 4),
        ("response", {}, 1),
        # Two portions of facts of the output, three of the source, and 180 facts at 13 a call.
        ("fact", {}, 2 + 3 + 14),
        ("fact", {"decompose": False}, 1),
    ],
)
def test_calls_are_those_that_the_method_describes(given: str, chosen: dict[str, Any], calls: int):
    assert scoring_at_most(LONG, part(PACKS[given], **chosen), assignment()).calls == calls


def test_an_empty_text_costs_nothing():
    assert scoring_at_most(text(" "), part(SUPPORT), assignment()) == CallEstimate()


@pytest.mark.parametrize("given", [None, *PACKS])
@pytest.mark.parametrize("chosen", [{}, {"proposed": 2, "ask": "by sub-dimension", "weights": "judge"}], ids=str)
async def test_learning_never_asks_more_than_was_told(given: str | None, chosen: dict[str, Any]):
    texts = [replace(each, output=sentences(2 + at), reference="Ref is so.") for at, each in enumerate(examples(6))]
    training_input = TrainingInput(tuple(texts), assignment(), checklist=PACKS[given] if given else None)
    settings = SealSettings(**chosen)
    for_judge, for_generator = learning_at_most(training_input, settings)
    judge, generator = scripted(per_sentence=6), scripted()
    await learn(training_input, settings, judge=judge, generator=generator)
    assert within(judge, for_judge), (spent(judge), for_judge)
    assert within(generator, for_generator)
    assert for_generator.calls == 1


def test_without_labels_nothing_is_asked_of_the_judge_and_without_proposals_nothing_of_the_generator():
    judge, generator = learning_at_most(TrainingInput((), assignment(), checklist=SUPPORT), SealSettings(proposed=0))
    assert (judge, generator) == (CallEstimate(), CallEstimate())
