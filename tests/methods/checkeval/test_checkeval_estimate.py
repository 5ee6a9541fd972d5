"""The estimate told before anything is asked: never less than what is then asked."""

from dataclasses import replace
from typing import Any

import pytest
from checkeval_scripts import Scripted, assignment, checklist, scripted, seeds, text, wording
from holistic_scripts import spent, within
from hypoeval_scripts import examples

from rubriclab.errors import ChecklistError
from rubriclab.judges import FakeJudge
from rubriclab.methods.checkeval import CHECKEVAL, CheckEvalSettings
from rubriclab.methods.checkeval.estimate import learning_at_most, scoring_at_most
from rubriclab.methods.checkeval.learn import learn
from rubriclab.methods.checkeval.settings import PRESETS
from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.method import TrainingInput
from rubriclab.rubric import Part

TEXTS = tuple(replace(each, output=f"{each.output} " * 40) for each in examples(6))
TWO = checklist((1, 3, 2))
CHOICES: list[dict[str, Any]] = [
    {},
    {"ask": "together"},
    {"ask": "one by one"},
    {"part_words": 50},
    {"filter": "labels"},
    {"filter": "off", "most_questions": 200},
    {"diversified": 0},
    {"elaborated_most": 0},
    {"diversified": 0, "elaborated_most": 0, "most_questions": 2},
    {"elaborated_fewest": 10, "most_questions": 9},
    dict(PRESETS["paper"]),
]


def in_doubt() -> FakeJudge:
    """Word the questions so that every pair has to be asked about."""
    script = Scripted()

    def reworded(prompt):
        told = script(prompt)
        for at, each in enumerate(told.get("questions", [])):
            doubtful = f"{wording('shared')} {at} {wording(str(each))[:20]}"
            told["questions"][at] = {**each, "text": doubtful}  # type: ignore[index]
        return told

    return FakeJudge(reworded)


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
async def test_learning_never_asks_more_than_was_told(chosen: dict[str, Any]):
    settings = CheckEvalSettings(**chosen)
    training_input = TrainingInput(TEXTS, assignment(), checklist=TWO)
    for generator in (scripted(), in_doubt()):
        judge = scripted()
        await learn(training_input, settings, judge=judge, generator=generator)
        for_judge, for_generator = learning_at_most(training_input, settings)
        assert within(judge, for_judge), (spent(judge), for_judge)
        assert within(generator, for_generator), (spent(generator), for_generator)


def test_calls_are_those_that_the_method_describes():
    training_input = TrainingInput(TEXTS, assignment(), checklist=TWO)
    judge, generator = learning_at_most(training_input, CheckEvalSettings(filter="labels"))
    assert (judge.calls, generator.calls) == (3 * len(TEXTS), 3 + 6)
    judge, generator = learning_at_most(training_input, CheckEvalSettings(diversified=0, elaborated_most=0))
    assert (judge.calls, generator.calls) == (3 * len(TEXTS), 3 + 1)


def test_without_labels_nothing_is_asked_of_the_judge():
    judge, generator = learning_at_most(TrainingInput((), assignment(), checklist=TWO), CheckEvalSettings())
    assert judge == CallEstimate()
    assert generator.calls > 9


def test_without_seed_questions_there_is_nothing_to_estimate():
    with pytest.raises(ChecklistError):
        learning_at_most(TrainingInput(TEXTS, assignment()), CheckEvalSettings())


@pytest.mark.parametrize(
    ("chosen", "calls"),
    [({}, 3), ({"ask": "together"}, 1), ({"ask": "one by one"}, 6), ({"part_words": 50}, 9), ({"part_words": 150}, 3)],
    ids=str,
)
async def test_scoring_asks_what_was_told(chosen: dict[str, Any], calls: int):
    part = Part(
        method="checkeval",
        settings=CheckEvalSettings(**chosen).model_dump(mode="json"),
        criteria=seeds(TWO),
        dimensions={sub.name: sub.definition for sub in TWO.sub_dimensions},
    )
    example, judge = text("One two three four five. " * 30), scripted()
    await CHECKEVAL.score(example, part, assignment(), judge)
    told = scoring_at_most(example, part, assignment())
    assert told.calls == calls
    assert told == spent(judge)
