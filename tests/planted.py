"""Banks of criteria with planted repetitions, opposites and unlike pairs, and one model's replies about them."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubriclab.methods.questions import Noun, make_question
from rubriclab.models.rubric import Criterion, Evidence, Level, Question
from rubriclab.models.text import Assignment, Scale, find_aspect, task_words

FOLDER = Path(__file__).parent / "methods"


@dataclass(frozen=True)
class Bank:
    """Criteria in an order drawn by lot, and what each planted pair is.

    Attributes:
        pairs: relation and ids; of a nested pair the one that contains the other stands first.
    """

    noun: Noun
    assignment: Assignment
    criteria: tuple[Criterion, ...]
    pairs: tuple[tuple[str, str, str], ...]

    def planted(self, *relations: str) -> set[frozenset[str]]:
        return {frozenset((one, other)) for relation, one, other in self.pairs if relation in relations}


def banks() -> list[Bank]:
    return [_bank(told) for told in json.loads((FOLDER / "planted_repetitions.json").read_text("utf-8"))]


def replies() -> list[dict[str, Any]]:
    """Return what a language model answered to the rendered prompt about each bank, in the order of `banks`."""
    found: list[dict[str, Any]] = json.loads((FOLDER / "planted_replies.json").read_text("utf-8"))
    return found


def _bank(told: dict[str, Any]) -> Bank:
    texts = [text for _, *pair in told["pairs"] for text in pair]
    random.Random(told["aspect"]).shuffle(texts)
    names = {json.dumps(text): f"c{place:02d}" for place, text in enumerate(texts, 1)}
    assignment = Assignment(
        task_words(told["task"]), find_aspect(told["task"], told["aspect"]), Scale(low=1, high=5, whole=True)
    )
    return Bank(
        told["noun"],
        assignment,
        tuple(_criterion(names[json.dumps(text)], text) for text in texts),
        tuple((relation, *(names[json.dumps(text)] for text in pair)) for relation, *pair in told["pairs"]),
    )


def _criterion(name: str, text: str | list[str]) -> Criterion:
    if isinstance(text, str):
        question = Question(origin="diversified", seed="x")
        return make_question(name, "side", text, Evidence(origin="seed questions"), question)
    trait, statement, low, high = text
    levels = (Level(score=1, description=low), Level(score=5, description=high))
    evidence = Evidence(origin="labels")
    return Criterion(id=name, kind="hypothesis", trait=trait, statement=statement, levels=levels, evidence=evidence)
