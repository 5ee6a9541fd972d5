"""Versions in the store: read, compare, tag, export and import them, and check the store itself.

All but `batches` need an open store and nothing else, so that these commands import neither judges nor learning.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rubriclab.display import Displayed
from rubriclab.errors import BelowThreshold, JudgeError, NotInStore, PackError, SettingsError, StoreError, UserError
from rubriclab.models.base import Unreadable, decode_text, read_file, read_stdin
from rubriclab.models.version import Candidate, Cell, Outcome, RecordedText, TrainingRecord, Validation, Version
from rubriclab.store.store import KindSize, Problem, Space, Store, open_store

if TYPE_CHECKING:
    from rubriclab.judges.batch import OpenBatch
    from rubriclab.ops.options import BatchesOptions, DisagreementsOptions, PruneOptions
    from rubriclab.ops.workspace import Notify, Workspace

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


@dataclass(frozen=True, repr=False)
class VerifyResult(Displayed):
    """What in a store is not as it was written, and the damaged answers that were removed.

    Attributes:
        removed: digests of the requests whose answers were removed.
    """

    place: str
    names: int
    problems: tuple[Problem, ...]
    removed: tuple[str, ...] = ()


def list_versions(store: Store, notify: Notify, name: str | None = None) -> tuple[Version, ...]:
    """Return the newest version of each rubric, by name, or all versions of one, the newest first.

    Versions that cannot be read are left out. `notify` is told of each, and if the store has no rubric.
    """
    damaged: list[StoreError] = []
    versions = store.log(name, damaged.append) if name else store.newest(damaged.append)
    for error in damaged:
        notify(f"left out: {error}")
    if not versions and not damaged:
        notify(f"No rubric is stored in {store.place} yet; `rubriclab learn` makes one.")
    return versions


def training_record(store: Store, ref: str) -> TrainingRecord:
    """Return what each candidate criterion said of each labelled text when a version was learned."""
    version = store.load(ref)
    record = store.training(version.ref)
    if record is None:
        raise NotInStore(f"The ratings of the labelled texts by {version.ref} are not stored.", missing_record(version))
    return record


def missing_record(version: Version) -> str:
    """Return why there is no record of the texts that a version was learned from."""
    if version.rubric.aggregation is None:
        return (
            f"{version.ref} was learned by one method: texts and ratings are recorded for rubrics of several methods "
            "only."
        )
    return (
        f"The store has no training record of {version.ref}: texts and ratings stay in the store in which a rubric was "
        "learned unless they are deleted there, and are not part of a pack."
    )


def gate(store: Store, ref: str) -> GateResult:
    """Return whether a version agrees better with people than the same judge asked directly."""
    version = store.load(ref)
    if version.provenance.validation is None:
        raise UserError(
            f"{version.ref} was never compared with anything: it was made by one method.",
            "Learn it without `methods`, or with several, and the gate is part of learning.",
        )
    return GateResult(version, version.provenance.validation)


def tag(store: Store, ref: str, tag: str, notify: Notify, *, force: bool = False) -> Version:
    """Point a tag to a version, return that version, and say which version the tag named before.

    Raises:
        BelowThreshold: if the tag is `production`, not forced, and the version did not pass the gate.
    """
    version = store.load(ref)
    validation = version.provenance.validation
    if tag == PRODUCTION and validation is None:
        notify(f"{version.ref} never went through the gate: nothing shows it to be better than the plain question")
    elif tag == PRODUCTION and validation and validation.outcome != "better":
        from rubriclab.report.rubrics import verdict

        if not force:
            raise BelowThreshold(
                f"{version.ref} stays without the tag {PRODUCTION}. {verdict(version)}",
                "To tag it all the same, use `force`.",
            )
        notify(f"forced, whatever the gate says of {version.ref}: {verdict(version)}")
    before = [each.ref for each in store.log(version.name) if tag in each.tags]
    tagged = store.tag(ref, tag)
    for name in before:
        if name != tagged.ref:
            notify(f"{tag} was {name} before")
    return tagged


def export(store: Store, ref: str, notify: Notify, *, anonymous: bool = False) -> str:
    """Return a version as a pack, JSON to review, keep in git and share, and say whose names it holds.

    Args:
        anonymous: whether to leave the names of raters and editors out.
    """
    from rubriclab.store.packs import persons, without_persons, write_pack

    version = store.load(ref)
    if anonymous:
        version = without_persons(version)
        if version.provenance.edit and version.provenance.edit.because:
            notify("the reason of the edit is kept without these names; check that it names nobody else")
    elif names := persons(version):
        notify(f"the pack names raters or editors ({', '.join(names)}); `anonymous` leaves their names out")
    return write_pack(version)


def import_(where: str | Path | None, path: str, notify: Notify, name: str | None = None) -> Version:
    """Return the version that now holds the rubric of a pack file (`-` for standard input), and say whom it names.

    The store at `where` is opened, and made if there is none, once the pack has been found to be sound.

    Raises:
        PackError: if the file is no pack, or does not match its digests.
    """
    from rubriclab.ops.workspace import named_judges
    from rubriclab.store.packs import import_pack, read_pack

    try:
        text = decode_text(read_stdin() if path == "-" else read_file(Path(path)))
    except Unreadable as error:
        raise PackError(
            f"{path} cannot be read: {error}.", "Give the path of a pack, which this writes: rubriclab export"
        ) from None
    pack = read_pack(text, path)
    with open_store(where) as store:
        version = import_pack(store, pack, name)
    if version.new and version.name == pack.name and version.number != pack.number:
        notify(
            f"{pack.name}@{pack.number} is stored as {version.ref}, since {version.name} had version "
            f"{version.number - 1} already"
        )
    if not (judges := named_judges(version)):
        said = "names the offline judge only, which sends nothing"
    elif version.trusted:
        said = f"names {judges}, which may be asked"
    else:
        said = f"names {judges}; asked only if you name it (`judge`), or after: rubriclab trust {version.ref}"
    notify(f"{version.ref} {said}")
    return version


def verify(store: Store, *, repair: bool = False) -> VerifyResult:
    """Derive every digest in the store again; with `repair`, first remove damaged answers, and only those."""
    removed = store.repair() if repair else ()
    return VerifyResult(store.place, len(store.names()), store.verify(), removed)


@dataclass(frozen=True, repr=False)
class StoreSize(Displayed):
    """The rows and bytes of a store by kind, and the space that the database takes."""

    store: str
    kinds: tuple[KindSize, ...]
    space: Space

    def to_row(self) -> dict[str, Any]:
        """Return the sizes as one JSON object."""
        return {"store": self.store, "kinds": [asdict(kind) for kind in self.kinds], **asdict(self.space)}


@dataclass(frozen=True, repr=False)
class PruneResult(Displayed):
    """The cached answers that were removed from a store, or only counted: how many, and the bytes of their replies."""

    store: str
    removed: int
    bytes: int
    dry_run: bool


@dataclass(frozen=True, repr=False)
class VacuumResult(Displayed):
    """The space that a store takes, in bytes, before and after."""

    store: str
    before: int
    after: int


def store_size(store: Store) -> StoreSize:
    """Return what the store holds. Every row is read."""
    return StoreSize(store.place, *store.sizes())


def prune(store: Store, options: PruneOptions) -> PruneResult:
    """Remove cached answers, and nothing else. They are asked again, and paid for again, where they are needed."""
    if options.older_than is None:
        raise SettingsError(
            "Nothing says which cached answers to remove;",
            "give `older_than=90d`, or `older_than=0d` for all.",
        )
    before = datetime.now(UTC) - options.older_than
    return PruneResult(store.place, *store.prune(before, dry_run=options.dry_run), options.dry_run)


def vacuum(store: Store) -> VacuumResult:
    """Give the space of what was removed back to the file system. Other processes that use the store wait meanwhile.

    Raises:
        StoreError: if it is read-only, or neither SQLite nor PostgreSQL.
        StoreUnavailable: if another process uses the store for long, or the disk is full.
    """
    before = store.space().total or 0
    store.vacuum()
    return VacuumResult(store.place, before, store.space().total or 0)


@dataclass(frozen=True, repr=False)
class Batches(Displayed):
    """The batches whose answers have not been fetched, the oldest first, and the one that was cancelled now."""

    batches: tuple[OpenBatch, ...]
    cancelled: OpenBatch | None = None

    def lines(self) -> list[str]:
        """Return in words what was cancelled, or which batches there are."""
        if self.cancelled:
            return [
                f"Batch {self.cancelled.name} is cancelled. Run the command that sent it again for its answers so far."
            ]
        if not self.batches:
            return ["No batch is under way."]
        return [
            f"{batch.name}: {len(batch.requests):,} requests to {batch.model}, sent {batch.created[:16]} UTC"
            for batch in self.batches
        ]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one JSON object for each batch."""
        return [
            {
                "batch": batch.name,
                "model": batch.model,
                "api_base": batch.api_base,
                "requests": len(batch.requests),
                "created": batch.created,
                "cancelled": batch == self.cancelled,
            }
            for batch in self.batches
        ]


async def batches(workspace: Workspace, options: BatchesOptions) -> Batches:
    """Return the batches that are under way, of which one may be cancelled first."""
    from rubriclab.judges.batch import BatchModel

    found = await workspace.off_event_loop(workspace.store.batches.open)
    if options.cancel is None:
        return Batches(found)
    chosen = next((batch for batch in found if options.cancel in (batch.batch_id, batch.key)), None)
    if chosen is None:
        ids = ", ".join(batch.name for batch in found)
        raise SettingsError(f"`cancel`: no batch {options.cancel!r} is under way.", f"Under way: {ids or 'none'}.")
    model = BatchModel(
        chosen.model, api_base=chosen.api_base, key_from=chosen.key_from, timeout=workspace.options.timeout
    )
    batch_id = chosen.batch_id or await model.find(chosen.file_id, datetime.fromisoformat(chosen.created))
    if batch_id is None:  # its file was uploaded, but no batch was made of it
        await workspace.off_event_loop(workspace.store.batches.remove, chosen.key)
        return Batches(found, chosen)
    status = await model.status(batch_id)
    if status.ended:
        raise JudgeError(
            f"Batch {batch_id} has ended already: {status.state}.",
            "Run the command that sent it again, to collect its answers.",
        )
    await model.cancel(batch_id)
    return Batches(found, chosen)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A text on which people and the rubric differ.

    Attributes:
        points: by how much the rubric's score lies above the label.
    """

    text: RecordedText
    points: float
    answers: tuple[tuple[Candidate, Cell], ...]

    @property
    def side(self) -> Literal["higher", "lower"]:
        """Whether the rubric's score is higher or lower than the label."""
        return "higher" if self.points > 0 else "lower"


@dataclass(frozen=True, repr=False)
class Disagreements(Displayed):
    """Labelled texts by the distance of their held-out score from the label, the largest first."""

    version: Version
    record: TrainingRecord
    texts: tuple[Disagreement, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one JSON object for each text."""
        return [
            {
                **each.text.model_dump(mode="json", exclude={"context", "reference"}),
                "difference": round(each.points, 6),
                "criteria": [
                    {"id": candidate.criterion.id, "score": cell.score, "applies": cell.applies, "reason": cell.reason}
                    for candidate, cell in each.answers
                ],
            }
            for each in self.texts
        ]


def disagreements(version: Version, record: TrainingRecord, options: DisagreementsOptions) -> Disagreements:
    """Return the texts whose held-out scores lie furthest from their labels."""
    chosen = [each for each in find_disagreements(record) if options.side in ("both", each.side)]
    return Disagreements(version, record, tuple(chosen[: options.count]))


def find_disagreements(record: TrainingRecord) -> list[Disagreement]:
    """Return the texts whose held-out scores differ from their labels, the furthest in points of the scale first."""
    differing = [
        Disagreement(
            text,
            (text.predicted or 0.0) - text.label,
            tuple((of, cell) for of, cell in zip(record.candidates, cells, strict=True) if of.kept),
        )
        for text, cells in zip(record.texts, record.cells, strict=True)
        if text.predicted not in (None, text.label)
    ]
    return sorted(differing, key=lambda each: (-abs(each.points), each.text.id))
