"""What learning by all methods together takes at the default settings, counted over realistic sizes."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from checkeval_scripts import Scripted as CheckEvalScript, checklist, stated
from holistic_scripts import Overall
from hypoeval_scripts import Scripted as HypoEvalScript, assignment, examples, findings, words
from single_call_scripts import sound

from rubriclab.judges.judge import FakeJudge
from rubriclab.judges.providers import estimated_tokens
from rubriclab.learning.candidates import MAX_ENTRIES, Plan
from rubriclab.learning.estimate import estimate_learning
from rubriclab.learning.fitting import JointSettings
from rubriclab.learning.train import learning_calls, train_joint
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import TrainingInput
from rubriclab.prompts import render
from rubriclab.prompts.prompt import Prompt

# In words, as language models and the public sets have them: 500 in a source, 60 in a summary, 90 in the levels of a
# hypothesis, 17 in a question, 340 in an explanation.
TEXTS = tuple(
    replace(each, source=words(f"source {each.group}", 500), output=words(each.id, 60)) for each in examples(30)
)
# Four sub-dimensions of two seeds, as the checklists that ship.
LESSON = TrainingInput(TEXTS, assignment(), findings(), checklist((2, 2, 2, 2)))
NAMES = ("hypoeval", "checkeval", "seeval", "direct")
MOST_CALLS, MOST_TOKENS = 120, 300_000
# A token is about three quarters of a word; these made-up words have seven characters with the space, English ones six.
CHARACTERS_PER_TOKEN = 0.75 * 7


def answer() -> Any:
    """Return a script for all methods: hypotheses are all new, ratings miss the labels by lot, nothing repeats."""
    scripts = {
        "hypoeval": HypoEvalScript(propose=hypotheses()),
        "checkeval": CheckEvalScript(elaborate=finer),
        "deduplication": CheckEvalScript(),
        "single_call": sound,
    }
    overall = Overall(seeval__explain=lambda _: {"explanation": words("explanation", 340)})

    def script(prompt: Prompt[Any]) -> Any:
        return scripts.get(prompt.name.split("/")[0], overall)(prompt)  # type: ignore[operator]

    return script


def hypotheses() -> Callable[[Prompt[Any]], Any]:
    """Return a script that proposes hypotheses of usual length, all different."""
    numbers = itertools.count()

    def propose(prompt: Prompt[Any]) -> Any:
        names = [f"trait {next(numbers)}" for _ in range(prompt.fields["count"])]
        return {"reasoning": "Compared.", "hypotheses": [long_hypothesis(name) for name in names]}

    return propose


def long_hypothesis(name: str) -> dict[str, Any]:
    levels = [{"score": anchor, "description": words(f"{name} {anchor}", 18)} for anchor in range(1, 6)]
    return {"trait": name, "statement": words(name, 37), "levels": levels}


def finer(prompt: Prompt[Any]) -> Any:
    name = prompt.fields["question"]["id"]
    new = [stated(f"{words(f'{name} point {number}', 17)}?") for number in range(prompt.fields["most"])]
    return {"reasoning": "Split.", "questions": new}


def plans() -> list[Plan]:
    return [Plan(METHODS[name], LESSON, METHODS[name].settings(**METHODS[name].joint_settings)) for name in NAMES]


def asked(settings: JointSettings) -> list[Prompt[Any]]:
    judge, generator = FakeJudge(answer()), FakeJudge(answer())
    asyncio.run(train_joint(plans(), settings, judge=judge, generator=generator, seed=1))
    return [*judge.prompts, *generator.prompts]


def tokens(prompts: Sequence[Prompt[Any]]) -> float:
    return sum(len(message["content"]) for prompt in prompts for message in render(prompt)) / CHARACTERS_PER_TOKEN


def test_learning_from_thirty_texts_takes_at_most_120_calls_and_300_000_tokens() -> None:
    prompts = asked(JointSettings())
    found = Counter(prompt.name for prompt in prompts)
    assert found.total() <= MOST_CALLS, found
    assert tokens(prompts) <= MOST_TOKENS
    # All criteria in two calls a text, and the judge without a rubric in one, which the verdict compares with.
    assert (found["single_call/judge"], found["direct/rate"]) == (60, 30)
    # Of the first hypotheses, of the checklist, and of the hypotheses from texts that are rated wrongly.
    assert found["deduplication/group"] == 3


def test_a_call_is_about_at_most_twenty_criteria_and_each_is_asked_about_once_for_each_text() -> None:
    shown = [
        (prompt.fields["output"], [each.id for each in prompt.reply.asked])
        for prompt in asked(JointSettings())
        if prompt.name == "single_call/judge"
    ]
    assert max(len(ids) for _, ids in shown) <= MAX_ENTRIES
    often = Counter((output, name) for output, ids in shown for name in ids)
    assert set(often.values()) == {1}
    assert len(often) == len(TEXTS) * len({name for _, name in often})


def test_more_hypotheses_come_from_texts_that_the_first_ones_rate_wrongly_in_half_of_the_groups_at_most() -> None:
    *_, last = [prompt for prompt in asked(JointSettings()) if prompt.name == "hypoeval/propose"]
    shown = {each["output"] for each in last.fields["observations"]}
    texts = [text for text in TEXTS if text.output in shown]
    assert len(texts) == len(shown) > 0
    assert len({text.group for text in texts}) <= len({text.group for text in TEXTS}) / 2
    for each in last.fields["observations"]:
        verdicts = [prediction["verdict"] for prediction in each["predictions"]]
        assert sum(verdict != "close" for verdict in verdicts) >= len(verdicts) / 2


@pytest.mark.parametrize("ask", ["by method", "in one call"])
def test_every_way_of_asking_takes_about_the_calls_and_tokens_that_are_stated(ask: Any) -> None:
    settings = JointSettings(ask=ask)
    calls = learning_calls(plans(), settings)
    prompts = asked(settings)
    found = Counter(prompt.name for prompt in prompts)
    assert found.total() == pytest.approx(calls.judge + calls.generator, rel=0.3)
    assert (found["checkeval/answer"], found["single_call/judge"]) == ((30, 0) if ask == "by method" else (0, 60))
    estimates = estimate_learning(calls, LESSON.assignment, TEXTS)
    read = sum(estimated_tokens(render(prompt)) for prompt in prompts)
    assert sum(each.prompt_tokens for each in estimates) == pytest.approx(read, rel=0.3)
