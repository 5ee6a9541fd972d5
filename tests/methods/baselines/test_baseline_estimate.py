"""The baselines' estimates: never less than what is then asked, and exact where nothing is left open."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from holistic_scripts import BASELINES, graded, learn, overall, spent, within
from hypoeval_scripts import ASPECT, assignment
from hypothesis import given, settings, strategies as st

from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.method import TrainingInput, silent

TEXTS = tuple(
    replace(
        text,
        output=f"{text.output} {'長い ' * (i % 5)}{'word ' * (i * i)}",
        source="A source. " * (i % 7),
        context="Facts. " * (i % 3) or None,
        scores={ASPECT: text.scores[ASPECT] if i % 2 else 3 + 1 / 3},
    )
    for i, text in enumerate(graded(20))
)
CHOICES = [{"scoring": "once"}, {"scoring": "weighted", "samples": 5}, {}]


async def most_and_spent(name, texts, chosen):
    method, judge, generator = METHODS[name], overall(), overall(geval__steps=_long_steps)
    training_input, own = TrainingInput(tuple(texts), assignment()), method.settings(**chosen)
    await method.learn(training_input, own, judge=judge, generator=generator, seed=1, on_progress=silent)
    return method.learning_at_most(training_input, own), (judge, generator)


def _long_steps(_prompt):
    return {"steps": ["Read it all, and count what helps and what harms. " * 14] * 6}


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
@pytest.mark.parametrize("name", BASELINES)
async def test_learning_never_asks_more_than_was_told(name, chosen):
    most, judges = await most_and_spent(name, TEXTS, chosen)
    for judge, told in zip(judges, most, strict=True):
        assert within(judge, told), (spent(judge), told)


@pytest.mark.parametrize("chosen", CHOICES[:2], ids=str)
@pytest.mark.parametrize("name", ["direct", "analyze_rate"])
async def test_where_the_definition_is_all_learning_takes_exactly_what_was_told(name, chosen):
    (for_judge, for_generator), (judge, generator) = await most_and_spent(name, TEXTS, chosen)
    assert spent(judge) == for_judge
    assert spent(generator) == for_generator == CallEstimate()


@settings(deadline=None, max_examples=25)
@given(k=st.integers(1, 20), count=st.integers(1, 20), seed=st.integers(0, 9))
def test_whatever_texts_few_shot_shows_they_take_no_more_than_was_told(k, count, seed):
    method, judge = METHODS["few_shot"], overall()
    texts = TEXTS[:count]
    asyncio.run(learn("few_shot", texts, judge=judge, k=k, seed=seed))
    most, generator = method.learning_at_most(TrainingInput(texts, assignment()), method.settings(k=k))
    assert within(judge, most)
    assert generator == CallEstimate()


async def test_without_labels_only_the_steps_are_asked_for():
    for name in ("direct", "geval", "analyze_rate"):
        (for_judge, for_generator), (judge, generator) = await most_and_spent(name, (), {})
        assert spent(judge) == for_judge == CallEstimate()
        assert spent(generator) == for_generator
        assert for_generator.calls == (name == "geval")


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
@pytest.mark.parametrize("name", BASELINES)
async def test_scoring_takes_the_calls_and_tokens_that_were_told(name, chosen):
    learned = await learn(name, TEXTS, **chosen)
    judge = overall(lambda _: 3)
    await METHODS[name].score(TEXTS[0], learned.part, assignment(), judge)
    assert spent(judge) == METHODS[name].scoring_at_most(TEXTS[0], learned.part, assignment())


def test_an_empty_lesson_for_few_shot_takes_nothing():
    method = METHODS["few_shot"]
    assert method.learning_at_most(TrainingInput((), assignment()), method.settings()) == (
        CallEstimate(),
        CallEstimate(),
    )
