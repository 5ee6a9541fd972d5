"""What learning by all methods together takes at the default settings, counted over realistic sizes."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from checkeval_scripts import Scripted as CheckEvalScript, checklist
from holistic_scripts import Overall
from hypoeval_scripts import Scripted as HypoEvalScript, assignment, examples, findings
from single_call_scripts import sound

from rubriclab.judges import FakeJudge
from rubriclab.learning import joint
from rubriclab.learning.candidates import Plan
from rubriclab.learning.settings import JointSettings
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import TrainingInput
from rubriclab.prompts import Prompt

# Four sub-dimensions of two seeds, as the checklists that ship.
LESSON = TrainingInput(examples(30), assignment(), findings(), checklist((2, 2, 2, 2)))
NAMES = ("hypoeval", "checkeval", "seeval", "direct")
MOST = 200


def answer() -> Any:
    """Return a script for all methods: hypotheses are all new, ratings miss the labels by lot, nothing repeats."""
    scripts = {"hypoeval": HypoEvalScript(), "checkeval": CheckEvalScript(), "deduplication": CheckEvalScript()}
    overall = Overall()

    def script(prompt: Prompt[Any]) -> Any:
        return {**scripts, "single_call": sound}.get(prompt.name.split("/")[0], overall)(prompt)  # type: ignore[operator]

    return script


def plans() -> list[Plan]:
    return [Plan(METHODS[name], LESSON, METHODS[name].settings(**METHODS[name].joint_settings)) for name in NAMES]


def asked(settings: JointSettings) -> Counter[str]:
    judge, generator = FakeJudge(answer()), FakeJudge(answer())
    asyncio.run(joint.train(plans(), settings, judge=judge, generator=generator, seed=1))
    return Counter(prompt.name for prompt in (*judge.prompts, *generator.prompts))


def test_learning_from_thirty_texts_takes_at_most_two_hundred_calls() -> None:
    found = asked(JointSettings())
    assert found.total() <= MOST, found
    assert found["single_call/judge"] == 30
    # Of the union, of the checklist, and each time that wrong examples lead to new hypotheses.
    assert found["deduplication/group"] == 2 + 2


@pytest.mark.parametrize("ask", ["by method", "in one call"])
def test_every_way_of_asking_takes_about_the_calls_that_are_stated(ask: Any) -> None:
    settings = JointSettings(ask=ask)
    stated = joint.learning_calls(plans(), settings)
    found = asked(settings)
    assert found.total() == pytest.approx(stated.judge + stated.generator, rel=0.3)
    assert (found["checkeval/answer"], found["single_call/judge"]) == ((30, 0) if ask == "by method" else (0, 30))
