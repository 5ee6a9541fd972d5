"""A recording of a large language model's judgments: its criteria as parts of a rubric, its answers as a judge."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rubriclab import (
    METHODS,
    Assignment,
    Criterion,
    Evidence,
    Example,
    Level,
    Part,
    Prompt,
    Question,
    Reply,
    Scale,
    find_aspect,
    read,
    task_words,
)
from rubriclab.research import CheckEvalSettings, HypoEvalSettings, SEEvalSettings

# Of each set its task, and the scale of its human scores.
SETS = {
    "summeval": ("summarization", Scale(low=1, high=5, whole=False)),
    "hanna": ("story", Scale(low=1, high=5, whole=False)),
    "topical_chat": ("dialogue", Scale(low=1, high=3, whole=False)),
}
# What the model was asked on, to which human scores are moved end to end.
ASKED_ON = Scale(low=1, high=5, whole=False)

# Where a level begins in a hypothesis: "A 3 opens on …" or "3: offers …", at the start of a sentence.
_LEVEL = re.compile(r"(?<=[.!?] )(?:A ([1-5]) |([1-5]): )")

Shown = tuple[str | None, str | None, str]


@dataclass(frozen=True, eq=False)
class Recorded:
    """One set's judgments.

    Attributes:
        parts: as of `parts_of`.
        train, test: texts with the human scores, on `ASKED_ON`.
        judge: who answers as the model did.
        twins: texts that are shown exactly as another one is, so that they have that one's answers.
    """

    name: str
    assignment: Assignment
    parts: tuple[Part, ...]
    train: tuple[Example, ...]
    test: tuple[Example, ...]
    judge: LanguageModel
    twins: int


class LanguageModel:
    """Answers what a rubric asks about a text as the model once did; the text shown tells which answers are meant."""

    name = "language-model"
    identity: Mapping[str, Any] = {"model": "language-model"}

    def __init__(self, answers: Mapping[Shown, Mapping[str, Any]]) -> None:
        self._answers = answers

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the reply in the form that the prompt asks for; a kind of prompt that was not recorded is an error."""
        fields = prompt.fields
        found = self._answers[fields["source"], fields["context"], fields["output"]]
        return Reply(json.dumps(_reply(prompt.name, fields, found)), self.name)


def recorded(path: Path, data: Path) -> Recorded:
    """Return one recording, with the texts and human scores of the rows in `data`."""
    held = json.loads(gzip.decompress(path.read_bytes()))
    name, aspect = held["data"], held["aspect"]
    task, scale = SETS[name]
    rows = {row.id: row for row in read(str(data / f"{name}.jsonl.gz")) if isinstance(row, Example)}
    train, test = (tuple(_moved(rows[each], aspect, scale) for each in held[part]) for part in ("train", "test"))
    assignment = Assignment(task_words(task), find_aspect(task, aspect), ASKED_ON)
    answers: dict[Shown, Mapping[str, Any]] = {}
    for text in (*train, *test):
        answers.setdefault((text.source, text.context, text.output), held["answers"][text.id])
    twins = len(train) + len(test) - len(answers)
    parts = parts_of(held["criteria"], assignment)
    return Recorded(f"{name} {aspect}", assignment, parts, train, test, LanguageModel(answers), twins)


def parts_of(criteria: Mapping[str, Any], assignment: Assignment) -> tuple[Part, ...]:
    """Return the recorded criteria as parts, one for each way in which the model was asked.

    Each criterion is a prompt of its own, though the model was asked about all hypotheses at once, and so about the
    questions: a recording of single answers holds what any choice of criteria asks.
    """
    aspect = assignment.aspect
    hypotheses = [_hypothesis(f"h{number}", text) for number, text in enumerate(criteria["hypotheses"], 1)]
    questions = [_question(f"q{number}", text, aspect.name) for number, text in enumerate(criteria["questions"], 1)]
    explained = _whole(aspect.name, criteria["explanation"], Evidence(origin="prior knowledge"))
    direct = _whole(aspect.name, aspect.definition, Evidence(origin="definition"))
    return (
        _part("hypoeval", hypotheses, HypoEvalSettings(ask="separately")),
        _part("checkeval", questions, CheckEvalSettings(ask="one by one")),
        _part("seeval", [explained], SEEvalSettings(refine=False)),
        _part("direct", [direct], METHODS["direct"].settings()),
    )


def row(text: Example, aspect: str) -> dict[str, Any]:
    """Return a text as a row of a file."""
    shown = {"source": text.source, "context": text.context, "output": text.output}
    return {"id": text.id, "group": text.group, **shown, "scores": {aspect: text.scores[aspect]}}


def _moved(text: Example, aspect: str, scale: Scale) -> Example:
    return replace(text, scores={aspect: scale.moved_to(ASKED_ON, text.scores[aspect])}, annotations={}, raters={})


def _part(method: Any, criteria: Sequence[Criterion], settings: Any) -> Part:
    return Part(method=method, settings=settings.model_dump(mode="json"), criteria=tuple(criteria))


def _hypothesis(name: str, text: str) -> Criterion:
    """Return a hypothesis that was written as one text: what it is about, then what each score looks like."""
    about, *rest = _LEVEL.split(text)
    described = zip(rest[0::3], rest[1::3], rest[2::3], strict=True)
    levels = tuple(Level(score=float(a or b), description=words.strip()) for a, b, words in described)
    if [level.score for level in levels] != list(ASKED_ON.anchors()):
        raise ValueError(f"hypothesis {name}: expected levels {ASKED_ON.anchors()}, got {levels}")
    return Criterion(
        id=name,
        kind="hypothesis",
        trait=re.split(r"[.:]", about)[0],
        statement=about.strip(),
        levels=levels,
        evidence=Evidence(origin="labels"),
    )


def _question(name: str, text: str, trait: str) -> Criterion:
    found = Question(origin="proposed")
    return Criterion(
        id=name, kind="question", trait=trait, statement=text, evidence=Evidence(origin="labels"), question=found
    )


def _whole(trait: str, statement: str, evidence: Evidence) -> Criterion:
    return Criterion(id="score", kind="score", trait=trait, statement=statement, evidence=evidence)


def _reply(template: str, fields: Mapping[str, Any], found: Mapping[str, Any]) -> Mapping[str, Any]:
    match template:
        case "hypoeval/rate":
            (criterion,) = fields["criteria"]
            return {"reasoning": "", "score": found["hypotheses"][criterion["id"]]}
        case "checkeval/answer":
            names = [question["id"] for group in fields["sub_dimensions"] for question in group["questions"]]
            said = {each: _in_words(found["checklist"].get(each)) for each in names}
            return {"answers": [{"question": each, "reason": "", "answer": said[each]} for each in names]}
        case "seeval/rate":
            return _overall(found["explained"])
        case "direct/rate":
            return _overall(found["direct"])
    raise ValueError(f"expected a kind of prompt that was recorded, got {template!r}")


def _overall(said: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"reasoning": said["reason"], "score": said["score"]}


def _in_words(answer: int | None) -> str:
    return "n/a" if answer is None else "yes" if answer else "no"
