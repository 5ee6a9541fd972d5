"""What the tests of DCR share: a comparison's checklist, texts, and judges that compare by script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypoeval_scripts import assignment

from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.dcr import DCRSettings, make_criterion
from rubriclab.methods.sources import Checklist
from rubriclab.models.rubric import Part
from rubriclab.models.text import Example, Units
from rubriclab.prompts.prompt import Prompt

Said = Mapping[str, Any] | str
SOURCE = "Ann met Bo in Ulm. They spoke of rain."
CHECKS = ("Is all of it said there?", "Does it change a name?")

# The longer way, with a second call that reads the reasons.
CONVERTED = {"verdict": "converted"}


def checklist(units: Mapping[str, Any] | None = None, **fields: Any) -> Checklist:
    """Return a checklist of two checks for the coherence of summaries, the second one about a fault."""
    questions = [{"id": "c1", "text": CHECKS[0]}, {"id": "c2", "text": CHECKS[1], "better": "no"}]
    told = {
        "format": "rubriclab-checklist/1",
        "task": "summarization",
        "aspect": "coherence",
        "definition": "It agrees.",
        "sub_dimensions": [{"name": "Agreement", "definition": "What agrees.", "questions": questions}],
        "units": units or {"kind": "sentence", "beside": ["source"]},
        **fields,
    }
    return Checklist.model_validate(told)


def part(material: Any = "source", **chosen: Any) -> Part:
    """Return a part that holds sentences against `material`, with settings as chosen."""
    return Part(
        method="dcr",
        settings=DCRSettings(**CONVERTED | chosen).model_dump(mode="json"),
        criteria=(make_criterion(checklist(), material, assignment()),),
        units=Units(kind="sentence", beside=(material,)),
    )


def text(output: str, source: str | None = SOURCE, **fields: Any) -> Example:
    """Return a text to judge."""
    return Example(**{"id": "t", "group": "g", "output": output, "source": source, **fields})


def sentences(count: int, bad: Sequence[int] = ()) -> str:
    """Return so many sentences; those numbered in `bad`, from 1, are false."""
    return " ".join(f"Claim {n} is {'false' if n in bad else 'true'}." for n in range(1, count + 1))


def is_true(sentence: str) -> bool:
    """Return whether a sentence is consistent, as the usual script sees it."""
    return "false" not in sentence


def reason(sentence: str, of: Callable[[str], bool] = is_true) -> str:
    """Return the usual reason for a sentence."""
    return f"It says: {sentence} So it is {'' if of(sentence) else 'not '}consistent."


def evaluation(prompt: Prompt[Any], of: Callable[[str], bool] = is_true) -> dict[str, Any]:
    """Return a sound reply to an evaluate prompt."""
    entries = {}
    for each in prompt.fields["sentences"]:
        entries[f"sentence {each['id']}"] = finding(prompt, each["text"], of)
    return entries


def finding(prompt: Prompt[Any], sentence: str, of: Callable[[str], bool] = is_true) -> dict[str, Any]:
    """Return the usual reason for a sentence, with a verdict if the prompt asks for one."""
    verdict = {"consistent": "yes" if of(sentence) else "no"} if prompt.fields["verdict"] else {}
    return {"reason": reason(sentence, of), **verdict}


def split_as(*sentences: str) -> Callable[[Prompt[Any]], dict[str, Any]]:
    """Return the reply of a judge that splits the text into `sentences`."""
    return lambda prompt: {"sentences": [{"sentence": each, **finding(prompt, each)} for each in sentences]}


def marks(prompt: Prompt[Any]) -> dict[str, Any]:
    """Return a sound reply to a convert prompt."""
    return {
        f"report {each['id']}": {"thought": "Clear.", "mark": -1 if "not consistent" in each["text"] else 1}
        for each in prompt.fields["reasons"]
    }


class Scripted:
    """The usual answers to both prompts of DCR, except for those replaced."""

    def __init__(self, **replaced: Callable[[Prompt[Any]], Said]) -> None:
        self._answers: dict[str, Callable[[Prompt[Any]], Said]] = {"evaluate": evaluation, "convert": marks, **replaced}

    def __call__(self, prompt: Prompt[Any]) -> Said:
        return self._answers[prompt.name.removeprefix("dcr/")](prompt)


def scripted(**replaced: Callable[[Prompt[Any]], Said]) -> FakeJudge:
    """Return a fake judge with the usual answers, except for those replaced."""
    return FakeJudge(Scripted(**replaced))


def of_kind(judge: FakeJudge, name: str) -> list[Prompt[Any]]:
    """Return the prompts of one template that the judge was asked, repairs aside."""
    return [prompt for prompt in judge.prompts if prompt.name == f"dcr/{name}" and prompt.repair is None]


def repairs(judge: FakeJudge, name: str) -> list[Prompt[Any]]:
    """Return the repairs of one template that the judge was asked for."""
    return [prompt for prompt in judge.prompts if prompt.name == f"dcr/{name}" and prompt.repair is not None]
