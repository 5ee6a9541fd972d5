"""Answers of people in an annotation tool: which are scores, which are comments, and what comments are about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rubriclab.data.cells import MOST_WORDS, CellRules
from rubriclab.data.levels import is_level_word

Kind = Literal["score", "choice", "comment", "other"]
# Characters of an answer that is considered more than a word to choose, unless it is given twice.
_COMMENT = 25
_COMMENT_NAMES = re.compile(
    r"(?<![a-zäöü])(comments?|reasons?|why|explanations?|justifications?|rationales?|remarks?"
    r"|kommentare?|bemerkung(en)?|begründung(en)?|warum)(?![a-zäöü])"
)


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


def questions_of(
    answers: Iterable[Answer], rules: CellRules, *, rare: Literal["choice", "comment"] = "comment"
) -> dict[str, AskedQuestion]:
    """Return how the answers to each question are read.

    Numbers are scores. Words that are given several times, or are usual ones for levels, are words to choose, however
    long; texts that are long or have several lines, and are given once, are comments. Of a question without numbers
    that has both, the more numerous decide, each different text counted once. The words of a question that is named
    like comments are comments too; where short texts are choices, only if they are neither given twice on average nor
    several words most of which are usual for levels.

    Args:
        answers: to any questions, in any order.
        rules: how words and numbers are read.
        rare: what short texts are that are seldom given twice.
    """
    by_question: dict[str, list[Answer]] = {}
    for answer in answers:
        by_question.setdefault(answer.question, []).append(answer)
    return {name: _question(given, rules, rare) for name, given in by_question.items()}


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


def _question(answers: Sequence[Answer], rules: CellRules, rare: Literal["choice", "comment"]) -> AskedQuestion:
    # Answers that are not one number or word say nothing about the others.
    usable = [answer for answer in answers if answer.kind != "other" and is_single(answer.value)]
    if not usable:
        return AskedQuestion("other")
    given = {answer.kind for answer in usable}
    words = Counter(_word(answer.value) for answer in usable if isinstance(answer.value, str))
    scored = {word for word in words if rules.number(word) is not None or rules.level(word) is not None}
    numbers = "score" in given or words.total() < len(usable)
    usual = {word for word in words if word in scored or is_level_word(word)}
    remarks = set() if "choice" in given else {w for w in words if w not in usual and words[w] == 1 and _is_long(w)}
    levels = {word: number for word, number in words.items() if word not in remarks}
    few = len(levels) <= MOST_WORDS
    repeated = few and len(levels) <= sum(levels.values()) / 2
    # An export has text questions, whose short answers repeat; without them, words that repeat were chosen.
    like_levels = rare == "choice" and bool(levels) and (repeated or 1 < len(usual) > len(levels) / 2)
    named = _COMMENT_NAMES.search(usable[0].question.casefold()) and not (numbers or scored or "choice" in given)
    if "comment" in given or (named and not like_levels):
        return AskedQuestion("comment")
    if numbers or len(usual) == len(words) or (scored and "choice" in given):
        return AskedQuestion("score", frozenset(remarks))
    if len(remarks) > sum(rare == "choice" or number > 1 or word in usual for word, number in levels.items()):
        return AskedQuestion("comment")
    chosen = "choice" in given or repeated
    if len(usual) > len(levels) / 2 and (chosen or (few and len(scored) > len(levels) / 2)):
        return AskedQuestion("score", frozenset(remarks))
    kind: Kind = "choice" if chosen else rare
    return AskedQuestion(kind, frozenset() if kind == "comment" else frozenset(remarks))


def _word(text: str) -> str:
    return text.strip().casefold()


def _is_long(text: str) -> bool:
    return len(text) >= _COMMENT or "\n" in text
