"""Whether checklists have the right form and ask each question once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rubriclab.checklist import Checklist, parse_checklist, read_checklist
from rubriclab.descriptions import describe
from rubriclab.display import Displayed
from rubriclab.documents import Unreadable, read_stdin
from rubriclab.errors import ChecklistError
from rubriclab.sentences import word_set

if TYPE_CHECKING:
    from rubriclab.report.model import View

# Words that can differ between two questions that ask the same.
_ARTICLES_AND_AUXILIARIES = word_set("a an the is are was were do does did")


@dataclass(frozen=True)
class Duplicate:
    """A question that asks the same as an earlier one."""

    question: str
    text: str
    repeats: str


@dataclass(frozen=True, repr=False)
class LintResult(Displayed):
    """A checklist and its duplicate questions."""

    checklist: Checklist
    duplicates: tuple[Duplicate, ...]

    def lines(self) -> Iterator[str]:
        """Yield each duplicate, then the numbers of questions and duplicates."""
        for each in self.duplicates:
            yield f"{each.question}: asks the same as {each.repeats!r}; keep one of them: {each.text}"
        yield f"{_count(len(self.checklist.questions), 'question')}, {_count(len(self.duplicates), 'duplicate')}"

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.model import View, paragraphs, quoted

        return View((), paragraphs(map(quoted, self.lines())))


def lint(source: str | Path | Checklist) -> LintResult:
    """Return the duplicate questions of a checklist, or of a checklist file (`-` for standard input).

    Questions are duplicates if they have the same words in the same order, apart from articles, auxiliary verbs, letter
    case, punctuation and the plural.

    Raises:
        ChecklistError: if the file is no checklist.
    """
    if not isinstance(source, str | Path | Checklist):
        raise ChecklistError(f"Expected a checklist, got {describe(source)}.", "Give the path of a checklist file.")
    checklist = source if isinstance(source, Checklist) else _read(source)
    first: dict[tuple[str, ...], str] = {}
    duplicates = []
    for question in checklist.questions:
        earlier = first.setdefault(_words(question.text), question.id)
        if earlier != question.id:
            duplicates.append(Duplicate(question.id, question.text, earlier))
    return LintResult(checklist, tuple(duplicates))


def _words(text: str) -> tuple[str, ...]:
    words = re.findall(r"[\w<>=%+'-]+", text.casefold())
    return tuple(word.removesuffix("s") for word in words if word not in _ARTICLES_AND_AUXILIARIES)


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _read(source: str | Path) -> Checklist:
    if source != "-":
        return read_checklist(Path(source))
    try:
        return parse_checklist(read_stdin(), "standard input")
    except Unreadable as error:
        raise ChecklistError(f"Standard input is no checklist: {error}.") from None
