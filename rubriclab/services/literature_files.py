"""Findings that the user keeps or that ship: list and remove them, and choose those to learn with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.base_options import Options
from rubriclab.display import Displayed
from rubriclab.documents import content_path
from rubriclab.errors import LiteratureError, SettingsError
from rubriclab.literature import Finding, benchmark_name, load_findings, read_findings, write_findings
from rubriclab.option_names import close_match, did_you_mean, option
from rubriclab.services.workspace import Notify

if TYPE_CHECKING:
    from rubriclab.report.model import View
    from rubriclab.services.learn import LearnOptions


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

    aspect: str | None = None
    """Only findings that bear on this aspect."""


@dataclass(frozen=True)
class KeptFinding:
    """A finding and its file, whose name is the task."""

    file: Path
    finding: Finding


@dataclass(frozen=True, repr=False)
class FindingList(Displayed):
    """Findings, and what they are in words; `detailed` if each is shown with its quotation."""

    said: str
    findings: tuple[KeptFinding, ...]
    detailed: bool = False

    def to_row(self) -> dict[str, Any]:
        """Return the findings as one JSON object."""
        rows = [{"task": each.file.stem, "file": str(each.file), **each.finding.to_row()} for each in self.findings]
        return {"findings": rows}

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.lists import findings_view

        return findings_view(self)


def list_findings(options: LiteratureShowOptions, ids: Sequence[str] = ()) -> FindingList:
    """Return the user's own findings, or those that ship, in detail if `ids` names them.

    Raises:
        UserError: if a file cannot be used, an id or the folder is missing, or a folder is given with `included`.
    """
    if options.included and options.folder:
        raise SettingsError(f"{option('included')} means findings that ship;", f"leave {option('folder')} out.")
    place = content_path("literature") if options.included else place_of(options.folder)
    if options.folder and not place.exists():
        raise LiteratureError(f"There is no findings file or folder {place}.", "Give one that exists.")
    found = [each for each in kept_findings(place, options.task) if each.finding.bears_on(options.aspect)]
    known = [each.finding.id for each in found]
    for name in ids:
        if name not in known:
            raise LiteratureError(f"There is no finding {name!r} in {place}.", did_you_mean(name, known).strip())
    found = [each for each in found if not ids or each.finding.id in ids]
    return FindingList(f"Findings in {place}: {len(found)}", tuple(found), bool(ids))


def remove(options: LiteratureOptions, ids: Sequence[str]) -> FindingList:
    """Return the findings that were removed from all files that have them, or from that of a task."""
    found = list_findings(LiteratureShowOptions(**options.model_dump()), ids).findings
    for file in {each.file for each in found}:
        write_findings(file, [each for each in read_findings(file) if each.id not in ids])
    return FindingList(f"Findings removed: {len(found)}", found, detailed=True)


def place_of(folder: Path | None) -> Path:
    """Return the folder or file of findings: the one given, or the user's own folder."""
    import platformdirs

    return folder or platformdirs.user_data_path("rubriclab", appauthor=False) / "literature"


def kept_findings(place: Path, task: str | None = None) -> list[KeptFinding]:
    """Return the findings of a file or folder, or of the file there that is named after a task."""
    files = [place] if place.is_file() else sorted(place.glob("*.json"))
    tasks = [file.stem for file in files]
    if files and task and task not in tasks:
        hint = f"{did_you_mean(task, tasks)}There are findings for: {', '.join(tasks)}."
        raise LiteratureError(f"There are no findings for the task {task!r} in {place}.", hint)
    return [KeptFinding(file, each) for file in files if task in (None, file.stem) for each in read_findings(file)]


def chosen_findings(aspect: str, options: LearnOptions, notify: Notify) -> tuple[Finding, ...]:
    """Return the findings that the options leave, and say if there is none about a data set to leave out.

    Raises:
        SettingsError: if the name of the set is similar to one that findings carry, as if it were misspelt.
        LiteratureError: if a file cannot be used.
    """
    if options.no_literature:
        return ()
    findings = load_findings(options.task, None, options.literature)
    if options.literature and options.literature_included:
        findings = (*load_findings(options.task), *findings)
    known = sorted({name for finding in findings for name in finding.benchmarks})
    without = left_out(options)
    for name in without:
        if name not in known:
            there = f"; there are some about {', '.join(known)}" if known else ""
            given = f"{option('literature_without', name)} leaves nothing out"
            message = f"{given}: no finding for {options.task} is about the raters of {name}{there}"
            # Of a misspelt name, the findings would be learned from.
            if meant := close_match(name, known):
                raise SettingsError(f"{message}.", f"Did you mean {meant!r}? If not, leave out the name {name!r}.")
            notify(message)
    return tuple(each for each in findings if each.bears_on(aspect) and not {*without} & {*each.benchmarks})


def left_out(options: LearnOptions) -> tuple[str, ...]:
    """Return the data sets to leave out, spelled as findings spell them, also those that ship."""
    if options.no_literature or not options.literature_without:
        return ()
    findings = (*load_findings(options.task), *load_findings(options.task, None, options.literature))
    known = {name for finding in findings for name in finding.benchmarks}
    return tuple(dict.fromkeys(benchmark_name(name, known) for name in options.literature_without))
