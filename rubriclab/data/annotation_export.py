"""Ratings and comments of an annotation tool's export, turned into rows of this package.

A tool names what it asks (a question, a control); the answers to it become annotations of an aspect with that name if
they are numbers or words for levels, and reasons if they are comments. Other answers are kept in the column `answers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rubriclab.data.cells import MOST_WORDS, CellRules
from rubriclab.data.levels import is_level_word
from rubriclab.data.row import RowError
from rubriclab.option_names import option

Kind = Literal["score", "choice", "comment", "other"]
# Characters of an answer that is considered more than a word to choose.
_COMMENT = 25
_OWN_NAMES = ("annotations", "reasons", "answers")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rater answered to a question; `kind` is `None` where the export does not say it."""

    question: str
    rater: str
    value: Any
    kind: Kind | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A text with its other columns and what raters answered, in the line where it begins."""

    line: int
    columns: Mapping[str, Any]
    answers: tuple[Answer, ...] = ()


@dataclass(slots=True)
class Export:
    """What an export holds: its tasks and faults in order, and what was left out, with the number of each."""

    name: str
    tasks: list[Task | RowError] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def leave_out(self, what: str) -> None:
        """Count an answer that is not read."""
        self.left_out[what] = self.left_out.get(what, 0) + 1

    def details(self) -> tuple[str, ...]:
        """Return what was left out, and notes."""
        return (*(f"{what} left out: {count}" for what, count in self.left_out.items()), *self.notes)


def rows_of(export: Export, rules: CellRules) -> list[tuple[int, Any]]:
    """Return numbered rows of the tasks, and add to the notes which questions are read as what."""
    tasks = [task for task in export.tasks if isinstance(task, Task)]
    questions = dict.fromkeys(answer.question for task in tasks for answer in task.answers)
    kinds = {
        name: _kind([each for task in tasks for each in task.answers if each.question == name], rules)
        for name in questions
    }
    export.notes += _notes(kinds)
    return [(task.line, task if isinstance(task, RowError) else _row(task, kinds)) for task in export.tasks]


def _notes(kinds: Mapping[str, Kind]) -> Iterator[str]:
    named = {kind: ", ".join(repr(name) for name, each in kinds.items() if each == kind) for kind in kinds.values()}
    if "comment" in named:
        yield f"comments {named['comment']} read as reasons"
    if "choice" in named:
        yield f"choices {named['choice']} not read, since their words have no scores ({option('level_scores')})"
    if "other" in named:
        yield f"answers {named['other']} not read, since they are not one number or word"


def _kind(answers: list[Answer], rules: CellRules) -> Kind:
    """Return what the answers to a question are."""
    given = {answer.kind for answer in answers}
    values = [answer.value for answer in answers]
    if not all(isinstance(value, str | int | float) and not isinstance(value, bool) for value in values):
        return "other"
    if "comment" in given:
        return "comment"
    words = [value.strip() for value in values if isinstance(value, str)]
    known = [rules.number(word) is not None or rules.level(word) is not None or is_level_word(word) for word in words]
    if "score" in given or (all(known) if None in given else any(known) or not words):
        return "score"
    few = len(set(words)) <= min(MOST_WORDS, len(words) / 2) and all(len(word) < _COMMENT for word in words)
    return "choice" if "choice" in given or few else "comment"


def _row(task: Task, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    others = not {"choice", "other"}.isdisjoint(kinds.values())
    tables: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in _OWN_NAMES if others or name != "answers"}
    for answer in task.answers:
        if kinds[answer.question] == "score":
            tables["annotations"].setdefault(answer.question, {})[answer.rater] = answer.value
        elif kinds[answer.question] != "comment":
            tables["answers"].setdefault(answer.question, {})[answer.rater] = answer.value
    for answer in task.answers:
        if kinds[answer.question] == "comment":
            for aspect in _about(
                answer, tables["annotations"], [name for name, each in kinds.items() if each == "score"]
            ):
                said = tables["reasons"].setdefault(aspect, {})
                before = said.get(answer.rater)
                said[answer.rater] = f"{before}\n{answer.value}" if before else answer.value
    columns = {f"data.{name}" if name in _OWN_NAMES else name: value for name, value in task.columns.items()}
    return {**columns, **tables}


def _about(answer: Answer, rated: Mapping[str, Mapping[str, Any]], aspects: Iterable[str]) -> list[str]:
    """Return the aspects that a comment is about: the one that its question names, else those that its rater scored."""
    named = [aspect for aspect in aspects if aspect.casefold() in answer.question.casefold()]
    return [max(named, key=len)] if named else [aspect for aspect, scores in rated.items() if answer.rater in scores]
