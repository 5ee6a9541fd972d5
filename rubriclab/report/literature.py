"""Findings of papers: those proposed, kept and checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rubriclab.option_names import command
from rubriclab.report.model import Block, Cell, Pairs, Paragraph, View, Words, quoted, table
from rubriclab.report.wording import count, effort

if TYPE_CHECKING:
    from rubriclab.literature import FindingEntry
    from rubriclab.services.literature_add import LiteratureAdded
    from rubriclab.services.literature_check import LiteratureCheck
    from rubriclab.services.literature_files import FindingList, KeptFinding

ALL_ASPECTS = "all"


def proposed_view(entry: FindingEntry, number: int, total: int) -> View:
    """Return a finding as it is shown before the user decides."""
    return View((), (Paragraph(f"Finding {number} of {total}", "strong"), _details(entry)))


def added_view(added: LiteratureAdded) -> View:
    """Return what was kept of a paper, what was not and why, and how it is used."""
    blocks: list[Block] = [Paragraph(("Paper: ", quoted(added.reference.citation)))]
    if added.kept:
        rows = [_row(entry) for entry in added.kept]
        blocks.append(table(("id", "aspects", "raters of", "claim"), rows))
    blocks += [Paragraph(words) for words in _outcome(added)]
    return View((), tuple(blocks))


def findings_view(found: FindingList) -> View:
    """Return one line for each finding."""
    if not found.findings:
        add = command("literature add", "paper.pdf", task="TASK")
        return View((), (Paragraph(("No findings are kept in ", quoted(str(found.place)), f". Add some: {add}")),))
    rows = [(quoted(each.task), *_row(each.finding)) for each in found.findings]
    number = Paragraph((f"{count(len(rows), 'finding')} in ", quoted(str(found.place))), "quiet")
    listed = table(("task", "id", "aspects", "raters of", "claim"), rows)
    return View((), (listed, *_unnamed(found), number))


def finding_view(found: FindingList) -> View:
    """Return every finding with its quotation."""
    return View((), tuple(block for each in found.findings for block in _kept(each)))


def check_view(checked: LiteratureCheck) -> View:
    """Return whether the quotation of each finding stands in the paper."""
    rows: list[tuple[Cell, ...]] = []
    for each in checked.checked:
        quotation = each.kept.finding.quotation
        page = "" if each.page is None else str(each.page)
        moved = f" (recorded: {quotation.page})" if quotation and each.outcome == "on another page" else ""
        rows.append(
            (quoted(each.kept.finding.id), each.outcome, f"{page}{moved}", quoted(quotation.text if quotation else ""))
        )
    missing = sum(each.outcome == "not found" for each in checked.checked)
    said = f": {count(len(rows), 'finding')}, {missing or 'none'} with a quotation that is not there"
    return View((), (table(("id", "quotation", "page", "wording"), rows), Paragraph((quoted(checked.paper), said))))


def _unnamed(found: FindingList) -> Iterator[Block]:
    if found.unnamed and found.findings:
        meant = f" Did you mean {found.close!r}?" if found.close else ""
        yield Paragraph(("No finding names the aspect ", quoted(found.unnamed), f"; these bear on all aspects.{meant}"))


def _row(entry: FindingEntry) -> tuple[Cell, ...]:
    aspects = ", ".join(entry.aspects)
    return (
        quoted(entry.id),
        quoted(aspects) if aspects else ALL_ASPECTS,
        quoted(", ".join(entry.benchmarks)),
        quoted(entry.claim),
    )


def _details(entry: FindingEntry, *more: tuple[str, Cell]) -> Pairs:
    rows: list[tuple[str, Cell]] = [("claim", quoted(entry.claim))]
    rows.append(("aspects", quoted(", ".join(entry.aspects)) if entry.aspects else ALL_ASPECTS))
    if entry.benchmarks:
        rows.append(("raters of", quoted(", ".join(entry.benchmarks))))
    if entry.quotation:
        page = f"page {entry.quotation.page} of " if entry.quotation.page else ""
        rows += [("quotation", quoted(entry.quotation.text)), ("from", (page, quoted(entry.quotation.file)))]
    return Pairs((*rows, *more))


def _kept(each: KeptFinding) -> Iterator[Block]:
    finding = each.finding
    yield Paragraph((quoted(finding.id), " for ", quoted(each.task)), "strong")
    yield _details(finding, ("paper", quoted(finding.citation)), ("kept in", quoted(str(each.file))))


def _outcome(added: LiteratureAdded) -> Iterator[Words]:
    for each in added.dropped:
        page = "" if each.page is None else f" (page {each.page})"
        yield "Dropped, as ", f"{each.reason}{page}: ", quoted(each.claim), " — ", quoted(each.quotation)
    for reason in added.unread:
        yield "Not read: ", quoted(reason)
    nothing = not (added.kept or added.declined or added.dropped or added.known)
    counts = ["No findings on these pages" if nothing else f"{len(added.kept)} kept"]
    counts += [f"{len(added.declined)} declined"] if added.declined else []
    counts += [f"{len(added.dropped)} dropped"] if added.dropped else []
    counts += [f"{added.known} in the file already"] if added.known else []
    yield f"{', '.join(counts)}. Reading took {effort(added.effort)}."
    if added.kept:
        yield "Kept in ", quoted(str(added.file)), ". Learn with these: ", _learn(added)


def _learn(added: LiteratureAdded) -> str:
    return command("learn", "…", literature=str(added.file))
