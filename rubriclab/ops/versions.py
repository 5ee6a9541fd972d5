"""Versions in the store: read, compare, tag, export and import them, and check the store itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from rubriclab.display import Displayed
from rubriclab.errors import BelowThreshold, JudgeError, NotInStore, PackError, SettingsError, UserError
from rubriclab.judges.batch import BatchModel, OpenBatch
from rubriclab.judges.stack import PREFIX, recorded_name
from rubriclab.models.base import Unreadable, decode_text, read_file, read_stdin
from rubriclab.models.characters import quoted_judge
from rubriclab.models.rubric import CriterionKind, Rubric
from rubriclab.models.version import Candidate, Cell, Outcome, RecordedText, TrainingRecord, Validation, Version
from rubriclab.ops.options import BatchesOptions, DisagreementsOptions, PruneOptions
from rubriclab.ops.workspace import Workspace, online_judges, version_of
from rubriclab.store.packs import import_pack, persons, read_pack, without_persons, write_pack
from rubriclab.store.store import KindSize, Problem, Space

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


def list_versions(workspace: Workspace) -> tuple[Version, ...]:
    """Return the newest version of each rubric, by name, and say so if there is none."""
    store = workspace.open_store(access="read")
    newest = store.newest()
    if not newest:
        workspace.notify(f"No rubric is stored in {store.place} yet; `rubriclab learn` makes one.")
    return newest


def training_record(workspace: Workspace, ref: str) -> TrainingRecord:
    """Return what each candidate criterion said of each labelled text when a version was learned."""
    store = workspace.open_store(access="read")
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


def gate(workspace: Workspace, ref: str) -> GateResult:
    """Return whether a version agrees better with people than the same judge asked directly."""
    version = workspace.open_store(access="read").load(ref)
    if version.provenance.validation is None:
        raise UserError(
            f"{version.ref} was never compared with anything: it was made by one method.",
            "Learn it without `methods`, or with several, and the gate is part of learning.",
        )
    return GateResult(version, version.provenance.validation)


def tag(workspace: Workspace, ref: str, tag: str, *, force: bool = False) -> Version:
    """Point a tag to a version, return that version, and say which version the tag named before.

    Raises:
        BelowThreshold: if the tag is `production`, not forced, and the version did not pass the gate.
    """
    store = workspace.open_store()
    version = store.load(ref)
    validation = version.provenance.validation
    if tag == PRODUCTION and validation is None:
        workspace.notify(
            f"{version.ref} never went through the gate: nothing shows it to be better than the plain question"
        )
    elif tag == PRODUCTION and validation and validation.outcome != "better":
        from rubriclab.report.rubrics import verdict

        if not force:
            raise BelowThreshold(
                f"{version.ref} stays without the tag {PRODUCTION}. {verdict(version)}",
                "To tag it all the same, use `force`.",
            )
        workspace.notify(f"forced, whatever the gate says of {version.ref}: {verdict(version)}")
    before = [each.ref for each in store.log(version.name) if tag in each.tags]
    tagged = store.tag(ref, tag)
    for name in before:
        if name != tagged.ref:
            workspace.notify(f"{tag} was {name} before")
    return tagged


def export(workspace: Workspace, ref: str, *, anonymous: bool = False) -> str:
    """Return a version as a pack, JSON to review, keep in git and share, and say whose names it holds.

    Args:
        anonymous: whether to leave the names of raters and editors out.
    """
    version = workspace.open_store(access="read").load(ref)
    if anonymous:
        version = without_persons(version)
    elif names := persons(version):
        workspace.notify(f"the pack names raters or editors ({', '.join(names)}); `anonymous` leaves their names out")
    return write_pack(version)


def import_(workspace: Workspace, path: str, name: str | None = None) -> Version:
    """Return the version that now holds the rubric of a pack file (`-` for standard input), and say whom it names.

    Raises:
        PackError: if the file is no pack, or does not match its digests.
    """
    try:
        text = decode_text(read_stdin() if path == "-" else read_file(Path(path)))
    except Unreadable as error:
        raise PackError(
            f"{path} cannot be read: {error}.", "Give the path of a pack, which this writes: rubriclab export"
        ) from None
    pack = read_pack(text, path)
    version = import_pack(workspace.open_store(create=True), pack, name)
    if version.new and version.name == pack.name and version.number != pack.number:
        workspace.notify(
            f"{pack.name}@{pack.number} is stored as {version.ref}, since {version.name} had version "
            f"{version.number - 1} already"
        )
    if not (judges := named_judges(version)):
        said = "names the offline judge only, which sends nothing"
    elif version.trusted:
        said = f"names {judges}, which may be asked"
    else:
        said = f"names {judges}; asked only if you name it (`judge`), or after: rubriclab trust {version.ref}"
    workspace.notify(f"{version.ref} {said}")
    return version


def verify(workspace: Workspace, *, repair: bool = False) -> VerifyResult:
    """Derive every digest in the store again; with `repair`, first remove damaged answers, and only those."""
    store = workspace.open_store(access="write" if repair else "read")
    removed = store.repair() if repair else ()
    return VerifyResult(store.place, len(store.names()), store.verify(), removed)


def named_judges(version: Version) -> str:
    """Return the judge and the generator that a version names, in full; empty where both are offline."""
    online = online_judges(version).items()
    return " and ".join(f"the {role} {quoted_judge(*judge, most=None)}" for role, judge in online)


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


def store_size(workspace: Workspace) -> StoreSize:
    """Return what the store holds. Every row is read."""
    store = workspace.open_store(access="read")
    return StoreSize(store.place, *store.sizes())


def prune(workspace: Workspace, options: PruneOptions) -> PruneResult:
    """Remove cached answers, and nothing else. They are asked again, and paid for again, where they are needed."""
    if options.older_than is None:
        raise SettingsError(
            "Nothing says which cached answers to remove;",
            "give `older_than=90d`, or `older_than=0d` for all.",
        )
    before = datetime.now(UTC) - options.older_than
    store = workspace.open_store(access="read" if options.dry_run else "write")
    return PruneResult(store.place, *store.prune(before, dry_run=options.dry_run), options.dry_run)


def vacuum(workspace: Workspace) -> VacuumResult:
    """Give the space of what was removed back to the file system. Other processes that use the store wait meanwhile.

    Raises:
        StoreError: if it is read-only, or neither SQLite nor PostgreSQL.
        StoreUnavailable: if another process uses the store for long, or the disk is full.
    """
    store = workspace.open_store()
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


def disagreements(
    workspace: Workspace,
    rubric: str | Version,
    options: DisagreementsOptions,
    *,
    record: TrainingRecord | None = None,
) -> Disagreements:
    """Return the texts whose held-out scores lie furthest from their labels.

    Args:
        record: the training record of the version, to spare reading it.
    """
    version = version_of(workspace, rubric)
    record = record or training_record(workspace, version.ref)
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


class GivenText(BaseModel):
    """A text to score, as programs and assistants give it."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    output: str
    """The text."""
    source: str | None = None
    """What it was made from, such as the article of a summary or the question of an answer."""
    context: str | None = None
    """What else the judge is shown, such as the dialogue before a response."""
    reference: str | None = None
    """A text by a person for the same source, for criteria that compare with one."""
    id: str | None = None
    """By default derived from the text."""
    group: str | None = None
    """What texts share that have the same source; by default derived from it."""


class DescriptionModel(BaseModel):
    """Base of what is told to programs."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class LevelDescription(DescriptionModel):
    """What a text is like that deserves a score."""

    score: float
    """On the scale of the criterion."""
    description: str
    """What such a text is like."""


class CriterionDescription(DescriptionModel):
    """A criterion of the rubric."""

    id: str
    """Names it in scores."""
    kind: CriterionKind
    """What the judge is asked for."""
    trait: str
    """What it is about, in a few words."""
    statement: str
    """What the judge is asked."""
    levels: tuple[LevelDescription, ...] = ()
    """What texts of each score are like, if the criterion says it."""
    weight: float | None = None
    """Its share of the score; the sizes of all weights sum to 1. Null without learned weights."""


class AspectDescription(DescriptionModel):
    """What is judged."""

    name: str
    """Such as coherence."""
    definition: str
    """What it means."""


class ScaleDescription(DescriptionModel):
    """The ends of the scale of scores."""

    low: float
    """The lowest score."""
    high: float
    """The highest score."""


class RubricDescription(DescriptionModel):
    """The rubric that scores."""

    rubric: str
    """Its name with its version."""
    digest: str
    """Equal rubrics have equal digests."""
    task: str
    """The kind of text."""
    aspect: AspectDescription
    """What the rubric judges."""
    scale: ScaleDescription
    """The scale of the scores."""
    judge: str
    """Who rates the texts; `recorded` for a recording."""
    needs: tuple[str, ...]
    """Fields that every text should have, since all texts had them that the rubric was learned from."""
    verdict: Literal["better", "not better", "inconclusive"] | None
    """Whether it agrees better with people than the same judge asked directly; null if that was not measured."""
    criteria: tuple[CriterionDescription, ...]
    """What the judge rates, in the order of the rubric."""


def shown_judge(judge: str) -> str:
    """Return a judge without the path of its recording."""
    name = recorded_name(judge)
    return PREFIX.rstrip(":") if name.startswith(PREFIX) else name


def describe_rubric(rubric: Rubric, name: str, judge: str, version: Version | None) -> RubricDescription:
    """Return the description of a rubric, which is known as `name` and rated by `judge`."""
    provenance = version.provenance if version else None
    validation = provenance.validation if provenance else None
    terms = rubric.aggregation.terms if rubric.aggregation else ()
    weights = {term.criterion: term.weight for term in terms}
    return RubricDescription(
        rubric=name,
        digest=rubric.digest,
        task=rubric.task,
        aspect=AspectDescription(**dict(rubric.aspect)),
        scale=ScaleDescription(low=rubric.scores_on.low, high=rubric.scores_on.high),
        judge=shown_judge(judge),
        needs=(provenance.text_fields or ()) if provenance else (),
        verdict=validation.outcome if validation else None,
        criteria=tuple(
            CriterionDescription(
                id=criterion.id,
                kind=criterion.kind,
                trait=criterion.trait,
                statement=criterion.statement,
                levels=tuple(LevelDescription(**dict(level)) for level in criterion.levels),
                weight=weights.get(criterion.id),
            )
            for criterion in rubric.criteria
        ),
    )
