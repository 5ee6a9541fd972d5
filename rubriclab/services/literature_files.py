"""Findings that the user keeps: list, show, remove, and check their quotations against the paper again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rubriclab.base_options import Options
from rubriclab.display import Displayed
from rubriclab.errors import LiteratureError
from rubriclab.literature import Finding, findings_file, load_findings
from rubriclab.option_names import command, did_you_mean, option
from rubriclab.papers.findings_file import remove_findings
from rubriclab.papers.paper import Paper, read_paper
from rubriclab.papers.quotation import find_quotation
from rubriclab.shipped_files import content_path

if TYPE_CHECKING:
    from rubriclab.report.model import View

Outcome = Literal["found", "on another page", "not found", "no quotation"]


class LiteratureOptions(Options):
    """Which findings are meant."""

    folder: Path | None = None
    """A folder of findings files, or one such file. Default: your own literature folder."""

    task: str | None = None
    """Only findings for this kind of text."""


class LiteratureListOptions(LiteratureOptions):
    """Which findings are listed."""

    aspect: str | None = None
    """Only findings that bear on this aspect."""

    included: bool = False
    """The findings that ship with rubriclab, instead of your own."""


class LiteratureCheckOptions(LiteratureOptions):
    """Which findings are checked against a paper."""

    source: str | None = None
    """The paper's key in `references.bib`. Default: findings whose quotations were taken from a file of this name."""


@dataclass(frozen=True)
class KeptFinding:
    """A finding with its task and the file that holds it."""

    task: str
    file: Path
    finding: Finding

    def to_row(self) -> dict[str, Any]:
        """Return the finding as one JSON object."""
        return {"task": self.task, "file": str(self.file), **self.finding.model_dump(mode="json")}


@dataclass(frozen=True, repr=False)
class FindingList(Displayed):
    """Findings, and the place where they are; `detailed` shows each with its quotation."""

    place: Path
    findings: tuple[KeptFinding, ...]
    detailed: bool = False

    def to_row(self) -> dict[str, Any]:
        """Return the findings as one JSON object."""
        return {"place": str(self.place), "findings": [each.to_row() for each in self.findings]}

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.literature import finding_view, findings_view

        return finding_view(self) if self.detailed else findings_view(self)


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


def list_findings(options: LiteratureListOptions) -> FindingList:
    """Return the user's own findings, or those that ship.

    Raises:
        LiteratureError: if a file cannot be used, or a place that was given has none.
    """
    place = content_path("literature") if options.included else place_of(options.folder)
    found = _findings(place, options.task)
    if not found and options.folder and not place.exists():
        raise LiteratureError(f"There is no findings file or folder {place}.", "Give one that exists.")
    return FindingList(place, tuple(each for each in found if each.finding.bears_on(options.aspect)))


def show_finding(name: str, options: LiteratureOptions) -> FindingList:
    """Return the findings with an id: one, or one for each task.

    Raises:
        LiteratureError: if there is none, or a file cannot be used.
    """
    place = place_of(options.folder)
    return FindingList(place, _named(place, [name], options.task), detailed=True)


def remove(names: Sequence[str], options: LiteratureOptions) -> FindingList:
    """Return the findings that were removed; publications stay in `references.bib`.

    Raises:
        LiteratureError: if there is no finding of a name, several tasks have it, or a file cannot be used or written.
    """
    place = place_of(options.folder)
    found = _named(place, names, options.task)
    for name in names:
        tasks = [each.task for each in found if each.finding.id == name]
        if len(tasks) > 1:
            raise LiteratureError(
                f"The finding {name!r} is kept for several tasks: {', '.join(tasks)}.",
                f"Name one of them: {option('task', tasks[0])}.",
            )
    for file in dict.fromkeys(each.file for each in found):
        remove_findings(file, {each.finding.id for each in found if each.file == file})
    return FindingList(place, found, detailed=True)


def check(paper: str | Path, options: LiteratureCheckOptions) -> LiteratureCheck:
    """Return whether the quotations of findings stand in a paper.

    Raises:
        LiteratureError: if no finding is about the paper, or a file cannot be used.
    """
    path, place = Path(paper), place_of(options.folder)
    found = _findings(place, options.task)
    chosen = [each for each in found if _is_about(each.finding, path.name, options.source)]
    if not chosen:
        about = f"the source {options.source!r}" if options.source else f"a quotation from a file {path.name}"
        sources = ", ".join(sorted({each.finding.source for each in found})) or "none"
        raise LiteratureError(
            f"No finding in {place} has {about}.", f"Name the paper with {option('source', 'KEY')}; known: {sources}."
        )
    text = read_paper(path)
    return LiteratureCheck(str(paper), tuple(_checked(each, text) for each in chosen))


def place_of(folder: Path | None) -> Path:
    """Return the folder or file of findings: the one given, or the user's own folder."""
    import platformdirs

    return folder or platformdirs.user_data_path("rubriclab", appauthor=False) / "literature"


def file_for(task: str, folder: Path | None) -> Path:
    """Return the findings file of a task, which may not exist yet: `folder` is a folder unless it ends with `.json`.

    Raises:
        LiteratureError: if the task is no name for a file.
    """
    place = place_of(folder)
    if place.suffix == ".json" and not place.is_dir():
        return place
    if task != Path(task).name or task.startswith("."):
        raise LiteratureError(f"The task {task!r} cannot name a file.", "Give a findings file instead of a folder.")
    return findings_file(task, place) if place.is_dir() else place / f"{task}.json"


def _findings(place: Path, task: str | None) -> list[KeptFinding]:
    files = [place] if place.is_file() else sorted(place.glob("*.json"))
    return [
        KeptFinding(file.stem, file, finding)
        for file in files
        if task is None or file.stem == task or place.is_file()
        for finding in load_findings(file.stem, path=file)
    ]


def _named(place: Path, names: Sequence[str], task: str | None) -> tuple[KeptFinding, ...]:
    found = _findings(place, task)
    known = [each.finding.id for each in found]
    for name in names:
        if name not in known:
            there = f"{did_you_mean(name, known)}See: {command('literature list')}" if known else "There are none."
            raise LiteratureError(f"There is no finding {name!r} in {place}.", there)
    return tuple(each for each in found if each.finding.id in names)


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


def known_benchmarks(place: Path) -> Iterator[str]:
    """Yield the names of public data sets that findings carry, those that ship first."""
    for folder in (content_path("literature"), place):
        for each in _findings(folder, None):
            yield from each.finding.benchmarks
