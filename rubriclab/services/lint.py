"""What is wrong with the questions of a checklist, before a call is paid for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rubriclab.checklist import Checklist, parse_checklist, read_checklist
from rubriclab.documents import Unreadable, read_stdin
from rubriclab.errors import ChecklistError
from rubriclab.methods.checkeval.lint import LintFinding
from rubriclab.methods.checkeval.lint import lint as findings_of


@dataclass(frozen=True)
class LintResult:
    """A checklist and the faults of its questions."""

    checklist: Checklist
    findings: tuple[LintFinding, ...]


def lint(source: str | Path | Checklist) -> LintResult:
    """Return the faults of the questions of a checklist, or of a checklist file (`-` for standard input).

    Raises:
        ChecklistError: if the file is no checklist.
    """
    checklist = source if isinstance(source, Checklist) else _read(source)
    return LintResult(checklist, findings_of(checklist))


def _read(source: str | Path) -> Checklist:
    if source != "-":
        return read_checklist(Path(source))
    try:
        return parse_checklist(read_stdin(), "standard input")
    except Unreadable as error:
        raise ChecklistError(f"Standard input is no checklist: {error}.") from None
