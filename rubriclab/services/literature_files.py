"""Findings that the user keeps: list, show and remove them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.base_options import Options
from rubriclab.display import Displayed
from rubriclab.errors import LiteratureError, SettingsError
from rubriclab.literature import Finding, findings_file, load_findings
from rubriclab.option_names import close_match, command, did_you_mean, option
from rubriclab.papers.findings_file import remove_findings
from rubriclab.shipped_files import content_path

if TYPE_CHECKING:
    from rubriclab.report.model import View


class LiteratureOptions(Options):
    """Which findings are meant."""

    folder: Path | None = None
    """A folder of findings files, or one such file. Default: your own literature folder."""

    task: str | None = None
    """Only findings for this kind of text."""


class LiteratureShowOptions(LiteratureOptions):
    """Which findings are shown."""

    included: bool = False
    """The findings that ship with rubriclab, instead of your own."""


class LiteratureListOptions(LiteratureShowOptions):
    """Which findings are listed."""

    aspect: str | None = None
    """Only findings that bear on this aspect."""


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
    """Findings, and the place where they are.

    Attributes:
        detailed: whether each is shown with its quotation.
        unnamed: the aspect that was asked about, if no finding there names it, so that all listed bear on any aspect.
        close: an aspect that findings there name, with a similar name.
    """

    place: Path
    findings: tuple[KeptFinding, ...]
    detailed: bool = False
    unnamed: str | None = None
    close: str | None = None

    def to_row(self) -> dict[str, Any]:
        """Return the findings as one JSON object."""
        return {"place": str(self.place), "findings": [each.to_row() for each in self.findings]}

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.literature import finding_view, findings_view

        return finding_view(self) if self.detailed else findings_view(self)


def list_findings(options: LiteratureListOptions) -> FindingList:
    """Return the user's own findings, or those that ship.

    Raises:
        LiteratureError: if a file cannot be used, a place that was given is missing, or there are findings but none for
            the task or on the aspect.
        SettingsError: if a folder is given with the findings that ship.
    """
    place = _place_shown(options)
    found = kept_findings(place, options.task)
    chosen = tuple(each for each in found if each.finding.bears_on(options.aspect))
    named = {name for each in found for name in each.finding.aspects}
    unnamed = options.aspect if options.aspect and options.aspect not in named else None
    if unnamed and found and not chosen:
        raise LiteratureError(
            f"No finding in {place} bears on the aspect {unnamed!r}.",
            f"{did_you_mean(unnamed, named)}There are findings on: {', '.join(sorted(named))}.",
        )
    close = close_match(unnamed, named) if unnamed else None
    return FindingList(place, chosen, unnamed=unnamed, close=close)


def show_finding(name: str, options: LiteratureShowOptions) -> FindingList:
    """Return the findings with an id: one, or one for each task.

    Raises:
        LiteratureError: if there is none, or a file cannot be used.
        SettingsError: if a folder is given with the findings that ship.
    """
    place = _place_shown(options)
    return FindingList(place, _named(place, [name], options.task), detailed=True)


def remove(names: Sequence[str], options: LiteratureOptions) -> FindingList:
    """Return the findings that were removed; publications stay in `references.bib`.

    Raises:
        LiteratureError: if there is no finding of a name, several tasks have it, or a file cannot be used or written.
    """
    place = existing_place(options.folder)
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


def place_of(folder: Path | None) -> Path:
    """Return the folder or file of findings: the one given, or the user's own folder."""
    import platformdirs

    return folder or platformdirs.user_data_path("rubriclab", appauthor=False) / "literature"


def existing_place(folder: Path | None) -> Path:
    """Return the place of findings, which exists if it was given.

    Raises:
        LiteratureError: if not.
    """
    place = place_of(folder)
    if folder and not place.exists():
        raise LiteratureError(f"There is no findings file or folder {place}.", "Give one that exists.")
    return place


def _place_shown(options: LiteratureShowOptions) -> Path:
    if options.included and options.folder:
        raise SettingsError(
            f"{option('folder', str(options.folder))} names findings of your own, and {option('included')} those that "
            "ship.",
            "Give one of them.",
        )
    return content_path("literature") if options.included else existing_place(options.folder)


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


def kept_findings(place: Path, task: str | None) -> list[KeptFinding]:
    """Return the findings for a task in a folder, or all of a file.

    Raises:
        LiteratureError: if the folder has findings but none for the task, or a file cannot be used.
    """
    files = [place] if place.is_file() else sorted(place.glob("*.json"))
    tasks = [file.stem for file in files]
    if tasks and task is not None and task not in tasks and not place.is_file():
        raise LiteratureError(
            f"There are no findings for the task {task!r} in {place}.",
            f"{did_you_mean(task, tasks)}There are findings for: {', '.join(tasks)}.",
        )
    return [
        KeptFinding(file.stem, file, finding)
        for file in files
        if task is None or file.stem == task or place.is_file()
        for finding in load_findings(file.stem, path=file)
    ]


def _named(place: Path, names: Sequence[str], task: str | None) -> tuple[KeptFinding, ...]:
    found = kept_findings(place, task)
    known = [each.finding.id for each in found]
    for name in names:
        if name not in known:
            there = f"{did_you_mean(name, known)}See: {_list_command(place)}" if known else "There are none."
            raise LiteratureError(f"There is no finding {name!r} in {place}.", there)
    return tuple(each for each in found if each.finding.id in names)


def _list_command(place: Path) -> str:
    if place == content_path("literature"):
        return command("literature list", included="")
    return command("literature list") if place == place_of(None) else command("literature list", folder=str(place))


def known_benchmarks(place: Path) -> Iterator[str]:
    """Yield the names of public data sets that findings carry, those that ship first."""
    for folder in (content_path("literature"), place):
        for each in kept_findings(folder, None):
            yield from each.finding.benchmarks
