"""The design `rounds`: inconsistent texts are rewritten; how many are consistent after each round."""

from __future__ import annotations

import re

import numpy as np
import pytest
from one_case import outcome_of, study

from rubriclab.judges.judge import FakeJudge

SENTENCES = {"name": "sentences", "method": "dcr", "labels": False}
WHOLE = {**SENTENCES, "name": "whole", "settings": {"dcr": {"level": "paragraph"}}}
# Sentences of the made-up texts that no source has.
BAD = re.compile(r"It was a day like others\.|Nobody could say more about it\.")


def rounds(*arms, **fields):
    raw = {"design": "rounds", "sets": {"qags_cnndm": ["consistency"]}, "labels": [0], "test_texts": None}
    return study(**{**raw, "arms": list(arms or (SENTENCES,)), "options": {"rounds": 2}, **fields})


def verdicts(prompt):
    """Return a reply by which what no source has is inconsistent."""
    told = [(each["id"], bool(BAD.search(each["text"]))) for each in prompt.fields["sentences"]]
    return {
        "sentences": [
            {"sentence": number, "reason": "Compared.", "consistent": "no" if bad else "yes"} for number, bad in told
        ]
    }


def one_mended(prompt):
    """Return a reply that mends the first sentence that no source has and leaves the others to a further round."""
    number = next(each["id"] for each in prompt.fields["sentences"] if BAD.search(each["text"]))
    return {"sentences": [{"sentence": number, "reasoning": "Put right.", "text": "That is so in every way."}]}


def judge_of(rewrite=one_mended, evaluate=verdicts, name="fake") -> FakeJudge:
    known = {"dcr/evaluate": evaluate, "improve/rewrite": rewrite}
    judge = FakeJudge(lambda prompt: known[prompt.name](prompt))
    judge.name, judge.identity = name, {"model": name}
    return judge


async def rows_of(some, sets, *judges):
    """Return the rows of the study's only case by arm and variant, and its texts."""
    outcome, texts = await outcome_of(some, sets, *judges)
    return {(row.arm, row.variant): row for row in outcome.rows}, texts.test


def failing(texts) -> np.ndarray:
    """Return how many sentences of each text fail by the script."""
    return np.array([len(BAD.findall(text.output)) for text in texts])


async def test_a_text_is_repaired_in_the_round_that_mends_its_last_failing_sentence(sets) -> None:
    rows, texts = await rows_of(rounds(), sets, judge_of())
    bad = failing(texts)
    assert set(bad) >= {0, 1, 2}
    for number, variant in enumerate(("before", "round 1", "round 2")):
        row = rows["sentences", variant]
        assert row.counts["inconsistent"] == (bad > 0).sum()
        assert row.counts["repaired"] == ((bad > 0) & (bad <= number)).sum()
        assert row.figures["repaired"].value == pytest.approx((bad[bad > 0] <= number).mean(), abs=1e-6)
        assert row.figures["consistent"].value == pytest.approx((bad <= number).mean(), abs=1e-6)
    assert rows["sentences", "round 1"].figures["repaired"].low < rows["sentences", "round 1"].figures["repaired"].value
    assert rows["sentences", "round 2"].figures["score"].value == 1


async def test_a_rewriting_that_is_not_better_repairs_nothing(sets) -> None:
    def worse(prompt):
        number = prompt.fields["failing"][0]
        return {"sentences": [{"sentence": number, "reasoning": "Tried.", "text": "It was a day like others."}]}

    rows, _ = await rows_of(rounds(), sets, judge_of(worse))
    before, last = rows["sentences", "before"], rows["sentences", "round 2"]
    assert last.figures == before.figures
    assert last.counts["repaired"] == 0


async def test_beside_sentences_stands_what_striking_out_the_failing_ones_would_do(sets) -> None:
    rows, texts = await rows_of(rounds(SENTENCES, WHOLE), sets, judge_of())
    baselines = {name: row for (name, _), row in rows.items() if name.startswith("baseline: ")}
    (baseline,) = baselines.values()
    assert list(baselines) == ["baseline: sentences, failing ones struck out"]
    flagged = [text.output for text in texts if BAD.search(text.output)]
    left = [BAD.sub("", text) for text in flagged]
    assert baseline.figures["repaired"].value == np.mean([bool(text.split()) for text in left])
    expected = sum(len(text.split()) for text in left) / sum(len(text.split()) for text in flagged)
    assert baseline.figures["words"].value == pytest.approx(expected, abs=1e-6)
    assert baseline.scoring is None


async def test_a_second_judge_scores_what_came_and_what_came_of_it_and_decides_nothing(sets) -> None:
    def strict(prompt):
        return {
            "sentences": [
                {"sentence": each["id"], "reason": "No.", "consistent": "no"} for each in prompt.fields["sentences"]
            ]
        }

    first, second = judge_of(), judge_of(evaluate=strict, name="strict")
    rows, texts = await rows_of(rounds(), sets, first, second)
    alone, _ = await rows_of(rounds(), sets, judge_of())
    assert rows["sentences", "round 2"].figures == alone["sentences", "round 2"].figures
    final = rows["sentences", "in the end, by strict"]
    assert final.counts["inconsistent"] == len(texts)
    assert final.counts["repaired"] == 0
    assert rows["sentences", "before, by strict"].figures["consistent"].value == 0
    assert {prompt.name for prompt in second.prompts} == {"dcr/evaluate"}
