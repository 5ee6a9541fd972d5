"""Everything about a text in one reply of the offline judge: the figures of its separate replies."""

from __future__ import annotations

from typing import Any

import pytest
from checkeval_scripts import question
from commands import LABELLED
from holistic_scripts import part as overall_part, whole
from single_call_scripts import part_of

from rubriclab.checklist import load_checklist
from rubriclab.data import Assignment, Example, Scale, find_aspect, read, task_words
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.embedded.questions import own_question
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import TrainingInput, silent
from rubriclab.methods.questions import make_question
from rubriclab.methods.seeval.explain import elicit
from rubriclab.methods.single_call import judge_all
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, Evidence, Level, Part

SCALES = [Scale(low=1, high=5, whole=True), Scale(low=0, high=1, whole=False)]
HYPOTHESES = {
    "length": ("It is long.", "Hardly a sentence.", "Many long sentences."),
    "copying": ("It keeps the words of the source.", "Nothing is copied from the source.", "All of it is copied."),
    "kindness": ("It is kind to its reader.", "It is rude.", "It is warm."),
}


class Counting(EmbeddedJudge):
    """The offline judge, which counts what it is asked."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def reply(self, prompt: Prompt[Any]) -> Any:
        self.prompts.append(prompt.name)
        return await super().reply(prompt)


def about(scale: Scale) -> Assignment:
    return Assignment(task_words("summarization"), find_aspect("summarization", "coherence"), scale)


def hypotheses(scale: Scale) -> Part:
    low, high = scale.anchors()[0], scale.anchors()[-1]
    criteria = (
        Criterion(
            id=name,
            kind="hypothesis",
            trait=name,
            statement=statement,
            levels=(Level(score=low, description=worst), Level(score=high, description=best)),
            evidence=Evidence(origin="labels"),
        )
        for name, (statement, worst, best) in HYPOTHESES.items()
    )
    return part_of("hypoeval", *criteria)


def questions() -> Part:
    checklist = load_checklist("summarization", "coherence")
    found = [
        make_question(each.id, each.text, sub, better=each.better)
        for sub in checklist.sub_dimensions
        for each in sub.questions
    ]
    unanswerable = question("nothing", text=own_question("context_covered", 50, rising=True))
    dimensions = {sub.name: sub.definition for sub in checklist.sub_dimensions}
    return part_of("checkeval", *found, unanswerable, dimensions=dimensions)


async def whole_scores(assignment: Assignment) -> tuple[Part, ...]:
    judge = EmbeddedJudge()
    seeval = METHODS["seeval"].settings()
    (explanation,) = await elicit(1, assignment, judge, seeval)  # type: ignore[arg-type]
    geval = METHODS["geval"]
    learned = await geval.learn(
        TrainingInput((), assignment),
        geval.settings(scoring="once"),
        judge=judge,
        generator=judge,
        seed=1,
        on_progress=silent,
    )
    steps = learned.part.criteria[0].model_copy(update={"id": "steps"})
    return (
        overall_part("seeval", whole(explanation, id="explained")),
        overall_part("direct", whole("Something else entirely.", id="direct")),
        learned.part.model_copy(update={"criteria": (steps,)}),
    )


@pytest.mark.parametrize("scale", SCALES, ids=["1 to 5", "0 to 1"])
async def test_one_reply_says_what_the_separate_replies_say(scale: Scale):
    assignment = about(scale)
    parts = (hypotheses(scale), questions(), *(await whole_scores(assignment)))
    texts = [row for row in read(str(LABELLED)) if isinstance(row, Example)][:6]
    texts.append(Example(id="bare", output="Hm", group="g"))
    found = []
    for text in texts:
        judge = Counting()
        together = await judge_all(text, parts, assignment, judge)
        assert judge.prompts == ["single_call/judge"]
        apart = [await METHODS[part.method].score(text, part, assignment, EmbeddedJudge()) for part in parts]
        assert together == tuple(rated for _, ratings in apart for rated in ratings)
        found.append({rated.criterion: rated.score for rated in together})
    varying = {name for name in found[0] if len({scores[name] for scores in found}) > 1}
    assert varying >= {"length", "explained", "direct", "steps"}
    assert varying & {question.id for question in parts[1].criteria}
    assert {scores["nothing"] for scores in found} == {None}
