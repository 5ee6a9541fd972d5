"""Ratings and comments of an annotation tool's export, turned into rows of this package.

A tool names what it asks (a question, a control); the answers to it become annotations of an aspect with that name if
they are numbers or words for levels, and reasons if they are comments. Other answers are kept in the column `answers`,
also single ones among usable ones, such as two choices where one is expected; the first of these is stated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rubriclab.data.row import RowError
from rubriclab.models.cells import (
    MOST_WORDS,
    CellRules,
    is_level_word,
    proposed_level_scores,
)
from rubriclab.models.characters import PREVIEW, describe
from rubriclab.option_names import option

_OWN_NAMES = ("annotations", "reasons", "answers")
Kind = Literal["score", "choice", "comment", "other"]
# Characters of an answer that is considered more than a word to choose, unless it is given twice.
_COMMENT = 25


@dataclass(frozen=True, slots=True)
class Task:
    """A text with its other columns and what raters answered, in the line where it begins."""

    line: int
    columns: Mapping[str, Any]
    answers: tuple[Answer, ...] = ()


@dataclass(slots=True)
class Export:
    """What an export holds.

    Attributes:
        name: of the format.
        tasks: in order, with faults in their places.
        left_out: what was left out, with the number of each.
        notes: what was read as what.
        choices: the words of each question whose words have no scores.
    """

    name: str
    tasks: list[Task | RowError] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def leave_out(self, what: str, number: int = 1) -> None:
        """Count answers that are not read."""
        if number:
            self.left_out[what] = self.left_out.get(what, 0) + number

    def details(self) -> tuple[str, ...]:
        """Return what was left out, and notes."""
        return (*(f"{what} left out: {count}" for what, count in self.left_out.items()), *self.notes)


def rows_of(export: Export, rules: CellRules) -> list[tuple[int, Any]]:
    """Return numbered rows of the tasks, and add notes and choices, by which questions are read as what."""
    tasks = [task for task in export.tasks if isinstance(task, Task)]
    questions = questions_of((answer for task in tasks for answer in task.answers), rules)
    left = [(task, answer) for task in tasks for answer in task.answers if not _fields(answer, task, questions)]
    for name in (name for name, question in questions.items() if question.kind == "choice"):
        answers = (answer.value for task in tasks for answer in task.answers if answer.question == name)
        export.choices[name] = tuple(dict.fromkeys(value.strip() for value in answers if isinstance(value, str)))
    export.notes += _notes(left, questions, export.choices)
    return [
        (task.line, task if isinstance(task, RowError) else _row(task, questions, bool(left))) for task in export.tasks
    ]


def _notes(
    left: Sequence[tuple[Task, Answer]],
    questions: Mapping[str, AskedQuestion],
    choices: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    read = [(task, each) for task, each in left if questions[each.question].kind in ("score", "comment")]
    odd = [(task, each) for task, each in read if not questions[each.question].accepts(each.value)]
    if odd:
        task, answer = odd[0]
        shown = describe(answer.value) if isinstance(answer.value, bool | None) else repr(answer.value)
        shown = shown if len(shown) <= PREVIEW else f"{shown[:PREVIEW]}…"
        yield (
            f"answers left out, since they are not one number or word: {len(odd)}; the first: {shown} to "
            f"{answer.question!r} in {_place(task)}"
        )
    if loose := [pair for pair in read if pair not in odd]:
        task, answer = loose[0]
        yield (
            f"comments left out, since their rater scored nothing in the text: {len(loose)}; the first: that of "
            f"{answer.rater!r} in {_place(task)}"
        )
    kinds = {name: question.kind for name, question in questions.items()}
    named = {kind: ", ".join(repr(name) for name, each in kinds.items() if each == kind) for kind in kinds.values()}
    if "comment" in named:
        yield f"comments {named['comment']} read as reasons"
    for name, words in choices.items():
        proposal = proposed_level_scores(words) or option("level_scores")
        yield f"choices {name!r} not read, since their words have no scores; if these are levels, add {proposal}"
    if "other" in named:
        yield f"answers {named['other']} not read, since none of them is one number or word"


def _place(task: Task) -> str:
    name = task.columns.get("id")
    return f"row {task.line}" if name is None else f"row {task.line} (id {name!r})"


def _row(task: Task, questions: Mapping[str, AskedQuestion], others: bool) -> dict[str, Any]:
    tables: dict[str, dict[str, dict[str, Any]]] = {
        name: {} for name in _OWN_NAMES if questions and (others or name != "answers")
    }
    for answer in task.answers:
        for table, name in _fields(answer, task, questions) or [("answers", answer.question)]:
            said = tables[table].setdefault(name, {})
            before = said.get(answer.rater) if table == "reasons" else None
            said[answer.rater] = f"{before}\n{answer.value}" if before else answer.value
    columns = {f"data.{name}" if name in _OWN_NAMES else name: value for name, value in task.columns.items()}
    return {**columns, **tables}


def _fields(answer: Answer, task: Task, questions: Mapping[str, AskedQuestion]) -> list[tuple[str, str]]:
    """Return the tables and aspects of an answer: none if it is neither a score nor a reason for one."""
    question = questions[answer.question]
    if not question.accepts(answer.value) or question.kind not in ("score", "comment"):
        return []
    if question.kind == "score":
        return [("annotations", answer.question)]
    aspects = [name for name, each in questions.items() if each.kind == "score"]
    scored = {each.question for each in task.answers if each.rater == answer.rater and is_single(each.value)}
    about = aspects_about(answer.question, aspects, [aspect for aspect in aspects if aspect in scored])
    return [("reasons", aspect) for aspect in about]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rater answered to a question; `kind` is `None` where the export does not say it."""

    question: str
    rater: str
    value: Any
    kind: Kind | None = None


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """How the answers to a question are read.

    Attributes:
        kind: what its answers are.
        remarks: texts among words or numbers that are comments, in lower case: long ones that were given once.
    """

    kind: Kind
    remarks: frozenset[str] = frozenset()

    def accepts(self, value: Any) -> bool:
        """Return whether an answer is of this kind: one number or text, and no remark."""
        return is_single(value) and not (isinstance(value, str) and _word(value) in self.remarks)


def questions_of(answers: Iterable[Answer], rules: CellRules) -> dict[str, AskedQuestion]:
    """Return how the answers to each question are read.

    Numbers are scores. Texts are words to choose if each of a few is given twice on average, or all are usual ones for
    levels; among these, long texts that are given once are remarks. Other texts are comments.

    Args:
        answers: to any questions, in any order.
        rules: how words and numbers are read.
    """
    by_question: dict[str, list[Answer]] = {}
    for answer in answers:
        by_question.setdefault(answer.question, []).append(answer)
    return {name: _question(given, rules) for name, given in by_question.items()}


def aspects_about(question: str, aspects: Iterable[str], rated: Sequence[str]) -> list[str]:
    """Return the aspects that a comment is about: the one that its question names, else those that its rater scored.

    Args:
        question: that the comment answers.
        aspects: all aspects.
        rated: those that the rater of the comment scored in the text.
    """
    named = [aspect for aspect in aspects if aspect.casefold() in question.casefold()]
    return [max(named, key=len)] if named else list(rated)


def is_single(value: Any) -> bool:
    """Return whether an answer is one number or text."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _question(answers: Sequence[Answer], rules: CellRules) -> AskedQuestion:
    # Answers that are not one number or word say nothing about the others.
    usable = [answer for answer in answers if answer.kind != "other" and is_single(answer.value)]
    given = {answer.kind for answer in usable}
    if not usable or "comment" in given:
        return AskedQuestion("comment" if usable else "other")
    words = Counter(_word(answer.value) for answer in usable if isinstance(answer.value, str))
    scored = {word for word in words if rules.number(word) is not None or rules.level(word) is not None}
    usual = {word for word in words if word in scored or is_level_word(word)}
    once = {word for word in words if word not in usual and words[word] == 1 and _is_long(word)}
    remarks = frozenset() if "choice" in given else frozenset(once)
    levels = words.keys() - remarks
    few = len(levels) <= min(MOST_WORDS, sum(words[word] for word in levels) / 2)
    if "score" in given or words.total() < len(usable) or (levels and levels <= usual and len(remarks) <= len(levels)):
        return AskedQuestion("score", remarks)
    if "choice" not in given and (len(remarks) > len(levels) or not few):
        return AskedQuestion("comment")
    return AskedQuestion("score" if scored or len(usual) > len(levels) / 2 else "choice", remarks)


def _word(text: str) -> str:
    return text.strip().casefold()


def _is_long(text: str) -> bool:
    return len(text) >= _COMMENT or "\n" in text
