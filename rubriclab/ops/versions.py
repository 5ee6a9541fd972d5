"""Work with what is stored: list, gate, tag, export and import versions; check and prune the store; show batches.

A verdict tells whether a version's rubric agrees better with people than its judge without the rubric, asked directly.
A version can have two: one from learning, and one from the stored evaluation on other texts. The gate uses the verdict
of `Version.deciding_evaluation` if there is one, else that of learning. The tag `production` needs both to be *better*.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from rubriclab.base_options import CliForm, ConfigMaySet, Options
from rubriclab.display import Displayed
from rubriclab.errors import BelowThreshold, JudgeError, NotInStore, PackError, SettingsError, StoreError, UserError
from rubriclab.models.base import Unreadable, decode_text, read_file, read_stdin
from rubriclab.models.evaluation import Outcome, Validation
from rubriclab.models.version import Candidate, Cell, RecordedText, TrainingRecord, Version
from rubriclab.store.store import KindSize, Problem, Space, Store, open_store

if TYPE_CHECKING:  # all but `batches` only need a store, so that their commands import neither judges nor learning
    from rubriclab.judges.batch import OpenBatch
    from rubriclab.ops.workspace import Notify, Workspace

PRODUCTION = "production"


class DisagreementsOptions(Options):
    config_may_set: ClassVar[ConfigMaySet] = "always"

    count: Annotated[int, CliForm(metavar="N")] = Field(default=10, ge=1)
    """The number of texts, those with the largest differences first."""

    side: Literal["both", "higher", "lower"] = "both"
    """Only texts that the rubric scores higher, or lower, than people do."""


_AGE = re.compile(r"([0-9]{1,5})\s*([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def _parse_age(age: Any) -> Any:
    match = _AGE.fullmatch(age.strip()) if isinstance(age, str) else None
    if match:
        age = timedelta(**{_UNITS[match[2]]: int(match[1])})
    if not isinstance(age, timedelta) or age < timedelta():
        raise ValueError(f"expected hours, days or weeks, such as 12h, 90d or 8w; got {age!r}")
    return age


class PruneOptions(Options):
    config_may_set: ClassVar[ConfigMaySet] = "never"

    older_than: Annotated[timedelta | None, BeforeValidator(_parse_age), CliForm(metavar="AGE")] = None
    """Answers cached longer ago than this: `12h`, `90d` or `8w`."""

    dry_run: bool = False
    """Remove nothing, and count what would be removed."""


class BatchesOptions(Options):
    cancel: Annotated[str | None, CliForm(metavar="ID", config_may_set="never")] = None
    """Cancel this batch; its answers so far can still be collected."""


@dataclass(frozen=True, repr=False)
class GateResult(Displayed):
    """Whether a version agrees better with people than its judge asked directly, by the verdict that counts."""

    version: Version
    validation: Validation | None
    outcome: Outcome

    @property
    def deciding_step(self) -> Literal["evaluation", "learning"]:
        """Whether the verdict of the version's evaluation or that at learning decides."""
        return "evaluation" if self.version.deciding_evaluation else "learning"

    @property
    def outcomes(self) -> dict[str, Outcome | None]:
        record = self.version.evaluation
        return {"learning": self.version.outcome, "evaluation": record.verdict.overall if record else None}


@dataclass(frozen=True, repr=False)
class VerifyResult(Displayed):
    store: str
    rubrics: int
    problems: tuple[Problem, ...]  # damaged entries
    removed: tuple[str, ...] = ()  # requests whose cached answers were damaged and are removed


def list_versions(store: Store, notify: Notify, name: str | None = None) -> tuple[Version, ...]:
    """Return the newest version of each rubric, or all of `name`, the newest first; notify of damaged versions."""
    load_errors: list[StoreError] = []
    versions = store.log(name, load_errors.append) if name else store.newest(load_errors.append)
    for error in load_errors:
        notify(f"left out: {error.text}")
    if not versions and not load_errors:
        notify(f"No rubric is stored in {store.address} yet; `rubriclab learn` makes one.")
    return versions


def training_record(store: Store, ref: str) -> TrainingRecord:
    version = store.load(ref)
    record = store.training(version.ref)
    if record is None:
        explanation = explain_missing_record(version)
        raise NotInStore(f"The ratings of the labelled texts by {version.ref} are not stored.", explanation)
    return record


def explain_missing_record(version: Version) -> str:
    if version.rubric.aggregation is None:
        explanation = "texts and ratings are recorded for rubrics of several methods only"
        return f"{version.ref} was learned by one method: {explanation}."
    explanation = "texts and ratings stay in the store in which a rubric was learned unless they are deleted there"
    return f"The store has no training record of {version.ref}: {explanation}, and are not part of a pack."


def gate(store: Store, ref: str) -> GateResult:
    """Return the outcome that counts; UserError without one, also if a baseline method has only an evaluation."""
    from rubriclab.methods.catalogue import baseline_method

    version = store.load(ref)
    record, method = version.deciding_evaluation, baseline_method(version.rubric)
    outcome = record.verdict.overall if record else version.outcome
    if outcome and (version.outcome or not method):
        return GateResult(version, version.provenance.validation, outcome)
    command = f"`rubriclab evaluate OTHER_LABELLED --rubric {version.ref}`"
    if method:
        reason = f"is by the baseline method {method.name}: others are compared with it, so it has no gate"
        raise UserError(f"{version.ref} {reason}.", f"Measure it: {command}")
    hint = f"Learn it without `methods`, or with several, or measure it: {command}"
    raise UserError(f"{version.ref} has no verdict: learning by one method compares nothing.", hint)


def _why_not_production(store: Store, version: Version) -> str:
    """Return why a version is not good enough for the tag `production`; empty if it is."""
    try:
        outcome = gate(store, version.ref).outcome
    except UserError as error:
        return error.message
    failed_at_learning = version.outcome not in ("better", None)
    if outcome == "better" and not failed_at_learning:
        return ""
    from rubriclab.report.rubrics import MEASURED_AT, verdict

    why = f"{verdict(version, at_learning=failed_at_learning).removesuffix('.')}."
    if not version.deciding_evaluation or not version.outcome or outcome == version.outcome:
        return why
    phrases = MEASURED_AT[version.provenance.made_by], "on other texts"
    where, elsewhere = phrases if failed_at_learning else phrases[::-1]
    return f"{why} This is the verdict {where}; {PRODUCTION} needs the verdicts {where} and {elsewhere} to be better."


def tag(store: Store, ref: str, tag: str, notify: Notify, *, force: bool = False) -> Version:
    """Point a tag to a version, return that version, and notify of the tag's previous version.

    Raises:
        BelowThreshold: if a verdict on a version for `production` is not *better*, and `force` is not set.
    """
    version = store.load(ref)
    if tag == PRODUCTION and (doubt := _why_not_production(store, version)):
        if not force:
            hint = "To tag it all the same, use `force`."
            raise BelowThreshold(f"{version.ref} stays without the tag {PRODUCTION}. {doubt}", hint)
        notify(f"{version.ref} is tagged by `force` in spite of this: {doubt}")
    tagged_before = [each.ref for each in store.log(version.name) if tag in each.tags and each.ref != version.ref]
    tagged = store.tag(ref, tag)
    for earlier_ref in tagged_before:
        notify(f"{tag} was {earlier_ref} before")
    return tagged


def export(store: Store, ref: str, notify: Notify, *, anonymous: bool = False) -> str:
    """Return a version as a pack, JSON to review and share; `anonymous` leaves the names of people out."""
    from rubriclab.store.packs import format_pack, named_people, without_named_people

    version = store.load(ref)
    record = store.training(version.ref)
    texts = record.texts if record else ()
    raters = {name for text in texts for name in (*text.raters, *text.reasons)}
    if anonymous:
        version = without_named_people(version, raters)
        if names := named_people(version, raters):
            notify(f"the wording of criteria still names raters ({', '.join(names)}): reword these criteria")
        if version.provenance.edit and version.provenance.edit.because:
            notify("the reason of the edit is kept, without raters' names; check that it names nobody else")
    elif names := named_people(version, raters):
        notify(f"the pack names raters or editors ({', '.join(names)}); `anonymous` leaves their names out")
    else:
        notify("the pack names none of the known raters and editors")
    return format_pack(version)


def import_(location: str | Path | None, path: str, notify: Notify, name: str | None = None) -> Version:
    """Store the rubric of a pack file (`-` for standard input) as a version, and notify of the judges that it names.

    The store at `location` is opened or created only after the pack is read; PackError if the pack is damaged.
    """
    from rubriclab.ops.workspace import describe_judges
    from rubriclab.report import wording
    from rubriclab.store.packs import read_pack

    try:
        text = decode_text(read_stdin() if path == "-" else read_file(Path(path)))
    except Unreadable as error:
        hint = "Give the path of a pack, a file that `export` has written"
        raise PackError(f"{path} cannot be read: {error}.", hint) from None
    pack = read_pack(text, path)
    with open_store(location) as store:
        version = store.import_pack(pack, name)
    own, other = version.evaluation, pack.evaluation
    if own and other and own.created != other.created:
        kept, in_pack = wording.outcome(own.verdict.overall), wording.outcome(other.verdict.overall)
        notify(f"the store keeps its own verdict on {version.ref} on other texts: {kept}, not {in_pack} as in the pack")
    if version.new and version.name == pack.name and version.number != pack.number:
        reason = f"since {version.name} had version {version.number - 1} already"
        notify(f"{pack.name}@{pack.number} is stored as {version.ref}, {reason}")
    judges = describe_judges(version)
    if not judges:
        named = "the offline judge only, which sends nothing"
    elif version.trusted:
        named = f"{judges}, which may be asked"
    else:
        named = f"{judges}; asked only if you name it (`judge`), or after `rubriclab trust {version.ref}`"
    notify(f"{version.ref} names {named}")
    return version


def verify(store: Store, *, repair: bool = False) -> VerifyResult:
    removed = store.repair() if repair else ()
    return VerifyResult(store.address, len(store.names()), store.verify(), removed)


@dataclass(frozen=True, repr=False)
class StoreSize(Displayed):
    store: str
    kinds: tuple[KindSize, ...]  # rows and bytes of each kind of entry
    space: Space  # bytes of the whole database

    def to_row(self) -> dict[str, Any]:
        return {"store": self.store, "kinds": [asdict(kind) for kind in self.kinds], **asdict(self.space)}


@dataclass(frozen=True, repr=False)
class PruneResult(Displayed):
    store: str
    removed: int  # cached answers that were removed or, in a dry run, only counted
    bytes: int  # of their replies
    dry_run: bool


def prune(store: Store, options: PruneOptions) -> PruneResult:
    """Remove cached answers only. An answer that is needed later is requested and paid for again."""
    if options.older_than is None:
        hint = "give `older_than=90d`, or `older_than=0d` for all."
        raise SettingsError("Nothing says which cached answers to remove;", hint)
    n_removed, n_bytes = store.prune(datetime.now(UTC) - options.older_than, dry_run=options.dry_run)
    return PruneResult(store.address, n_removed, n_bytes, options.dry_run)


@dataclass(frozen=True, repr=False)
class Batches(Displayed):
    batches: tuple[OpenBatch, ...]  # batches whose answers have not been fetched, the oldest first
    cancelled: OpenBatch | None = None  # by this call

    def lines(self) -> list[str]:
        if self.cancelled:
            advice = "For its answers so far, run the command again that sent it."
            return [f"Batch {self.cancelled.name} is cancelled. {advice}"]
        if not self.batches:
            return ["No batch is under way."]
        line = "{}: {:,} requests to {}, sent {} UTC"
        return [line.format(each.name, len(each.requests), each.model, each.created[:16]) for each in self.batches]

    def to_rows(self) -> list[dict[str, Any]]:
        rows = []
        for batch in self.batches:
            request = {"batch": batch.name, "model": batch.model, "api_base": batch.api_base}
            status = {"created": batch.created, "cancelled": batch == self.cancelled}
            rows.append({**request, "requests": len(batch.requests), **status})
        return rows


async def batches(workspace: Workspace, options: BatchesOptions) -> Batches:
    """Return the batches that are under way, and cancel one of them if the options say so."""
    from rubriclab.judges.batch import BatchModel

    open_batches = await workspace.off_event_loop(workspace.store.batches.list_open)
    if options.cancel is None:
        return Batches(open_batches)
    batch = next((batch for batch in open_batches if options.cancel in (batch.batch_id, batch.key)), None)
    if batch is None:
        ids = ", ".join(batch.name for batch in open_batches)
        raise SettingsError(f"`cancel`: no batch {options.cancel!r} is under way.", f"Under way: {ids or 'none'}.")
    key_variable, timeout = batch.key_from, workspace.options.timeout
    model = BatchModel(batch.model, api_base=batch.api_base, api_key_variable=key_variable, timeout=timeout)
    batch_id = batch.batch_id or await model.find(batch.file_id, datetime.fromisoformat(batch.created))
    if batch_id is None:  # its file was uploaded, but no batch was made of it
        await workspace.off_event_loop(workspace.store.batches.remove, batch.key)
        return Batches(open_batches, batch)
    status = await model.status(batch_id)
    if status.ended:
        hint = "To collect its answers, run the command again that sent it."
        raise JudgeError(f"Batch {batch_id} has ended already: {status.state}.", hint)
    await model.cancel(batch_id)
    return Batches(open_batches, batch)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A text on which people and the rubric differ."""

    text: RecordedText
    points: float  # the rubric's score minus people's label
    ratings: tuple[tuple[Candidate, Cell], ...]  # each kept criterion with its rating of the text

    @property
    def side(self) -> Literal["higher", "lower"]:
        return "higher" if self.points > 0 else "lower"


@dataclass(frozen=True, repr=False)
class Disagreements(Displayed):
    version: Version
    record: TrainingRecord
    texts: tuple[Disagreement, ...]  # in the order of `rank_disagreements`

    def to_rows(self) -> list[dict[str, Any]]:
        rows = []
        for disagreement in self.texts:
            criteria = []
            for candidate, cell in disagreement.ratings:
                rating = {"score": cell.score, "applies": cell.applies, "reason": cell.reason}
                criteria.append({"id": candidate.criterion.id, **rating})
            text = disagreement.text.model_dump(mode="json", exclude={"context", "reference"})
            rows.append({**text, "difference": round(disagreement.points, 6), "criteria": criteria})
        return rows


def disagreements(version: Version, record: TrainingRecord, options: DisagreementsOptions) -> Disagreements:
    texts = [each for each in rank_disagreements(version, record) if options.side in ("both", each.side)]
    return Disagreements(version, record, tuple(texts[: options.count]))


def rank_disagreements(version: Version, record: TrainingRecord) -> list[Disagreement]:
    """Return the texts whose score differs from the label: wrong decisions first, large differences before small."""
    threshold, texts = version.rubric.threshold, list[Disagreement]()
    for text, cells in zip(record.texts, record.cells, strict=True):
        if text.predicted is not None and text.predicted != text.label:
            rated = zip(record.candidates, cells, strict=True)
            ratings = tuple((candidate, cell) for candidate, cell in rated if candidate.kept)
            texts.append(Disagreement(text, text.predicted - text.label, ratings))
    return sorted(texts, key=lambda each: (not each.text.decided_wrongly(threshold), -abs(each.points), each.text.id))
