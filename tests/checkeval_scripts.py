"""What the tests of CheckEval share: checklists, questions, and judges that answer by script."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypoeval_scripts import ASPECT, assignment, words  # noqa: F401

from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.questions import make_question
from rubriclab.methods.sources import Checklist, SubDimension
from rubriclab.models.base import digest
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import Example
from rubriclab.prompts.prompt import Prompt

Said = Mapping[str, Any] | str
AnswerOf = Callable[[str, str, str], str]
"""The answer to a question (id and text) about an output."""


def checklist(sizes: Sequence[int] = (1, 2), **fields: Any) -> Checklist:
    """Return a checklist for the coherence of summaries: side 1 has the seeds a1 ..., side 2 b1 ..."""
    subs = [
        {
            "name": f"Side {number + 1}",
            "definition": f"What {words(f'side {number}', 4)} means.",
            "questions": [
                {"id": f"{letter}{place}", "text": wording(f"{letter}{place}")} for place in range(1, size + 1)
            ],
        }
        for number, (letter, size) in enumerate(zip("abcdefgh", sizes, strict=False))
    ]
    told = {
        "format": "rubriclab-checklist/1",
        "task": "summarization",
        "aspect": ASPECT,
        "definition": "It holds together.",
        "sub_dimensions": subs,
        **fields,
    }
    return Checklist.model_validate(told)


def wording(name: str) -> str:
    """Return a question unlike those of any other name."""
    return f"{words(f'question {name}', 10)}?"


def stated(text: str, **fields: str) -> dict[str, str]:
    """Return a new question as a generator gives it."""
    return {"text": text, "absent": "no", "broken": "no", **fields}


def question(name: str, trait: str = "Side 1", seed: str | None = None, **fields: Any) -> Criterion:
    """Return a question with the id `name`; a seed unless it names one."""
    fields = {"origin": "elaborated", **fields} if seed else fields
    sub = SubDimension.model_validate({"name": trait, "definition": "d", "questions": [{"id": "x", "text": "x"}]})
    return make_question(name, fields.pop("text", wording(name)), sub, seed, **fields)


def seeds(given: Checklist) -> tuple[Criterion, ...]:
    """Return the checklist's own questions."""
    return tuple(
        make_question(each.id, each.text, sub, better=each.better)
        for sub in given.sub_dimensions
        for each in sub.questions
    )


def by_lot(name: str, _text: str, output: str, seed: int = 0) -> str:
    """Return yes or no by lot: the same for the same question and output."""
    return random.Random(digest([seed, name, output])).choice(["yes", "no"])


def answers(prompt: Prompt[Any], of: AnswerOf = by_lot) -> dict[str, Any]:
    """Return a sound reply to an answer prompt."""
    questions = [each for sub in prompt.fields["sub_dimensions"] for each in sub["questions"]]
    given = {each["id"]: of(each["id"], each["text"], prompt.fields["output"]) for each in questions}
    return (
        given if prompt.fields["bare"] else {name: {"reason": "Seen.", "answer": said} for name, said in given.items()}
    )


def verdict(**fields: str) -> dict[str, str]:
    """Return a verdict with nothing to find fault with, except for `fields`."""
    sound = {
        "reasoning": "Fits.",
        "absent": "n/a",
        "broken": "no",
        "yes_means": "better",
        "about": ASPECT,
        "style": "fine",
    }
    return {**sound, **fields}


def verdicts(prompt: Prompt[Any], **faults: Mapping[str, str]) -> dict[str, Any]:
    """Return a reply to a filter prompt that finds `faults` by id (with `_` for `-`) and nothing else."""
    ids = [each["id"] for each in prompt.fields["questions"]]
    return {name: verdict(**faults.get(name.replace("-", "_"), {})) for name in ids}


class Scripted:
    """The usual answers to every prompt of CheckEval; `answers` replaces single ones by the template's name.

    New questions are all unlike, the filter finds no fault, and texts are answered for by lot.
    """

    def __init__(self, **replaced: Callable[[Prompt[Any]], Said]) -> None:
        self._answers: dict[str, Callable[[Prompt[Any]], Said]] = {
            "seeds": lambda _: written_seeds(3),
            "diversify": self._diversify,
            "elaborate": self._elaborate,
            "filter": verdicts,
            "diversify_dimension": self._diversify_dimension,
            "filter_dimension": lambda _: {"removed": []},
            "group": lambda _: {"groups": []},
            "answer": answers,
            **replaced,
        }

    def __call__(self, prompt: Prompt[Any]) -> Said:
        return self._answers[prompt.name.rsplit("/", 1)[1]](prompt)

    @staticmethod
    def _diversify(prompt: Prompt[Any]) -> Said:
        name, seed = prompt.fields["sub_dimension"]["name"], prompt.fields["questions"][-1]["id"]
        new = [{"seed": seed, **stated(wording(f"{name} side {number}"))} for number in range(prompt.fields["count"])]
        return {"reasoning": "Missed.", "questions": new}

    @staticmethod
    def _diversify_dimension(prompt: Prompt[Any]) -> Said:
        seeds = [seed["id"] for sub in prompt.fields["sub_dimensions"] for seed in sub["questions"]]
        new = [
            {"seed": seed, "text": wording(f"{seed} side {n}")}
            for seed, n in zip(seeds * 20, range(prompt.fields["count"]), strict=False)
        ]
        return {"reasoning": "Missed.", "questions": new}

    @staticmethod
    def _elaborate(prompt: Prompt[Any]) -> Said:
        name, count = prompt.fields["question"]["id"], prompt.fields["fewest"]
        return {
            "reasoning": "Parts.",
            "questions": [stated(wording(f"{name} point {number}")) for number in range(count)],
        }


def written_seeds(count: int, each: int = 1) -> dict[str, Any]:
    """Return a reply with so many sub-dimensions of so many seed questions."""
    subs = [
        {
            "name": f"Written {number}",
            "definition": f"What {number} is.",
            "questions": [wording(f"written {number} {place}") for place in range(each)],
        }
        for number in range(1, count + 1)
    ]
    return {"reasoning": "Known.", "sub_dimensions": subs}


def scripted(**replaced: Callable[[Prompt[Any]], Said]) -> FakeJudge:
    """Return a fake judge with the usual answers, except for those replaced."""
    return FakeJudge(Scripted(**replaced))


def of_kind(judge: FakeJudge, name: str) -> list[Prompt[Any]]:
    """Return the prompts of one template that the judge was asked, repairs aside."""
    return [prompt for prompt in judge.prompts if prompt.name.endswith(f"/{name}") and prompt.repair is None]


def text(output: str = "Some words.", **fields: Any) -> Example:
    """Return a text to judge."""
    return Example(id="t", output=output, group="g", **fields)
