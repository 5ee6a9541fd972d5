"""A paper taken apart into findings, which are kept once the user agrees."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from rubriclab.base_options import Texts
from rubriclab.data import find_aspect, task_words
from rubriclab.data.aspect import Aspect, is_defined, shipped_aspects
from rubriclab.display import Displayed
from rubriclab.errors import JudgeError, LiteratureError, SettingsError
from rubriclab.judges.connect import EMBEDDED
from rubriclab.literature import FindingEntry, Quotation, Reference
from rubriclab.methods.estimate import CallEstimate, estimate_prompts
from rubriclab.option_names import option
from rubriclab.papers.bibliography import read_bibliography
from rubriclab.papers.citation import citation_prompt, read_citation
from rubriclab.papers.findings import (
    DroppedFinding,
    PaperReading,
    ProposedFinding,
    Subject,
    benchmark_name,
    findings_prompts,
    is_same_claim,
    propose_findings,
)
from rubriclab.papers.findings_file import (
    add_findings,
    add_reference,
    check_same_work,
    entries_of,
    new_ids,
    references_beside,
)
from rubriclab.papers.paper import Paper, read_paper
from rubriclab.provenance import Effort
from rubriclab.services.base import JudgeOption
from rubriclab.services.dry_run import DryRun, dry_run
from rubriclab.services.judge_choice import JudgeChoice
from rubriclab.services.literature_files import file_for, known_benchmarks, place_of
from rubriclab.services.workspace import Workspace

if TYPE_CHECKING:
    from rubriclab.report.model import View

_PAGES = re.compile(r"\s*([1-9]\d{0,4})\s*(?:[-–:]\s*([1-9]\d{0,4})\s*)?")


def _pages(value: Any) -> Any:
    """Return a range of pages that is written as `3-12`, or `3` for one page."""
    ends = value
    if isinstance(value, str) and (match := _PAGES.fullmatch(value)):
        ends = int(match[1]), int(match[2] or match[1])
    is_range = isinstance(ends, list | tuple) and len(ends) == 2 and all(isinstance(end, int) for end in ends)
    if not is_range or not 1 <= ends[0] <= ends[1]:
        raise ValueError(f"expected pages such as 3-12, got {value!r}")
    return tuple(ends)


class LiteratureAddOptions(JudgeOption):
    """What is wanted of a paper."""

    task: str
    """The kind of text that findings are wanted about: summarization, story, dialogue, or a word of your own."""

    aspect: Texts = ()
    """The aspects that findings are wanted for. Default: all of the task."""

    definition: str | None = None
    """What the aspect means, for one that has no included definition."""

    folder: Path | None = None
    """The folder of findings files, or one such file. Default: your own literature folder."""

    source: str | None = None
    """The paper's key: an entry of the `.bib` file, or of `references.bib` beside the findings."""

    benchmark: Texts = ()
    """Public data sets whose raters the whole paper is about; every finding carries their names."""

    pages: Annotated[tuple[int, int] | None, BeforeValidator(_pages)] = None
    """The pages to read, such as `"3-12"` or `(3, 12)`. Default: all."""

    part_tokens: int = Field(default=8_000, ge=500, le=500_000)
    """The most tokens of the paper in one prompt; the prompt takes about 1,500 more, the reply up to 3,400."""

    generator: str | None = None
    """Who reads the paper. Default: the judge."""


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

    def entry(self, finding: ProposedFinding, name: str = "") -> FindingEntry:
        """Return a finding as its file will hold it, under the id `name`."""
        page = finding.page if self.paper.paged else None
        return FindingEntry(
            id=name or self.reference.key,
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
    chosen = [each for each in proposals.reading.found if keep is None or keep(proposals.entry(each))]
    return keep_findings(proposals, chosen)


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
    text, subject, reference, file = _prepared(workspace, paper, bibliography, options)
    generator = generator_of(options)
    await workspace.off_event_loop(workspace.open_store, create=True)
    judge = workspace.judge(JudgeChoice(generator))
    with workspace.progress(workspace.ledger) as on_progress:
        if reference is None:
            reference = await read_citation(text, judge, references_beside(file))
        reading = await propose_findings(text, subject, judge, tokens=options.part_tokens, on_progress=on_progress)
    if reading.unread and len(reading.unread) == reading.parts:
        raise JudgeError(f"No part of {text.name} had a usable reply; the first: {reading.unread[0]}")
    names = [benchmark_name(name, subject.benchmarks) for name in options.benchmark]
    marked = [replace(each, benchmarks=tuple(dict.fromkeys((*each.benchmarks, *names)))) for each in reading.found]
    claims = [entry["claim"] for entry in entries_of(file) if entry["source"] == reference.key]
    new = tuple(each for each in marked if not is_same_claim(each.claim, claims))
    known = len(marked) - len(new)
    return Proposals(text, file, reference, replace(reading, found=new), known, workspace.effort())


def keep_findings(proposals: Proposals, chosen: Sequence[ProposedFinding]) -> LiteratureAdded:
    """Return the result once the chosen findings are in their file, and the paper is in `references.bib` beside it.

    Raises:
        LiteratureError: if a file cannot be written.
    """
    file, found = proposals.file, proposals.reading.found
    names = new_ids(file, proposals.reference.key, len(chosen))
    kept = tuple(proposals.entry(each, name) for each, name in zip(chosen, names, strict=True))
    if kept:
        add_reference(file, proposals.reference)
        add_findings(file, kept)
    return LiteratureAdded(
        file,
        proposals.reference,
        kept,
        tuple(proposals.entry(each) for each in found if each not in chosen),
        proposals.reading.dropped,
        proposals.reading.unread,
        proposals.known,
        proposals.effort,
    )


def literature_add_at_most(
    workspace: Workspace, paper: str | Path, bibliography: str | Path | None, options: LiteratureAddOptions
) -> DryRun:
    """Return the most that `literature_add` would ask of the generator."""
    text, subject, reference, _ = _prepared(workspace, paper, bibliography, options)
    estimate = estimate_prompts(findings_prompts(text, subject, options.part_tokens))
    estimate += CallEstimate() if reference else estimate_prompts([citation_prompt(text)])
    return dry_run({"generator": (generator_of(options), estimate)}, workspace.options)


def _prepared(
    workspace: Workspace, paper: str | Path, bibliography: str | Path | None, options: LiteratureAddOptions
) -> tuple[Paper, Subject, Reference | None, Path]:
    """Return paper, subject, citation if it is known, and the findings file; nothing has been asked yet."""
    generator_of(options)
    path, bib = Path(paper), Path(bibliography) if bibliography else None
    if path.suffix.lower() == ".bib":
        raise LiteratureError(
            f"{path} says how a paper is cited; its text is needed too.", "Give the PDF or text file before it."
        )
    file = file_for(options.task, options.folder)
    entries_of(file)
    reference = _reference(file, bib, options.source)
    subject = _subject(options)
    text = read_paper(path, options.pages)
    if text.blank:
        blank = "1 page has" if text.blank == 1 else f"{text.blank} pages have"
        workspace.notify(f"{blank} no text in {path} and cannot be read")
    return text, subject, reference, file


def generator_of(options: LiteratureAddOptions) -> str:
    """Return the model that reads the paper.

    Raises:
        SettingsError: for the offline judge, which cannot.
    """
    generator = options.generator or options.judge or EMBEDDED
    if generator == EMBEDDED:
        raise SettingsError(
            "The offline judge does not understand texts, so it cannot find anything in a paper.",
            f"Name a language model: {option('judge', 'JUDGE')}.",
        )
    return generator


def _reference(file: Path, bib: Path | None, key: str | None) -> Reference | None:
    """Return how the paper is cited, as a `.bib` file or the references beside the findings say; `None` if neither."""
    there = references_beside(file)
    if bib is None and key is None:
        return None
    known = read_bibliography(bib) if bib else there
    where = bib or file.parent / "references.bib"
    if key is None and len(known) > 1:
        raise LiteratureError(
            f"{where} has {len(known)} entries.", f"Name the paper's: {option('source', next(iter(known)))}."
        )
    chosen = known.get(key or next(iter(known)))
    if chosen is None:
        raise LiteratureError(f"{where} has no entry {key!r}; it has {', '.join(known) or 'none'}.")
    if chosen.key in there:
        check_same_work(file, there[chosen.key], chosen)
    return chosen


def _subject(options: LiteratureAddOptions) -> Subject:
    task = options.task
    if options.definition and len(options.aspect) != 1:
        raise SettingsError(
            f"{option('definition')} says what one aspect means; got {len(options.aspect)} aspects.",
            f"Name the aspect: {option('aspect', 'ASPECT')}.",
        )
    known = tuple(dict.fromkeys(known_benchmarks(place_of(options.folder))))
    if not options.aspect:
        return Subject(task_words(task), shipped_aspects(task), every_aspect=True, benchmarks=known)
    aspects = tuple(_aspect(task, name, options.definition) for name in dict.fromkeys(options.aspect))
    return Subject(task_words(task), aspects, every_aspect=False, benchmarks=known)


def _aspect(task: str, name: str, definition: str | None) -> Aspect:
    if definition is None and not is_defined(task, name):
        raise SettingsError(
            f"There is no included definition of {name!r} for the task {task!r}.",
            f"Say what it means: {option('definition', 'TEXT')}.",
        )
    return find_aspect(task, name, definition)
