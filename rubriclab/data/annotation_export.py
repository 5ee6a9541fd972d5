"""Ratings and comments of an annotation tool's export, turned into rows of this package.

A tool names what it asks (a question, a control); the answers to it become annotations of an aspect with that name if
they are numbers or words for levels, and reasons if they are comments. Other answers are kept in the column `answers`,
also single ones among usable ones, such as two choices where one is expected; the first of these is stated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rubriclab.data.cells import MOST_WORDS, CellRules
from rubriclab.data.levels import is_level_word
from rubriclab.data.row import RowError
from rubriclab.descriptions import PREVIEW, describe
from rubriclab.option_names import option

Kind = Literal["score", "choice", "comment", "other"]
# Characters of an answer that is considered more than a word to choose.
_COMMENT = 25
_COMMENT_NAMES = re.compile(
    r"(?<![a-zäöü])(comments?|reasons?|why|explanations?|justifications?|rationales?|remarks?"
    r"|kommentare?|bemerkung(en)?|begründung(en)?|warum)(?![a-zäöü])"
)
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
    questions: dict[str, list[Answer]] = {}
    for task in tasks:
        for answer in task.answers:
            questions.setdefault(answer.question, []).append(answer)
    kinds = {name: _kind(answers, rules) for name, answers in questions.items()}
    export.notes += _notes(tasks, kinds)
    others = any(not _is_read(answer, task, kinds) for task in tasks for answer in task.answers)
    return [(task.line, task if isinstance(task, RowError) else _row(task, kinds, others)) for task in export.tasks]


def _notes(tasks: Iterable[Task], kinds: Mapping[str, Kind]) -> Iterator[str]:
    read = {name: kind for name, kind in kinds.items() if kind in ("score", "comment")}
    answers = [(task, answer) for task in tasks for answer in task.answers if answer.question in read]
    if odd := [(task, answer) for task, answer in answers if not _is_single(answer.value)]:
        task, answer = odd[0]
        yield (
            f"answers left out, since they are not one number or word: {len(odd)}; the first: "
            f"{_shown(answer.value)} to {answer.question!r} in {_place(task)}"
        )
    if loose := [each for each in answers if _is_single(each[1].value) and not _is_read(each[1], each[0], kinds)]:
        task, answer = loose[0]
        yield (
            f"comments left out, since their rater scored nothing in the text: {len(loose)}; the first: that of "
            f"{answer.rater!r} in {_place(task)}"
        )
    named = {kind: ", ".join(repr(name) for name, each in kinds.items() if each == kind) for kind in kinds.values()}
    if "comment" in named:
        yield f"comments {named['comment']} read as reasons"
    if "choice" in named:
        yield f"choices {named['choice']} not read, since their words have no scores ({option('level_scores')})"
    if "other" in named:
        yield f"answers {named['other']} not read, since none of them is one number or word"


def _kind(answers: list[Answer], rules: CellRules) -> Kind:
    """Return what the answers to a question are; those that are not one number or word do not count."""
    usable = [answer for answer in answers if answer.kind != "other" and _is_single(answer.value)]
    if not usable:
        return "other"
    given = {answer.kind for answer in usable}
    words = {answer.value.strip().casefold(): None for answer in usable if isinstance(answer.value, str)}
    scored = [word for word in words if rules.number(word) is not None or rules.level(word) is not None]
    are_scores = "score" in given or any(not isinstance(answer.value, str) for answer in usable)
    named = is_comment_name(usable[0].question) and not (are_scores or scored or "choice" in given)
    if "comment" in given or named:
        return "comment"
    if are_scores:
        return "score"
    usual = [word for word in words if word in scored or is_level_word(word)]
    if len(usual) == len(words) or (scored and "choice" in given):
        return "score"
    short = len(words) <= MOST_WORDS and all(len(word) < _COMMENT for word in words)
    chosen = "choice" in given or (short and len(words) <= len(usable) / 2)
    if len(usual) > len(words) / 2 and (chosen or (short and len(scored) > len(words) / 2)):
        return "score"
    return "choice" if chosen else "comment"


def is_comment_name(question: str) -> bool:
    """Return whether a question is named like one for comments: `comment`, `tone-reason`, `Begründung`."""
    return _COMMENT_NAMES.search(question.casefold()) is not None


def is_comment(text: str) -> bool:
    """Return whether a text is too long for a word to choose."""
    return len(text) >= _COMMENT or "\n" in text.strip()


def _is_single(value: Any) -> bool:
    """Return whether an answer is one number or text."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_read(answer: Answer, task: Task, kinds: Mapping[str, Kind]) -> bool:
    """Return whether an answer becomes an annotation or a reason."""
    if kinds[answer.question] == "comment":
        return _is_single(answer.value) and bool(_about(answer, task, kinds))
    return kinds[answer.question] == "score" and _is_single(answer.value)


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return describe(value)
    text = repr(value)
    return text if len(text) <= PREVIEW else f"{text[:PREVIEW]}…"


def _place(task: Task) -> str:
    name = task.columns.get("id")
    return f"row {task.line}" if name is None else f"row {task.line} (id {name!r})"


def _row(task: Task, kinds: Mapping[str, Kind], others: bool) -> dict[str, Any]:
    tables: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in _OWN_NAMES if others or name != "answers"}
    for answer in task.answers:
        if not _is_read(answer, task, kinds):
            tables["answers"].setdefault(answer.question, {})[answer.rater] = answer.value
        elif kinds[answer.question] == "score":
            tables["annotations"].setdefault(answer.question, {})[answer.rater] = answer.value
        else:
            for aspect in _about(answer, task, kinds):
                said = tables["reasons"].setdefault(aspect, {})
                before = said.get(answer.rater)
                said[answer.rater] = f"{before}\n{answer.value}" if before else answer.value
    columns = {f"data.{name}" if name in _OWN_NAMES else name: value for name, value in task.columns.items()}
    return {**columns, **tables}


def _about(answer: Answer, task: Task, kinds: Mapping[str, Kind]) -> list[str]:
    """Return the aspects that a comment is about: the one that its question names, else those that its rater scored."""
    aspects = [name for name, kind in kinds.items() if kind == "score"]
    if named := [aspect for aspect in aspects if aspect.casefold() in answer.question.casefold()]:
        return [max(named, key=len)]
    rated = {each.question for each in task.answers if each.rater == answer.rater and _is_single(each.value)}
    return [aspect for aspect in aspects if aspect in rated]
