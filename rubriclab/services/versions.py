"""Versions in the store: read, compare, tag, export and import them, and check the store itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rubriclab.display import Displayed
from rubriclab.documents import Unreadable, read_file, read_stdin, text_of
from rubriclab.errors import BelowThreshold, NoStore, NotInStore, PackError, UserError
from rubriclab.option_names import command, option
from rubriclab.report.conclusion import verdict
from rubriclab.services.judge_choice import online_judges
from rubriclab.services.workspace import Notify, Workspace
from rubriclab.store import Pack, Problem, Version, VersionDiff, compare, import_pack, read_pack, write_pack
from rubriclab.validation import Outcome, Validation

if TYPE_CHECKING:
    from rubriclab.report.model import View
    from rubriclab.training_record import TrainingRecord


# The tag of what scores the texts that count: only what the gate has let through gets it.
PRODUCTION = "production"


@dataclass(frozen=True, repr=False)
class GateResult(Displayed):
    """Whether a version agrees better with people than the same judge asked directly, as found by learning."""

    version: Version
    validation: Validation

    @property
    def outcome(self) -> Outcome:
        """`better`, `not better` or `inconclusive`."""
        return self.validation.outcome

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.training import gate_view

        return gate_view(self.version, self.validation)


@dataclass(frozen=True, repr=False)
class VerifyResult(Displayed):
    """What in a store is not as it was written, and the damaged answers that were removed.

    Attributes:
        place: where the store is.
        names: how many rubrics it holds.
        removed: digests of the requests whose answers were removed.
    """

    place: str
    names: int
    problems: tuple[Problem, ...]
    removed: tuple[str, ...] = ()

    def view(self) -> View:
        """Return what was removed, and what does not match."""
        from rubriclab.report.lists import verify_view

        return verify_view(self)


def load(workspace: Workspace, ref: str) -> Version:
    """Return the version that `NAME` (the newest), `NAME@NUMBER` or `NAME@TAG` means.

    Raises:
        NoStore: if there is no store.
        NotInStore: if there is no such version.
    """
    return workspace.open_store(access="read").load(ref)


def list_versions(workspace: Workspace) -> tuple[Version, ...]:
    """Return the newest version of each rubric, by name; none, which is said, where there is no store."""
    try:
        store = workspace.open_store(access="read")
    except NoStore as error:
        workspace.notify(error.text)
        return ()
    newest = store.newest()
    if not newest:
        workspace.notify(f"No rubric is stored in {store.place} yet; `{command('learn')}` makes one.")
    return newest


def log(workspace: Workspace, name: str) -> tuple[Version, ...]:
    """Return all versions of a rubric, the newest first.

    Raises:
        NotInStore: if there is none.
    """
    return workspace.open_store(access="read").log(name)


def training_record(workspace: Workspace, ref: str) -> TrainingRecord:
    """Return what each candidate criterion said of each labelled text when a version was learned.

    Raises:
        NotInStore: if the store does not hold it.
    """
    from rubriclab.report.verdicts import unrecorded

    store = workspace.open_store(access="read")
    version = store.load(ref)
    record = store.training(version.ref)
    if record is None:
        raise NotInStore(f"The ratings of the labelled texts by {version.ref} are not stored.", unrecorded(version))
    return record


def diff(workspace: Workspace, before: str, after: str) -> VersionDiff:
    """Return what changed from one version to another.

    Raises:
        NotInStore: if there is no such version.
    """
    store = workspace.open_store(access="read")
    return compare(store.load(before), store.load(after))


def gate(workspace: Workspace, ref: str) -> GateResult:
    """Return whether a version agrees better with people than the same judge asked directly.

    Raises:
        UserError: if it was made by one method and never compared.
    """
    version = load(workspace, ref)
    if version.provenance.validation is None:
        raise UserError(
            f"{version.ref} was never compared with anything: it was made by one method.",
            f"Learn it without {option('methods')}, or with several, and the gate is part of learning.",
        )
    return GateResult(version, version.provenance.validation)


def report(workspace: Workspace, ref: str) -> str:
    """Return a page on how a version was trained, as one HTML document that needs no network.

    Raises:
        NotInStore: if there is no such version.
    """
    from rubriclab.report.training import training_report

    store = workspace.open_store(access="read")
    version = store.load(ref)
    return training_report(version, store.training(version.ref))


def tag(workspace: Workspace, ref: str, tag: str, *, force: bool = False) -> Version:
    """Point a tag to a version, return that version, and say which version the tag named before.

    Raises:
        BelowThreshold: if the tag is `production`, not forced, and the version did not pass the gate.
        NotInStore: if there is no such version.
    """
    store = workspace.open_store()
    if tag == PRODUCTION:
        _check_production(store.load(ref), workspace.notify, force=force)
    before = store.log(store.load(ref).name)
    tagged = store.tag(ref, tag)
    for version in before:
        if tag in version.tags and version.ref != tagged.ref:
            workspace.notify(f"{tag} was {version.ref} before")
    return tagged


def untag(workspace: Workspace, name: str, tag: str) -> None:
    """Remove a tag.

    Raises:
        NotInStore: if there is no such tag.
    """
    workspace.open_store().untag(str(name).partition("@")[0], tag)


def export(workspace: Workspace, ref: str) -> str:
    """Return a version as a pack: JSON to review, keep in git and share.

    Raises:
        NotInStore: if there is no such version.
    """
    return write_pack(load(workspace, ref))


def read_pack_file(path: str) -> Pack:
    """Return the pack in a file, or in standard input for `-`, after checking its digests.

    Raises:
        PackError: if there is none.
    """
    try:
        text = text_of(read_stdin() if path == "-" else read_file(Path(path)))
    except Unreadable as error:
        raise PackError(
            f"{path} cannot be read: {error}.", f"Give the path of a pack, which this writes: {command('export')}"
        ) from None
    return read_pack(text, path)


def import_(workspace: Workspace, path: str, name: str | None = None) -> Version:
    """Return the version that now holds the rubric of a pack file, and say when the judges that it names are asked.

    Raises:
        PackError: if the file is no pack, or does not match its digests.
    """
    pack = read_pack_file(path)
    version = import_pack(workspace.open_store(create=True), pack, name)
    _notify_judges(version, workspace.notify)
    return version


def verify(workspace: Workspace, *, repair: bool = False) -> VerifyResult:
    """Derive every digest in the store again; with `repair`, first remove damaged answers, and only those.

    Raises:
        NoStore: if there is no store.
    """
    store = workspace.open_store(access="write" if repair else "read")
    removed = store.repair() if repair else ()
    return VerifyResult(store.place, len(store.names()), store.verify(), removed)


def _check_production(version: Version, notify: Notify, *, force: bool) -> None:
    validation = version.provenance.validation
    if validation is None:
        notify(f"{version.ref} never went through the gate: nothing shows it to be better than the plain question")
    elif validation.outcome != "better":
        if not force:
            raise BelowThreshold(
                f"{version.ref} stays without the tag {PRODUCTION}. {verdict(version)}",
                f"To tag it all the same, use {option('force')}.",
            )
        notify(f"forced, whatever the gate says of {version.ref}: {verdict(version)}")


def _notify_judges(version: Version, notify: Notify) -> None:
    judges = named_judges(version)
    if not judges:
        notify(f"{version.ref} names the offline judge only, which sends nothing")
    elif version.trusted:
        notify(f"{version.ref} names {judges}, which may be asked")
    else:
        notify(
            f"{version.ref} names {judges}; asked only if you name it ({option('judge')}), or after: "
            f"{command('trust', version.ref)}"
        )


def named_judges(version: Version) -> str:
    """Return the judge and the generator that a version names, in full; empty where both are offline."""
    from rubriclab.report.wording import quoted_judge

    online = online_judges(version).items()
    return " and ".join(f"the {role} {quoted_judge(*judge, most=None)}" for role, judge in online)


def trust(workspace: Workspace, ref: str, *, revoke: bool = False) -> Version:
    """Return an imported version, confirmed from now on: it may choose the judge and its address; or no longer.

    Raises:
        NotInStore: if there is no such version.
    """
    store = workspace.open_store()
    return store.revoke(ref) if revoke else store.confirm(ref)


def imported_versions(workspace: Workspace) -> tuple[Version, ...]:
    """Return all imported versions, by name and number; none where there is no store."""
    try:
        return workspace.open_store().imported()
    except NoStore:
        return ()
