"""One score of the whole text, once or weighted; and the baselines and text features."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest
import scripted_judge as scripts
from hypothesis import given, settings, strategies as st

from rubriclab.errors import DataError, JudgeUnavailable
from rubriclab.judges.judge import FakeJudge
from rubriclab.learning.train import train_method
from rubriclab.methods import holistic
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import CriterionRating, Learned, TrainingInput
from rubriclab.models.text import Scale
from rubriclab.models.text_features import Features

TEXT = scripts.example(1, 3, source="A source.")
FORM = holistic.ScoreFormat("direct/rate", lambda _: {})
ONCE, WEIGHTED = holistic.HolisticSettings(), holistic.HolisticSettings(scoring="weighted")
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
    given_ = scripts.assignment(scale) if scale else scripts.assignment()
    return await holistic.holistic_rating(TEXT, scripts.whole(), given_, judge, form, settings=chosen)


def in_turn(*replies):
    """Answer one sample after the other, whatever is repaired; None is a judge that gives no reply."""

    def script(prompt):
        reply = replies[prompt.sample // 10]
        if reply is None:
            raise JudgeUnavailable("busy")
        return {"score": reply} if isinstance(reply, int | float) else reply

    return FakeJudge(script)


async def test_log_probabilities_are_one_call_and_no_more():
    judge = FakeJudge(lambda _: scripts.weighing({3: 0.5, 4: 0.25, 5: 0.25}))
    found = await scored(judge, WEIGHTED)
    (prompt,) = judge.prompts
    assert found.score == pytest.approx(3.75)
    assert found.reason == "Probability-weighted: 3: 50%, 4: 25%, 5: 25%."
    assert (prompt.alternatives, prompt.temperature, prompt.reply) == (20, 1, holistic.BareScore)


@pytest.mark.parametrize(
    "spoilt",
    [
        replace(scripts.weighing({4: 0.9, 5: 0.1}), text='{"score": 4', truncated=True),
        scripts.weighing({7: 0.6, 4: 0.4}),
        replace(scripts.weighing({4: 1.0}), text='{"score": 4} or {"score": 2}'),
    ],
    ids=["cut off", "off the scale", "two scores"],
)
async def test_the_probabilities_of_a_reply_that_cannot_be_used_are_no_score(spoilt):
    judge = FakeJudge(lambda prompt: spoilt if prompt.sample == 0 else {"score": 2})
    found = await scored(judge, holistic.HolisticSettings(scoring="weighted", samples=4))
    assert (found.score, found.reason) == (2, "Mean of 3 samples: 2: 100%.")


@settings(deadline=None, max_examples=60)
@given(replies=st.lists(st.none() | st.just("None, sorry.") | st.integers(1, 5), min_size=2, max_size=9))
def test_failed_samples_are_left_out_as_long_as_half_remain(replies):
    chosen = holistic.HolisticSettings(scoring="weighted", samples=len(replies))
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


@pytest.mark.parametrize(
    ("scale", "whole_steps"), list(zip(SCALES, (True, True, True, False, True, False, True), strict=True)), ids=str
)
async def test_single_answers_of_a_weighted_score_are_whole_where_the_ends_allow_it(scale, whole_steps):
    fields = holistic.holistic_prompt(TEXT, scripts.whole(), scripts.assignment(scale), FORM, WEIGHTED).fields["scale"]
    assert (fields["whole"], fields["low"], fields["high"]) == (whole_steps, scale.low, scale.high)
    assert ("whole numbers only" in fields["text"]) == whole_steps
    assert (
        holistic.holistic_prompt(TEXT, scripts.whole(), scripts.assignment(scale), FORM, ONCE).fields["scale"]["whole"]
        == scale.whole
    )


TEXTS = scripts.graded(12)
LABEL = {text.output: text.scores[scripts.ASPECT] for text in TEXTS}


async def test_few_shot_cannot():
    judge, method = scripts.scripted(), METHODS["few_shot"]
    with pytest.raises(DataError, match="few_shot learns from labelled texts, and there are none"):
        await train_method(
            method, TrainingInput((), scripts.assignment()), method.settings(), judge=judge, generator=judge, seed=1
        )
    assert judge.prompts == []


@pytest.mark.parametrize("name", scripts.OVERALL[1:])
async def test_a_text_without_a_reply_is_missing_and_no_number(name):
    gone = {TEXTS[5].output, TEXTS[6].output}
    learned = await scripts.learn(
        name,
        TEXTS,
        judge=scripts.scripted(score=lambda p: None if p.fields["output"] in gone else LABEL[p.fields["output"]]),
    )
    missing = [ident for ident, score in zip(learned.examples, learned.scores, strict=True) if np.isnan(score)]
    assert missing == [ident for ident in ("t05", "t06") if ident in learned.examples]
    assert learned.part.criteria[0].evidence.missing == len(missing) > 0


TEXTS_SHOT = scripts.graded(20, groups=10)
ROWS = st.lists(st.tuples(st.floats(1, 5), st.integers(0, 5)), min_size=1, max_size=15)


def chosen(texts, count=3, seed=1):
    return holistic.pick_demonstrations(texts, scripts.ASPECT, count, seed)


@settings(deadline=None, max_examples=80)
@given(rows=ROWS, count=st.integers(1, 20), seed=st.integers(0, 5))
def test_demonstrations_are_different_texts_lowest_first_and_never_more_than_asked_for(rows, count, seed):
    texts = [scripts.example(i, score, f"g{group}") for i, (score, group) in enumerate(rows)]
    shown = chosen(texts, count, seed)
    by_id = {text.id: text for text in texts}
    assert len(shown) == len({each.example for each in shown}) == min(count, len(texts))
    assert [each.score for each in shown] == sorted(by_id[each.example].scores[scripts.ASPECT] for each in shown)
    for each in shown:
        text = by_id[each.example]
        assert (each.output, each.source, each.context) == (text.output, text.source, text.context)


async def test_what_is_shown_is_never_scored():
    judge = scripts.scripted()
    learned = await scripts.learn("few_shot", TEXTS_SHOT, judge=judge, k=5)
    (criterion,) = learned.part.criteria
    shown = {each.example for each in criterion.demonstrations}
    assert len(shown) == 5
    assert criterion.evidence.examples == tuple(each.example for each in criterion.demonstrations)
    assert criterion.evidence.origin == "labels"
    assert not shown & set(learned.examples)
    assert shown | set(learned.examples) == {text.id for text in TEXTS_SHOT}
    outputs = {text.output for text in TEXTS_SHOT if text.id in shown}
    assert not outputs & {prompt.fields["output"] for prompt in judge.prompts}
    assert criterion.evidence.judged == len(scripts.of_kind(judge, "rate")) == 15


TEXT_GEVAL = scripts.example(1, 3)


async def test_the_score_is_weighted_by_default_and_20_samples_stand_in_for_probabilities():
    assert holistic.GEvalSettings().scoring == "weighted"
    sampled = scripts.scripted(score=lambda prompt: 1 + prompt.sample // 10 % 4)
    assert (await METHODS["geval"].score(TEXT_GEVAL, scripts.part_of("geval"), scripts.assignment(), sampled))[0] == 2.5
    sure = FakeJudge(lambda _: scripts.weighing({4: 0.75, 5: 0.25}))
    assert (await METHODS["geval"].score(TEXT_GEVAL, scripts.part_of("geval"), scripts.assignment(), sure))[
        0
    ] == pytest.approx(4.25)
    assert (len(sampled.prompts), len(sure.prompts)) == (20, 1)


SOURCE = "A dog barked at the mill. The miller came out, and the dog ran home to its barn."


def text(number: int, score: float, **fields):
    words = " ".join(["The dog barked", "at the mill", "and ran home", "to its barn"][: number % 4 + 1])
    told = {"source": SOURCE, "group": f"g{number % 4}", **fields}
    return replace(scripts.example(number, score), output=f"{words}. It was {number} o'clock.", **told)


TEXTS_FEATURES = tuple(text(number, 1 + number % 5) for number in range(12))


def nobody() -> FakeJudge:
    def refuse(prompt):
        raise AssertionError(f"asked {prompt.name}")

    return FakeJudge(refuse)


async def learned(texts=TEXTS_FEATURES) -> Learned:
    return await holistic.TEXT_FEATURES.learn(  # type: ignore[call-arg]
        TrainingInput(tuple(texts), scripts.assignment()),
        holistic.TextFeatureSettings(),
        judge=nobody(),
        generator=nobody(),
        seed=1,
    )


async def test_what_cannot_be_measured_has_no_value_and_says_what_it_lacks():
    learned_part = (await learned()).part
    bare = replace(TEXTS_FEATURES[0], source=None)
    _, ratings = await holistic.TEXT_FEATURES.score(bare, learned_part, scripts.assignment(), nobody())
    rated = next(each for each in ratings if each.id == "words_from_source")
    assert (rated.score, rated.applies) == (None, False)
    assert rated.reason == "Cannot be measured: it needs a source, and there is none."
    assert next(each for each in ratings if each.id == "words").score == Features(bare.output)["words"]
