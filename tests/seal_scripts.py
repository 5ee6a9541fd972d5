"""What the tests of SEAL share: packs, texts of so many sentences, and judges that answer by script."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypoeval_scripts import ASPECT, assignment, words

from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.seal.learn import pack_questions
from rubriclab.methods.seal.score import UNPACKED, SealSettings, VerificationPlan
from rubriclab.methods.sources import Checklist
from rubriclab.models.base import digest
from rubriclab.models.rubric import Part
from rubriclab.models.text import Example, split_sentences
from rubriclab.prompts.prompt import Prompt

Said = Mapping[str, Any] | str
Says = Callable[[str, str, str], bool]
"""Whether the answer to a question (by id) about a unit (its words) of an output is yes."""


def pack(kind: str = "sentence", sizes: Sequence[int] = (1, 2), **fields: Any) -> Checklist:
    """Return a pack for the coherence of summaries: side 1 has the questions a1 ..., side 2 b1 ...

    `beside` and `weights` go to its units; `better` and `support` map ids of questions to what is said of these.
    """
    better, support = fields.pop("better", {}), fields.pop("support", {})
    needed = {"beside": ("source", "reference")} if kind == "triple" else {}
    given = {name: fields.pop(name) for name in ("beside", "weights") if name in fields}
    units = {"kind": kind, **given, **needed}  # type: ignore[misc]
    subs = []
    for number, (letter, size) in enumerate(zip("abcdefgh", sizes, strict=False), 1):
        ids = [f"{letter}{place}" for place in range(1, size + 1)]
        questions = [
            {"id": i, "text": f"{words(i, 8)}?", "better": better.get(i, "yes"), "support": support.get(i)} for i in ids
        ]
        subs.append({"name": f"Side {number}", "definition": f"{words(f'side {number}', 4)}.", "questions": questions})
    told = {"format": "rubriclab-checklist/1", "task": "summarization", "aspect": ASPECT, "definition": "It holds."}
    return Checklist.model_validate({**told, "sub_dimensions": subs, "units": units, **fields})


def exam(given: Checklist | None = None, **settings: Any) -> VerificationPlan:
    """Return what is asked of every text by a pack."""
    given = given or pack()
    questions, dimensions = pack_questions(given)
    units = given.units or UNPACKED
    return VerificationPlan(questions, dimensions, units, assignment(), SealSettings(**settings))


def part(given: Checklist | None = None, **settings: Any) -> Part:
    """Return a pack as the part of a rubric."""
    asked = exam(given, **settings)
    return Part(
        method="seal",
        settings=asked.settings.model_dump(mode="json"),
        criteria=asked.questions,
        dimensions=asked.dimensions,
        units=asked.units,
    )


def sentences(count: int, name: str = "Sentence") -> str:
    """Return a text of so many sentences."""
    return " ".join(f"{name} number {number} says so." for number in range(1, count + 1))


def text(output: str | int = 3, **fields: Any) -> Example:
    """Return a text to judge: these words, or so many sentences."""
    return Example(id="t", output=sentences(output) if isinstance(output, int) else output, group="g", **fields)


def by_lot(question: str, unit: str, output: str, seed: int = 0) -> bool:
    """Return yes or no by lot: the same for the same question, unit and output."""
    return random.Random(digest([seed, question, unit, output])).random() < 0.5


def always(_question: str, _unit: str, _output: str) -> bool:
    """Return yes."""
    return True


class Scripted:
    """The usual answers to every prompt of SEAL; `replaced` replaces single ones by the template's name.

    Every sentence makes `per_sentence` facts, answers are what `says` says, support is the first fact shown, ratings
    are the ends of the scale, weights are `weights` or else 1, and proposals are all unlike.
    """

    def __init__(
        self,
        says: Says = by_lot,
        per_sentence: int = 2,
        weights: Mapping[str, Any] | None = None,
        **replaced: Callable[[Prompt[Any]], Said],
    ) -> None:
        self._says, self._facts, self._given = says, per_sentence, weights or {}
        self._replaced = replaced

    def __call__(self, prompt: Prompt[Any]) -> Said:
        name = prompt.name.removeprefix("seal/")
        if name in self._replaced:
            return self._replaced[name](prompt)
        said: dict[str, Any] = getattr(self, name)(prompt)
        return {**said, "weights": self._weights(prompt)} if prompt.fields.get("weigh") else said

    def facts(self, prompt: Prompt[Any]) -> dict[str, Any]:
        """Return so many facts of each sentence."""
        return {
            f"sentence {each['id']}": [f"Fact {n} of {each['what']} {each['id']}." for n in range(self._facts)]
            for each in prompt.fields["sentences"]
        }

    def split(self, prompt: Prompt[Any]) -> dict[str, Any]:
        """Return the sentences of a text."""
        return {"sentences": list(split_sentences(prompt.fields["text"]))}

    def verify(self, prompt: Prompt[Any]) -> dict[str, Any]:
        """Return an answer to every question about every unit."""
        return self._of_each(prompt, lambda yes: {"answer": "yes" if yes else "no"})

    def support(self, prompt: Prompt[Any]) -> dict[str, Any]:
        """Return the first fact for every claim that is supported."""
        first = prompt.fields["facts"][0]["id"]
        return self._of_each(prompt, lambda yes: {"facts": [first] if yes else []})

    def rate(self, prompt: Prompt[Any]) -> dict[str, Any]:
        """Return an end of the scale for every question about every unit."""
        scale = prompt.fields["scale"]
        ends = {True: scale["high"], False: scale["low"]}
        return self._of_each(prompt, lambda yes: {"score": ends[yes]})

    def propose(self, prompt: Prompt[Any]) -> dict[str, Any]:
        """Return as many sides as asked for."""
        names = [f"New side {number}" for number in range(1, prompt.fields["count"] + 1)]
        new = [{"name": name, "definition": words(f"{name} d", 4), "question": f"{words(name, 8)}?"} for name in names]
        return {"reasoning": "Compared.", "sub_dimensions": new}

    def _weights(self, prompt: Prompt[Any]) -> dict[str, Any]:
        return {question["id"]: self._given.get(question["id"], 1) for question in prompt.fields["questions"]}

    def _of_each(self, prompt: Prompt[Any], verdict: Callable[[bool], dict[str, Any]]) -> dict[str, Any]:
        fields = prompt.fields

        def entry(unit: Mapping[str, str], question: str) -> Any:
            found = verdict(self._says(question, shown(unit), fields["output"]))
            return next(iter(found.values())) if fields["bare"] else {"reason": f"Seen of {question}.", **found}

        return {
            unit["id"]: {each["id"]: entry(unit, each["id"]) for each in fields["questions"]}
            for unit in fields["units"]
        }


def shown(unit: Mapping[str, str]) -> str:
    """Return the words of a unit as a prompt shows it."""
    return unit["text"] if "text" in unit else f"{unit['first']} {unit['second']}"


def scripted(says: Says = by_lot, **chosen: Any) -> FakeJudge:
    """Return a fake judge with the usual answers, except for those chosen."""
    return FakeJudge(Scripted(says, **chosen))


def of_kind(judge: FakeJudge, name: str) -> list[Prompt[Any]]:
    """Return the prompts of one template that the judge was asked, repairs aside."""
    return [prompt for prompt in judge.prompts if prompt.name == f"seal/{name}" and prompt.repair is None]


def pairs_asked(judge: FakeJudge) -> list[tuple[str, str]]:
    """Return every pair of unit and question that the judge was asked about, in order."""
    return [
        (unit["id"], question["id"])
        for prompt in judge.prompts
        if prompt.name not in ("seal/facts", "seal/split") and prompt.repair is None
        for unit in prompt.fields["units"]
        for question in prompt.fields["questions"]
    ]
