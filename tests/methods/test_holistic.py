"""One score of the whole aspect: what is asked, how samples and probabilities become a score, and what is missing."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import numpy as np
import pytest
from holistic_scripts import overall, weighing, whole
from hypoeval_scripts import assignment, example, rating
from hypothesis import given, settings, strategies as st

from rubriclab.errors import JudgeError, JudgeRefused, JudgeUnavailable
from rubriclab.judges.judge import FakeJudge, request_digest
from rubriclab.methods.holistic import (
    Analysis,
    BareScore,
    HolisticSettings,
    ScoreFormat,
    holistic_prompt,
    holistic_rating,
    require_scores,
    with_answer_scale,
    with_evidence,
)
from rubriclab.methods.method import CriterionRating
from rubriclab.models.rubric import Evidence
from rubriclab.models.text import Scale

TEXT = example(1, 3, source="A source.")
FORM = ScoreFormat("direct/rate", lambda _: {})
ANALYSED = ScoreFormat("analyze_rate/rate", lambda _: {}, reasoned=Analysis, alone=Analysis, max_tokens=1024)
ONCE, WEIGHTED = HolisticSettings(), HolisticSettings(scoring="weighted")
SCALES = [
    Scale(low=1, high=5, whole=True),
    Scale(low=1, high=5, whole=False),
    Scale(low=0, high=1, whole=True),
    Scale(low=0, high=1, whole=False),
    Scale(low=-2, high=7, whole=False),
    Scale(low=0.5, high=4.5, whole=False),
    Scale(low=1, high=10, whole=True),
]


async def scored(judge, chosen=ONCE, *, form=FORM, scale=None) -> CriterionRating:
    given_ = assignment(scale) if scale else assignment()
    return await holistic_rating(TEXT, whole(), given_, judge, form=form, settings=chosen)


def in_turn(*replies):
    """Answer one sample after the other, whatever is repaired; None is a judge that gives no reply."""

    def script(prompt):
        reply = replies[prompt.sample // 10]
        if reply is None:
            raise JudgeUnavailable("busy")
        return {"score": reply} if isinstance(reply, int | float) else reply

    return FakeJudge(script)


# Once


@pytest.mark.parametrize("form", [FORM, ANALYSED], ids=lambda form: form.template)
async def test_one_answer_at_temperature_0_is_one_call(form):
    judge = overall(lambda _: 4)
    found = await scored(judge, form=form)
    (prompt,) = judge.prompts
    assert (found.criterion, found.score, found.applies) == ("score", 4, True)
    assert (prompt.temperature, prompt.sample, prompt.alternatives) == (0, 0, 0)


async def test_decimals_are_a_score_where_the_scale_has_any_and_missing_where_it_has_whole_ones_only():
    judge = FakeJudge(lambda _: rating(3.4))
    assert (await scored(judge, scale=SCALES[1])).score == 3.4
    found = await scored(judge, scale=SCALES[0])
    assert found.score is None
    assert "whole numbers only; got 3.4" in found.reason


# Weighted, with log-probabilities


async def test_log_probabilities_are_one_call_and_no_more():
    judge = FakeJudge(lambda _: weighing({3: 0.5, 4: 0.25, 5: 0.25}))
    found = await scored(judge, WEIGHTED)
    (prompt,) = judge.prompts
    assert found.score == pytest.approx(3.75)
    assert found.reason == "Probability-weighted: 3: 50%, 4: 25%, 5: 25%."
    assert (prompt.alternatives, prompt.temperature, prompt.reply) == (20, 1, BareScore)


@settings(deadline=None, max_examples=40)
@given(drawn=st.dictionaries(st.integers(1, 5), st.floats(0.01, 1), min_size=1, max_size=5))
def test_the_weighted_score_is_the_expectation_over_the_legal_scores(drawn):
    total = sum(drawn.values())
    shares = {score: share / total for score, share in drawn.items()}
    found = asyncio.run(scored(FakeJudge(lambda _: weighing(shares)), WEIGHTED))
    assert found.score == pytest.approx(sum(score * share for score, share in shares.items()), abs=2e-6)
    assert 1 <= found.score <= 5


@pytest.mark.parametrize(
    "spoilt",
    [
        replace(weighing({4: 0.9, 5: 0.1}), text='{"score": 4', truncated=True),
        weighing({7: 0.6, 4: 0.4}),
        replace(weighing({4: 1.0}), text='{"score": 4} or {"score": 2}'),
    ],
    ids=["cut off", "off the scale", "two scores"],
)
async def test_the_probabilities_of_a_reply_that_cannot_be_used_are_no_score(spoilt):
    judge = FakeJudge(lambda prompt: spoilt if prompt.sample == 0 else {"score": 2})
    found = await scored(judge, HolisticSettings(scoring="weighted", samples=4))
    assert (found.score, found.reason) == (2, "Mean of 3 samples: 2: 100%.")


# Weighted, from samples


@pytest.mark.parametrize("samples", [2, 3, 20])
async def test_without_log_probabilities_exactly_the_samples_are_asked(samples):
    judge = overall(lambda _: 4)
    await scored(judge, HolisticSettings(scoring="weighted", samples=samples))
    assert len(judge.prompts) == samples
    assert len({request_digest(judge.identity, prompt) for prompt in judge.prompts}) == samples
    assert {prompt.temperature for prompt in judge.prompts} == {1}
    assert sorted(prompt.alternatives for prompt in judge.prompts) == [0] * (samples - 1) + [20]


@settings(deadline=None, max_examples=60)
@given(replies=st.lists(st.none() | st.just("None, sorry.") | st.integers(1, 5), min_size=2, max_size=9))
def test_failed_samples_are_left_out_as_long_as_half_remain(replies):
    chosen = HolisticSettings(scoring="weighted", samples=len(replies))
    found = asyncio.run(scored(in_turn(*replies), chosen))
    there = [reply for reply in replies if isinstance(reply, int)]
    if 2 * len(there) >= len(replies):
        assert found.score == pytest.approx(np.mean(there), abs=1e-6)
        assert found.reason.startswith(f"Mean of {len(there)} samples: ")
    else:
        assert found.score is None
        assert found.reason.startswith(f"{len(replies) - len(there)} of {len(replies)} samples failed; the first: ")
        first = next(reply for reply in replies if not isinstance(reply, int))
        assert ("busy" if first is None else "no complete JSON object") in found.reason


@settings(deadline=None, max_examples=40)
@given(scale=st.sampled_from(SCALES), places=st.lists(st.floats(0, 1), min_size=2, max_size=8), seed=st.integers(0, 9))
def test_a_weighted_score_lies_between_its_samples_whatever_their_order(scale, places, seed):
    legal = with_answer_scale(assignment(scale), WEIGHTED).scale
    replies = [scale.low + place * scale.width for place in places]
    replies = [round(reply) if legal.whole else reply for reply in replies]
    chosen = HolisticSettings(scoring="weighted", samples=len(replies))
    found = asyncio.run(scored(in_turn(*replies), chosen, scale=scale))
    assert min(replies) - 1e-6 <= found.score <= max(replies) + 1e-6
    assert scale.contains(round(found.score, 5))
    random.Random(seed).shuffle(replies)
    assert asyncio.run(scored(in_turn(*replies), chosen, scale=scale)) == found


# The scale on which single answers are given


@pytest.mark.parametrize(
    ("scale", "whole_steps"), list(zip(SCALES, (True, True, True, False, True, False, True), strict=True)), ids=str
)
async def test_single_answers_of_a_weighted_score_are_whole_where_the_ends_allow_it(scale, whole_steps):
    fields = holistic_prompt(TEXT, whole(), assignment(scale), FORM, WEIGHTED).fields["scale"]
    assert (fields["whole"], fields["low"], fields["high"]) == (whole_steps, scale.low, scale.high)
    assert ("whole numbers only" in fields["text"]) == whole_steps
    assert holistic_prompt(TEXT, whole(), assignment(scale), FORM, ONCE).fields["scale"]["whole"] == scale.whole


# Faults


@pytest.mark.parametrize("chosen", [ONCE, WEIGHTED], ids=lambda chosen: chosen.scoring)
async def test_what_concerns_every_text_is_not_swallowed(chosen):
    def refused(_prompt):
        raise JudgeRefused("wrong key")

    with pytest.raises(JudgeRefused, match="wrong key"):
        await scored(FakeJudge(refused), chosen)


# Parts and lessons


def test_no_score_at_all_is_an_error_and_no_text_at_all_is_none():
    require_scores([])
    require_scores([CriterionRating("score", None, "busy"), CriterionRating("score", 1, "")])
    with pytest.raises(JudgeError, match="no usable score for any training text: busy"):
        require_scores([CriterionRating("score", None, "busy"), CriterionRating("score", None, "filtered")])


def test_evidence_tells_how_the_scores_track_the_labels():
    scores, labels = np.array([1, 2, np.nan, 3]), np.array([2.0, 4, 5, 6])
    evidence = with_evidence(whole(), scores, labels).evidence
    assert (evidence.pearson, evidence.judged, evidence.missing, evidence.origin) == (1, 3, 1, "definition")
    constant = with_evidence(whole(), np.array([2.0, 2, 2, 2]), labels).evidence
    assert (constant.pearson, constant.judged) == (None, 4)
    assert with_evidence(whole(), np.array([1.0]), np.array([2.0])).evidence.pearson is None
    assert with_evidence(whole(), np.array([]), np.array([])).evidence == Evidence(origin="definition")
