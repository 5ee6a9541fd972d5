"""SEEval's estimate: never less than what is then asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from holistic_scripts import graded, labels_of, overall, part, spent, whole, within
from hypoeval_scripts import assignment

from rubriclab.data import Example
from rubriclab.digest import digest
from rubriclab.methods.estimate import CallEstimate, longest
from rubriclab.methods.method import TrainingInput, silent
from rubriclab.methods.seeval import SEEVAL, SEEvalSettings
from rubriclab.methods.seeval.explain import LONGEST, LONGEST_REFINED

TEXTS = tuple(
    replace(text, output=f"{text.output} {'长 ' * i} {'word ' * (40 - i)}", source="A source. " * (i % 7))
    for i, text in enumerate(graded(24, groups=8))
)
LABEL = labels_of(TEXTS)
CHOICES = [
    {},
    {"explanations": 1, "refine": False},
    {"explanations": 1},
    {"explanations": 5, "shown": 12},
    {"scoring": "weighted", "samples": 4},
]


def judge(long: bool = False):
    """Gain by rewriting, so that every step is taken; `long` words everything as long as it may be."""

    def score(prompt):
        label = LABEL[prompt.fields["output"]]
        return label if prompt.fields["explanation"].startswith("Rewritten") else label % 5 + 1

    def explain(prompt):
        return {"explanation": f"Number {prompt.sample:3d}. {'word ' * (LONGEST - 4 if long else 9)}"}

    def refine(prompt):
        shown = digest([item["output"] for item in prompt.fields["observations"]])
        words = "word " * (LONGEST_REFINED - 40 if long else 9)
        return {"reasoning": "Compared.", "explanation": f"Rewritten {shown[-8:]}. {words}"}

    return overall(score, seeval__explain=explain, seeval__refine=refine)


@pytest.mark.parametrize("long", [False, True], ids=["brief", "long"])
@pytest.mark.parametrize("chosen", CHOICES, ids=str)
async def test_learning_never_asks_more_than_was_told(chosen, long):
    training_input, settings = TrainingInput(TEXTS, assignment()), SEEvalSettings(**chosen)
    fake, generator = judge(long), judge(long)
    await SEEVAL.learn(training_input, settings, judge=fake, generator=generator, seed=1, on_progress=silent)
    for_judge, for_generator = SEEVAL.learning_at_most(training_input, settings)
    assert within(fake, for_judge), (spent(fake), for_judge)
    assert within(generator, for_generator), (spent(generator), for_generator)


@pytest.mark.parametrize("chosen", CHOICES[:3], ids=str)
async def test_where_every_step_is_taken_the_calls_are_those_told(chosen):
    training_input, settings = TrainingInput(TEXTS, assignment()), SEEvalSettings(**chosen)
    fake, generator = judge(), judge()
    await SEEVAL.learn(training_input, settings, judge=fake, generator=generator, seed=1, on_progress=silent)
    for_judge, for_generator = SEEVAL.learning_at_most(training_input, settings)
    assert spent(fake).calls == for_judge.calls
    assert spent(generator).calls == for_generator.calls


async def test_without_labels_one_explanation_is_all():
    training_input, settings = TrainingInput((), assignment()), SEEvalSettings()
    fake = judge()
    await SEEVAL.learn(training_input, settings, judge=fake, generator=fake, seed=1, on_progress=silent)
    assert SEEVAL.learning_at_most(training_input, settings) == (spent(fake), CallEstimate())
    assert spent(fake).calls == 1


@pytest.mark.parametrize(("chosen", "calls"), [({}, 1), ({"scoring": "weighted", "samples": 7}, 7)], ids=str)
async def test_scoring_takes_the_calls_and_tokens_that_were_told(chosen, calls):
    learned = part("seeval", whole("What I understand. " * 20), **chosen)
    most = SEEVAL.scoring_at_most(TEXTS[0], learned, assignment())
    fake = overall(lambda _: 3)
    await SEEVAL.score(TEXTS[0], learned, assignment(), fake)
    assert spent(fake) == most
    assert most.calls == calls


def test_the_longest_texts_are_those_with_the_most_bytes_whatever_part_they_are_in():
    texts = [
        Example("a", "x" * 50, "g"),
        Example("b", "长" * 30, "g"),
        Example("c", "x", "g", source="x" * 60),
        Example("d", "x", "g", context="x" * 70),
        Example("e", "\ud800", "g"),
    ]
    assert [text.id for text in longest(texts, 4)] == ["b", "d", "c", "a"]
    assert longest(texts, 9)[-1].id == "e"
    assert longest([], 3) == ()


def test_longer_texts_take_more_tokens_and_no_more_calls():
    learned = part("seeval", whole("What I understand."))
    longer = replace(TEXTS[0], output=TEXTS[0].output * 9)
    short, long = (SEEVAL.scoring_at_most(text, learned, assignment()) for text in (TEXTS[0], longer))
    assert long.prompt_tokens > short.prompt_tokens
    assert (long.calls, long.completion_tokens) == (short.calls, short.completion_tokens)
