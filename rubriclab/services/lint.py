"""What is wrong with the questions of a checklist, before a call is paid for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rubriclab.checklist import Checklist, parse_checklist, read_checklist
from rubriclab.descriptions import describe
from rubriclab.display import Displayed
from rubriclab.documents import Unreadable, read_stdin
from rubriclab.errors import ChecklistError
from rubriclab.methods.checkeval.lint import LintFinding, lint as findings_of

if TYPE_CHECKING:
    from rubriclab.report.model import View


@dataclass(frozen=True, repr=False)
class LintResult(Displayed):
    """A checklist and the faults of its questions."""

    checklist: Checklist
    findings: tuple[LintFinding, ...]

    def lines(self) -> Iterator[str]:
        """Yield each fault with its question below it, then the numbers of both."""
        texts = {question.id: question.text for question in self.checklist.questions}
        for fault in self.findings:
            place = fault.question or f"sub-dimension {fault.sub_dimension!r}"
            yield f"{place}: {fault.kind}: {fault.message}"
            if fault.question:
                yield f"    {texts[fault.question]}"
        yield f"{_count(len(texts), 'question')}, {_count(len(self.findings), 'fault')}"

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.model import View, paragraphs, quoted

        return View((), paragraphs(map(quoted, self.lines())))


def lint(source: str | Path | Checklist) -> LintResult:
    """Return the faults of the questions of a checklist, or of a checklist file (`-` for standard input).

    Raises:
        ChecklistError: if the file is no checklist.
    """
    if not isinstance(source, str | Path | Checklist):
        raise ChecklistError(f"Expected a checklist, got {describe(source)}.", "Give the path of a checklist file.")
    checklist = source if isinstance(source, Checklist) else _read(source)
    return LintResult(checklist, findings_of(checklist))


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _read(source: str | Path) -> Checklist:
    if source != "-":
        return read_checklist(Path(source))
    try:
        return parse_checklist(read_stdin(), "standard input")
    except Unreadable as error:
        raise ChecklistError(f"Standard input is no checklist: {error}.") from None
