"""`analyze_rate`: the analysis comes first, and the score follows from it."""

from __future__ import annotations

import json

import pytest
from holistic_scripts import overall, part, said
from hypoeval_scripts import assignment, example

from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.catalogue import METHODS

TEXT = example(1, 3, source="A source.")
SCORE = METHODS["analyze_rate"].score


async def test_the_analysis_is_asked_for_before_the_score_and_is_the_reason():
    judge = FakeJudge(lambda _: {"analysis": "It begins well and ends badly.", "score": 2})
    value, (found,) = await SCORE(TEXT, part("analyze_rate"), assignment(), judge)
    (prompt,) = judge.prompts
    assert (value, found.reason) == (2, "It begins well and ends badly.")
    assert list(prompt.reply.model_fields) == ["analysis", "score"]
    told = said(prompt)
    assert told.index("`analysis`") < told.index("`score`")


@pytest.mark.parametrize(
    "reply", [{"score": 3}, {"analysis": "Long.", "score": 9}, {"analysis": "Long."}], ids=json.dumps
)
async def test_a_score_without_analysis_or_off_the_scale_is_missing(reply):
    value, (found,) = await SCORE(TEXT, part("analyze_rate"), assignment(), FakeJudge(lambda _: reply))
    assert value is found.score is None
    assert found.reason.startswith("unusable reply")


async def test_a_weighted_score_is_the_mean_over_several_analyses():
    judge = overall(lambda prompt: 1 + prompt.sample // 10)
    value, (found,) = await SCORE(TEXT, part("analyze_rate", scoring="weighted", samples=4), assignment(), judge)
    assert (value, found.reason) == (2.5, "Mean of 4 samples: 1: 25%, 2: 25%, 3: 25%, 4: 25%.")
    assert [(p.alternatives, p.temperature) for p in judge.prompts] == [(0, 1)] * 4
    assert all("`analysis`" in said(prompt) for prompt in judge.prompts)
