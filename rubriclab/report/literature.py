"""Findings of papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rubriclab.option_names import command
from rubriclab.report.model import Block, Pairs, Paragraph, View, Words, quoted, table
from rubriclab.report.wording import effort

if TYPE_CHECKING:
    from rubriclab.literature import Finding
    from rubriclab.services.literature_add import LiteratureAdded
    from rubriclab.services.literature_files import FindingList


def added_view(added: LiteratureAdded) -> View:
    """Return what was kept of a paper, what was dropped, and how it is used."""
    said: list[Words] = [
        ("Dropped, as its quotation is not in the paper: ", quoted(f"{each.claim} — {each.quotation}"))
        for each in added.dropped
    ]
    said += [("Not read: ", quoted(reason)) for reason in added.unread]
    said += [f"{len(added.kept)} kept, {len(added.dropped)} dropped. Reading took {effort(added.effort)}."]
    if added.kept:
        remove, learn = command("literature remove", "ID"), command("learn", "…", literature=str(added.file))
        said += [("Kept in ", quoted(str(added.file)), f". Remove those that do not follow from the paper: {remove}")]
        said += [f"Learn with them: {learn}"]
    return View((), (*_details(added.kept), *map(Paragraph, said)))


def findings_view(found: FindingList) -> View:
    """Return one line for each finding, or all that is recorded of each."""
    findings = [each.finding for each in found.findings]
    rows = [
        (*map(quoted, (each.file.stem, each.finding.id, _aspects(each.finding), each.finding.claim)),)
        for each in found.findings
    ]
    shown = _details(findings) if found.detailed or not rows else [table(("task", "id", "aspects", "claim"), rows)]
    return View((), (*shown, Paragraph(quoted(found.said), "quiet")))


def _details(findings: Sequence[Finding]) -> list[Block]:
    shown = (
        {**each.to_row(), "aspects": _aspects(each), "benchmarks": ", ".join(each.benchmarks)} for each in findings
    )
    return [Pairs(tuple((name, quoted(str(value))) for name, value in rows.items() if value)) for rows in shown]


def _aspects(finding: Finding) -> str:
    return ", ".join(finding.aspects) or "all"
