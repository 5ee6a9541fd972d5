"""What the tests of improving share: a text, rubrics, and a judge that finds "wrong" words and mends them."""

from collections.abc import Callable, Mapping
from typing import Any

from hypoeval_scripts import assignment, criterion

from rubriclab.judges.judge import FakeJudge, Judge
from rubriclab.learning.rewriting import TextFault
from rubriclab.models.rubric import Criterion, Evidence, Part, Rubric
from rubriclab.models.text import Example, Material, Units
from rubriclab.ops.improve import Improvement, improve_stream
from rubriclab.prompts.prompt import Prompt

TEXT = Example(
    id="t1",
    output="First one. Second one. Third one.",
    group="g1",
    source="Three of them.",
    system="s1",
    scores={"coherence": 2.0},
    annotations={"coherence": (1.0, 3.0)},
)

Script = Callable[[Prompt[Any]], Any]


async def improve_text(rubric: Rubric, text: Example, judge: Judge, ref: str, **options: Any) -> Improvement:
    """Return what becomes of a single text."""
    (found,) = [each async for each in improve_stream(rubric, [text], judge, ref, **options)]
    return found


def fault(*sentences: int) -> TextFault:
    """Return a fault of these sentences; of the whole text, if there are none."""
    return TextFault("order", "Does it follow?", "yes", sentences, "It does not follow.")


def sentence_rubric(beside: Material = "source") -> Rubric:
    """Return a rubric by which each sentence is judged beside a text: DCR with the verdict in the same reply."""
    whole = Criterion(
        id="score",
        kind="score",
        trait="coherence",
        statement="The checks:\n- Is it so?",
        evidence=Evidence(origin="written by hand"),
    )
    units = Units(kind="sentence", beside=(beside,))
    return _rubric(Part(method="dcr", settings={"verdict": "with the reason"}, criteria=(whole,), units=units))


def hypotheses(*names: str) -> Rubric:
    """Return a rubric by which whole texts are judged."""
    return _rubric(
        Part(method="hypoeval", settings={"ask": "separately"}, criteria=tuple(map(criterion, names or ("a",))))
    )


def _rubric(part: Part) -> Rubric:
    given = assignment()
    return Rubric(task="summarization", aspect=given.aspect, scale=given.scale, parts=(part,))


def verdicts(prompt: Prompt[Any], bad: str = "wrong") -> Mapping[str, Any]:
    """Return a reply by which each sentence with the word `bad` is inconsistent."""
    told = [(each["id"], bad in each["text"]) for each in prompt.fields["sentences"]]
    return {
        "sentences": [
            {
                "sentence": number,
                "reason": f"It is {'not ' if wrong else ''}so.",
                "consistent": "no" if wrong else "yes",
            }
            for number, wrong in told
        ]
    }


def mended(prompt: Prompt[Any], most: int = 99, good: str = "right") -> Mapping[str, Any]:
    """Return a reply that puts the word `good` in place of "wrong" in the first failing sentences."""
    shown = [each for each in prompt.fields["sentences"] if each["id"] in prompt.fields["failing"]][:most]
    return {
        "sentences": [
            {"sentence": each["id"], "reasoning": "Put right.", "text": each["text"].replace("wrong", good)}
            for each in shown
        ]
    }


def scripted(name: str = "fake", **answers: Script) -> FakeJudge:
    """Return a judge that answers as above, except for `answers` by the template's name, as `rewrite` or `evaluate`."""
    known: dict[str, Script] = {"evaluate": verdicts, "rewrite": mended, **answers}
    judge = FakeJudge(lambda prompt: known[prompt.name.split("/")[1]](prompt))
    judge.name = name
    return judge
