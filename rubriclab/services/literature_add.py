"""A paper taken apart into findings, which are kept once the user agrees."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.display import Displayed
from rubriclab.errors import JudgeError
from rubriclab.literature import FindingEntry, Quotation, Reference
from rubriclab.methods.estimate import CallEstimate, estimate_prompts
from rubriclab.option_names import command
from rubriclab.papers.citation import citation_prompt, read_citation
from rubriclab.papers.findings import (
    DroppedFinding,
    PaperReading,
    ProposedFinding,
    benchmark_name,
    findings_prompts,
    is_same_claim,
    propose_findings,
)
from rubriclab.papers.findings_file import (
    add_finding,
    entries_of,
    reference_kept,
    references_beside,
)
from rubriclab.papers.paper import Paper
from rubriclab.provenance import Effort
from rubriclab.services.dry_run import DryRun, dry_run
from rubriclab.services.judge_choice import JudgeChoice
from rubriclab.services.literature_request import LiteratureAddOptions, generator_of, paper_request
from rubriclab.services.workspace import Workspace

if TYPE_CHECKING:
    from rubriclab.report.model import View


@dataclass(frozen=True)
class Proposals:
    """What was found in a paper, before anything is kept.

    Attributes:
        file: the findings file to keep it in.
        reading: without findings that the file has already.
        known: how many findings the file has already.
        effort: of the reading.
    """

    paper: Paper
    file: Path
    reference: Reference
    reading: PaperReading
    known: int
    effort: Effort

    def entry(self, finding: ProposedFinding) -> FindingEntry:
        """Return a finding as its file will hold it, except for its id."""
        page = finding.page if self.paper.paged else None
        return FindingEntry(
            id=self.reference.key,
            aspects=finding.aspects,
            claim=finding.claim,
            source=self.reference.key,
            benchmarks=finding.benchmarks,
            quotation=Quotation(text=finding.passage, page=page, file=self.paper.name),
        )


@dataclass(frozen=True, repr=False)
class LiteratureAdded(Displayed):
    """The findings of a paper that were kept, and those that were not.

    Attributes:
        known: how many findings of the paper the file had already.
    """

    file: Path
    reference: Reference
    kept: tuple[FindingEntry, ...]
    declined: tuple[FindingEntry, ...]
    dropped: tuple[DroppedFinding, ...]
    unread: tuple[str, ...]
    known: int
    effort: Effort

    def to_row(self) -> dict[str, Any]:
        """Return the result as one JSON object, without the effort."""
        return {
            "file": str(self.file),
            "source": self.reference.key,
            "citation": self.reference.citation,
            "kept": [each.model_dump(mode="json") for each in self.kept],
            "declined": [each.model_dump(mode="json", exclude={"id"}) for each in self.declined],
            "dropped": [
                {"claim": each.claim, "quotation": each.quotation, "page": each.page, "reason": each.reason}
                for each in self.dropped
            ],
            "already_kept": self.known,
            "unread": list(self.unread),
        }

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.literature import added_view

        return added_view(self)


async def literature_add(
    workspace: Workspace,
    paper: str | Path,
    bibliography: str | Path | None,
    options: LiteratureAddOptions,
    keep: Callable[[FindingEntry], bool] | None = None,
) -> LiteratureAdded:
    """Return the findings of a paper, having kept those that `keep` accepts, by default all.

    Raises:
        RubriclabError: as `propose` and `keep_findings` do.
    """
    proposals = await propose(workspace, paper, bibliography, options)
    file, reference = proposals.file, proposals.reference
    kept = []
    for finding in proposals.reading.found:
        entry = proposals.entry(finding)
        if keep is None or keep(entry):
            # In another thread, since it may wait for another process.
            kept.append((finding, await asyncio.to_thread(add_finding, file, reference, entry)))
    return _added(proposals, kept)


async def propose(
    workspace: Workspace, paper: str | Path, bibliography: str | Path | None, options: LiteratureAddOptions
) -> Proposals:
    """Return the findings that the generator proposes from a paper, each with a quotation that stands in it.

    Args:
        paper: a PDF or text file.
        bibliography: a `.bib` file with its entry; without one, the generator reads off how the paper is cited.

    Raises:
        LiteratureError: if a file cannot be used, or it is not known how the paper is cited.
        SettingsError: for the offline judge, or an aspect without a definition.
        JudgeError: if the provider fails, or no part of the paper had a usable reply.
        BudgetReached: if a cap on calls or money was reached.
    """
    request = paper_request(workspace, paper, bibliography, options)
    text, subject, file = request.paper, request.subject, request.file
    await workspace.off_event_loop(workspace.open_store, create=True)
    workspace.give_address_to(options.judge)
    judge = workspace.judge(JudgeChoice(generator_of(options)))
    with workspace.progress(workspace.ledger) as on_progress:
        cited = request.reference or await read_citation(text, judge, references_beside(file))
        reading = await propose_findings(text, subject, judge, tokens=options.part_tokens, on_progress=on_progress)
    if reading.unread and len(reading.unread) == reading.parts:
        raise JudgeError(f"No part of {text.name} had a usable reply; the first: {reading.unread[0]}")
    reference = reference_kept(file, cited)
    names = [benchmark_name(name, subject.benchmarks) for name in options.benchmark]
    marked = [replace(each, benchmarks=tuple(dict.fromkeys((*each.benchmarks, *names)))) for each in reading.found]
    kept = [FindingEntry.model_validate(entry) for entry in entries_of(file) if entry["source"] == reference.key]
    new = tuple(each for each in marked if not is_same_claim(each.claim, [entry.claim for entry in kept]))
    for unmarked in _unmarked(kept, marked):
        workspace.notify(f"{file}: {unmarked}")
    known = len(marked) - len(new)
    return Proposals(text, file, reference, replace(reading, found=new), known, workspace.effort())


def keep_findings(proposals: Proposals, accepted: Iterable[ProposedFinding]) -> LiteratureAdded:
    """Return the result once the accepted findings are in their file, and the paper is in `references.bib` beside it.

    Each finding is written before the next one is taken from `accepted`, so that no answer is lost if the process ends
    while a person is still deciding.

    Raises:
        LiteratureError: if a file cannot be written.
    """
    file, reference = proposals.file, proposals.reference
    kept = [(each, add_finding(file, reference, proposals.entry(each))) for each in accepted]
    return _added(proposals, kept)


def _added(proposals: Proposals, kept: Sequence[tuple[ProposedFinding, FindingEntry]]) -> LiteratureAdded:
    chosen = [each for each, _ in kept]
    return LiteratureAdded(
        proposals.file,
        proposals.reference,
        tuple(entry for _, entry in kept),
        tuple(proposals.entry(each) for each in proposals.reading.found if each not in chosen),
        proposals.reading.dropped,
        proposals.reading.unread,
        proposals.known,
        proposals.effort,
    )


def literature_add_at_most(
    workspace: Workspace, paper: str | Path, bibliography: str | Path | None, options: LiteratureAddOptions
) -> DryRun:
    """Return the most that `literature_add` would ask of the generator."""
    request = paper_request(workspace, paper, bibliography, options)
    estimate = estimate_prompts(findings_prompts(request.paper, request.subject, options.part_tokens))
    estimate += CallEstimate() if request.reference else estimate_prompts([citation_prompt(request.paper)])
    return dry_run({"generator": (generator_of(options), estimate)}, workspace.options)


def _unmarked(kept: Sequence[FindingEntry], found: Sequence[ProposedFinding]) -> Iterator[str]:
    """Yield which findings of the file lack the name of a data set that they were now found with."""
    for entry in kept:
        same = [each for each in found if is_same_claim(each.claim, [entry.claim])]
        names = sorted({name for each in same for name in each.benchmarks} - {*entry.benchmarks})
        if names:
            yield (
                f"the finding {entry.id!r} does not carry the name {' or '.join(names)}, so nothing leaves it out; "
                f"remove it and add the paper again: {command('literature remove', entry.id)}"
            )
