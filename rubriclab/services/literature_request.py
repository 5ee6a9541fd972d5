"""What is wanted of a paper, checked before anything is asked of a language model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from rubriclab.base_options import Texts
from rubriclab.data import find_aspect, task_words
from rubriclab.data.aspect import Aspect, is_defined, shipped_aspects
from rubriclab.data.fields import LONGEST_NAME
from rubriclab.errors import LiteratureError, SettingsError
from rubriclab.judges.connect import EMBEDDED
from rubriclab.literature import REFERENCES, Reference
from rubriclab.option_names import option
from rubriclab.papers.bibliography import chosen_entry, read_reference
from rubriclab.papers.findings import Subject
from rubriclab.papers.findings_file import check_same_work, entries_of, references_beside
from rubriclab.papers.paper import Paper, is_bibliography, read_paper
from rubriclab.services.base import JudgeOption
from rubriclab.services.literature_files import file_for, known_benchmarks, place_of
from rubriclab.services.workspace import Workspace

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


def _short(names: tuple[str, ...]) -> tuple[str, ...]:
    longest = max(map(len, names), default=0)
    if longest > LONGEST_NAME:
        raise ValueError(f"expected names of at most {LONGEST_NAME:,} characters, got {longest:,}")
    return names


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

    benchmark: Annotated[Texts, AfterValidator(_short)] = ()
    """Public data sets whose raters the whole paper is about; every finding carries their names."""

    pages: Annotated[tuple[int, int] | None, BeforeValidator(_pages)] = None
    """The pages to read, such as `"3-12"` or `(3, 12)`. Default: all."""

    part_tokens: int = Field(default=8_000, ge=500, le=500_000)
    """The most tokens of the paper in one prompt; the prompt takes about 1,500 more, the reply up to 3,400."""

    generator: str | None = None
    """Who reads the paper. Default: the judge."""


@dataclass(frozen=True)
class PaperRequest:
    """A paper to read, and what is wanted of it.

    Attributes:
        reference: how the paper is cited; `None` if the generator has to read it off the paper.
        file: the findings file to keep findings in.
    """

    paper: Paper
    subject: Subject
    reference: Reference | None
    file: Path


def paper_request(
    workspace: Workspace, paper: str | Path, bibliography: str | Path | None, options: LiteratureAddOptions
) -> PaperRequest:
    """Return the paper with what is wanted of it.

    Raises:
        LiteratureError: if a file cannot be used, or it is not known how the paper is cited.
        SettingsError: for the offline judge, or an aspect without a definition.
    """
    generator_of(options)
    path, bib = Path(paper), Path(bibliography) if bibliography else None
    if is_bibliography(path) and bib:
        raise LiteratureError(f"Two .bib files: {path} and {bib}.", "Give the PDF or text file of the paper first.")
    file = file_for(options.task, options.folder)
    entries_of(file)
    reference = _reference(file, path if is_bibliography(path) else bib, options.source)
    subject = _subject(options)
    text = read_paper(path, options.pages, options.source)
    if text.blank:
        blank = "1 page has" if text.blank == 1 else f"{text.blank} pages have"
        workspace.notify(f"{blank} no text in {path} and cannot be read")
    return PaperRequest(text, subject, reference, file)


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
    chosen = read_reference(bib, key) if bib else chosen_entry(file.parent / REFERENCES, there, key)[1]
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
