"""What learning by all methods together takes at the default settings, counted over realistic sizes."""

from collections import Counter
from typing import Any

from checkeval_scripts import Scripted as CheckEvalScript
from checkeval_scripts import checklist
from hypoeval_scripts import Scripted as HypoEvalScript
from hypoeval_scripts import assignment, examples, findings
from overall_scripts import Overall

from rubriclab.judges import FakeJudge
from rubriclab.learning.candidates import JOINT_SETTINGS, Plan, find_candidates, learning_at_most
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import Lesson
from rubriclab.prompts import Prompt

# Four sub-dimensions of two seeds, as the checklists that ship.
LESSON = Lesson(examples(30), assignment(), findings(), checklist((2, 2, 2, 2)))
NAMES = ("hypoeval", "checkeval", "seeval", "direct")
MOST = 200


def answer() -> Any:
    """Return a script for all methods: hypotheses are all new, ratings miss the labels by lot, nothing repeats."""
    scripts = {"hypoeval": HypoEvalScript(), "checkeval": CheckEvalScript(), "sameness": CheckEvalScript()}
    overall = Overall()

    def script(prompt: Prompt[Any]) -> Any:
        return scripts.get(prompt.name.split("/")[0], overall)(prompt)

    return script


def plans() -> list[Plan]:
    return [Plan(METHODS[name], LESSON, METHODS[name].settings(**JOINT_SETTINGS.get(name, {}))) for name in NAMES]


async def test_learning_from_thirty_texts_takes_at_most_two_hundred_calls():
    judge, generator = FakeJudge(answer()), FakeJudge(answer())
    await find_candidates(plans(), judge=judge, generator=generator, seed=1)
    asked = Counter(prompt.name for prompt in (*judge.asked, *generator.asked))
    assert asked.total() <= MOST, asked
    assert asked["sameness/group"] == 2


def test_the_most_that_is_told_beforehand_is_two_hundred_calls_too():
    judge, generator = learning_at_most(plans())
    assert judge.calls + generator.calls <= MOST
