"""Findings whose quotations are checked against the paper again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rubriclab.display import Displayed
from rubriclab.errors import LiteratureError
from rubriclab.literature import Finding
from rubriclab.option_names import option
from rubriclab.papers.paper import Paper, read_paper
from rubriclab.papers.quotation import find_quotation
from rubriclab.services.literature_files import KeptFinding, LiteratureOptions, existing_place, kept_findings

if TYPE_CHECKING:
    from rubriclab.report.model import View

Outcome = Literal["found", "on another page", "not found", "no quotation"]


class LiteratureCheckOptions(LiteratureOptions):
    """Which findings are checked against a paper."""

    source: str | None = None
    """The paper's key in `references.bib`. Default: findings whose quotations were taken from a file of this name."""


@dataclass(frozen=True)
class CheckedFinding:
    """A finding, and whether its quotation stands in the paper.

    Attributes:
        page: where it was found.
    """

    kept: KeptFinding
    outcome: Outcome
    page: int | None = None

    def to_row(self) -> dict[str, Any]:
        """Return the outcome as one JSON object."""
        quotation = self.kept.finding.quotation
        return {
            "id": self.kept.finding.id,
            "task": self.kept.task,
            "outcome": self.outcome,
            "page": self.page,
            "recorded_page": quotation.page if quotation else None,
            "quotation": quotation.text if quotation else None,
        }


@dataclass(frozen=True, repr=False)
class LiteratureCheck(Displayed):
    """Findings checked against a paper."""

    paper: str
    checked: tuple[CheckedFinding, ...]

    @property
    def passed(self) -> bool:
        """Whether every quotation stands in the paper."""
        return all(each.outcome != "not found" for each in self.checked)

    def to_row(self) -> dict[str, Any]:
        """Return the outcomes as one JSON object."""
        return {"paper": self.paper, "passed": self.passed, "findings": [each.to_row() for each in self.checked]}

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.literature import check_view

        return check_view(self)


def check(paper: str | Path, options: LiteratureCheckOptions) -> LiteratureCheck:
    """Return whether the quotations of findings stand in a paper.

    Raises:
        LiteratureError: if no finding is about the paper, or a file is missing or cannot be used.
    """
    path = Path(paper)
    if not path.exists():
        raise LiteratureError(f"There is no file {path}.", "Give the PDF or text file of the paper.")
    place = existing_place(options.folder)
    found = kept_findings(place, options.task)
    chosen = [each for each in found if _is_about(each.finding, path.name, options.source)]
    if not chosen:
        about = f"the source {options.source!r}" if options.source else f"a quotation from a file {path.name}"
        sources = ", ".join(sorted({each.finding.source for each in found})) or "none"
        raise LiteratureError(
            f"No finding in {place} has {about}.", f"Name the paper with {option('source', 'KEY')}; known: {sources}."
        )
    text = read_paper(path, source=options.source)
    return LiteratureCheck(str(paper), tuple(_checked(each, text) for each in chosen))


def _is_about(finding: Finding, file: str, source: str | None) -> bool:
    if source is not None:
        return finding.source == source
    return finding.quotation is not None and finding.quotation.file == file


def _checked(kept: KeptFinding, paper: Paper) -> CheckedFinding:
    quotation = kept.finding.quotation
    if quotation is None:
        return CheckedFinding(kept, "no quotation")
    passage = find_quotation(quotation.text, paper.pages, quotation.page)
    if passage is None:
        return CheckedFinding(kept, "not found")
    page = passage.page if paper.paged else None
    moved = None not in (page, quotation.page) and page != quotation.page
    return CheckedFinding(kept, "on another page" if moved else "found", page)
