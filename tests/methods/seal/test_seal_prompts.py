"""SEAL's templates, with the fields that the method really gives them."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest
from hypoeval_scripts import examples
from seal_scripts import assignment, exam, pack, scripted, sentences, text

from rubriclab.methods.method import TrainingInput
from rubriclab.methods.seal.learn import learn
from rubriclab.methods.seal.score import SealSettings, judge_text
from rubriclab.prompts import render
from rubriclab.prompts.prompt import Prompt

FENCE = re.compile(
    r"<<<(?P<label>[^>]+) (?P<tag>[0-9a-f]{16})>>>\n(?P<text>.*?)\n<<<end of (?P=label) (?P=tag)>>>", re.DOTALL
)


@pytest.fixture(scope="module")
def real() -> dict[str, list[Prompt]]:
    """Return the prompts of whole runs of learning, by template."""
    found: dict[str, list[Prompt]] = {}
    texts = [
        replace(each, output=sentences(1 + at * 12), context="Known facts." if at % 2 else None, reference="Ref is so.")
        for at, each in enumerate(examples(4))
    ]
    everything = ("source", "context", "reference")
    for given, chosen in (
        (pack("sentence", weights="judge"), {}),
        (pack("sentence pair", sizes=(1,), weights="judge"), {"proposed": 1}),
        (pack("fact", beside=everything, support={"a1": "source"}, weights="judge"), {}),
        (pack("fact", beside=everything, support={"a1": "source"}), {"most_per_call": 1, "whole_below_facts": 1}),
        (
            pack("fact", sizes=(2,), beside=("source",), support={"a1": "source", "a2": "source"}, weights="judge"),
            {"proposed": 0},
        ),
        (pack("sentence", beside=everything), {"verify": False, "weights": "judge"}),
        (pack("fact", beside=everything), {"decompose": False}),
        (None, {"proposed": 3}),
        (pack("sentence"), {"sentences": "judge"}),
    ):
        judge = scripted(per_sentence=2)
        training_input = TrainingInput(tuple(texts), assignment(), checklist=given)
        asyncio.run(learn(training_input, SealSettings(**chosen), judge=judge, generator=judge))
        for prompt in judge.prompts:
            found.setdefault(prompt.name, []).append(prompt)
    return found


def user(prompt: Prompt) -> str:
    return render(prompt)[1]["content"]


def test_every_unit_question_and_fact_is_shown_with_its_id(real):
    for name in ("seal/verify", "seal/support", "seal/rate"):
        for prompt in real[name]:
            fields, content = prompt.fields, user(prompt)
            blocks = {match["label"]: match["text"] for match in FENCE.finditer(content)}
            for unit in fields["units"]:
                if "first" in unit:
                    assert blocks[f"{unit['id']}, first sentence"] == unit["first"]
                    assert blocks[f"{unit['id']}, second sentence"] == unit["second"]
                else:
                    assert unit["text"] in (blocks.get(unit["id"]), blocks.get(f"{unit['id']}, summary"))
            assert all(blocks[fact["id"]] == fact["text"] for fact in fields["facts"])
            for question in fields["questions"]:
                assert f"\n[{question['id']}] {question['text']}" in content
                assert f"{question['name']}: {question['definition']}" in content


def test_which_answer_is_good_is_told_to_no_one_who_answers():
    judge = scripted()
    for better in ("yes", "no"):
        asyncio.run(judge_text(text(3), exam(pack(better={"a1": better})), judge))
    assert judge.prompts[0] == judge.prompts[1]
