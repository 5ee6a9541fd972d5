"""The estimate told before anything is asked: never less than what is then asked."""

from dataclasses import replace

import pytest
from holistic_scripts import spent, within
from hypoeval_scripts import Scripted, assignment, criterion, examples, rating, scripted, training_input, words

from rubriclab.judges import FakeJudge
from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.hypoeval import HypoEvalSettings
from rubriclab.methods.hypoeval.estimate import learning_at_most, scoring_at_most
from rubriclab.methods.hypoeval.learn import learn
from rubriclab.methods.hypoeval.score import rate
from rubriclab.methods.method import TrainingInput
from rubriclab.rubric import Part

TEXTS = examples(12)
SMALL = {"initial_examples": 4, "initial_hypotheses": 3, "k": 4, "wrong_bank": 4, "new_hypotheses": 2, "bank_size": 8}
CHOICES = [
    {},
    {"ask": "together"},
    {"ask": "concatenated"},
    {"redundancy": "every_pair", "drop_hopeless": False, "union": "random"},
    {"sources": "labels"},
    {"sources": "literature"},
    {"sources": "prior knowledge", "selected": 7},
    {"sources": "prior knowledge", "ask": "concatenated"},
    {"redundancy": "off", "refine_rounds": 0, "bonus": "when_visited"},
]


def worst_case(prompt):
    """Rate as far from every label as the scale allows, so that every text is hard."""
    label = next(text.scores["coherence"] for text in TEXTS if text.output == prompt.fields["output"])
    return rating(1 if label >= 3 else 5)


def in_doubt(script: Scripted):
    """Word the hypotheses so that the judge has to be asked which are the same."""

    def reworded(prompt):
        told = script(prompt)
        for hypothesis in told["hypotheses"]:  # type: ignore[index]
            hypothesis["statement"] = f"{words('shared', 14)} {words(hypothesis['trait'], 6)}"  # type: ignore[index]
        return told

    return FakeJudge(reworded)


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
async def test_learning_never_asks_more_than_was_told(chosen):
    settings = HypoEvalSettings(**{**SMALL, **chosen})
    for generator in (scripted(), in_doubt(Scripted())):
        judge = scripted(rate=worst_case)
        given = training_input(TEXTS)
        await learn(given, settings, judge=judge, generator=generator, seed=1)
        for_judge, for_generator = learning_at_most(given, settings)
        assert within(judge, for_judge), (spent(judge), for_judge)
        assert within(generator, for_generator), (spent(generator), for_generator)


@pytest.mark.parametrize("ask", ["separately", "together", "concatenated"])
async def test_scoring_takes_the_calls_and_tokens_that_were_told(ask):
    criteria = [criterion(name) for name in "abcde"]
    part = Part(method="hypoeval", settings={"ask": ask}, criteria=criteria)
    estimate, judge = scoring_at_most(TEXTS[0], part, assignment()), scripted()
    await rate(TEXTS[0], criteria, assignment(), judge, ask)
    assert spent(judge) == estimate
    assert estimate.calls == (5 if ask == "separately" else 1)


def test_more_texts_and_longer_texts_take_more():
    settings = HypoEvalSettings()
    few, many = (learning_at_most(TrainingInput(tuple(examples(n)), assignment()), settings) for n in (15, 30))
    longer = [replace(text, output=text.output * 100) for text in examples(15)]
    long, _ = learning_at_most(TrainingInput(tuple(longer), assignment()), settings)
    assert few[0].calls < many[0].calls
    assert long.calls == few[0].calls
    assert long.prompt_tokens > few[0].prompt_tokens


def test_estimates_add_up():
    one = CallEstimate(1, 10, 100)
    assert one + one == one * 2 == CallEstimate(2, 20, 200)
