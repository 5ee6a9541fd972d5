"""Between rows and validated models: what a version's record covers, and how a row is read back."""

from __future__ import annotations

import hashlib
import zlib
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from rubriclab.bounds import first_bounds_fault
from rubriclab.digest import canonical, digest, digest_text, encoded
from rubriclab.errors import StoreError
from rubriclab.option_names import command
from rubriclab.provenance import Effort, Provenance
from rubriclab.pydantic_errors import first_fault
from rubriclab.rubric import Rubric
from rubriclab.store.tables import TrainingRow, VersionRow, now
from rubriclab.store.version import Version
from rubriclab.training_record import TrainingRecord

Model = TypeVar("Model", bound=BaseModel)
Origin = Literal["learned", "imported"]

LEARNED: Final = "learned"
IMPORTED: Final = "imported"


class Contents(NamedTuple):
    """What a new version says, each part as the canonical JSON that is stored and that digests are taken of.

    `origin` is where it was made: here, or elsewhere.
    """

    rubric: str
    provenance: str
    effort: str
    origin: Origin = LEARNED


def contents_of(rubric: Rubric, provenance: Provenance, effort: Effort, origin: Origin = LEARNED) -> Contents:
    """Return the three parts of a version as a store keeps them.

    Raises:
        StoreError: if one could not be read back as the same, as when it was made without validation.
    """
    return Contents(content_of(rubric), content_of(provenance), content_of(effort), origin)


def content_of(model: BaseModel) -> str:
    """Return the canonical JSON of a model as a store keeps it.

    Raises:
        StoreError: if it could not be read back as the same, or is beyond the limits of `rubriclab.bounds`.
    """
    kind = type(model).__name__
    try:
        plain = model.model_dump(mode="json", warnings="error")
        if fault := first_bounds_fault(plain):
            raise ValueError(fault)
        content = canonical(plain)
    except ValueError as error:
        raise StoreError(f"This {kind} cannot be stored: {error}.") from None
    if read(type(model), content, f"This {kind}, once stored,") != model:
        raise StoreError(f"This {kind} cannot be stored: it would read back as another.")
    return content


class PackedTraining(NamedTuple):
    """A training record as a store keeps it: the digest of its canonical JSON, and that JSON compressed by zlib."""

    digest: str
    packed: bytes


def packed_training(record: TrainingRecord) -> PackedTraining:
    """Return a training record as a store keeps it; its JSON, which may have hundreds of megabytes, is never held.

    Raises:
        StoreError: if it could not be read back as the same.
    """
    digested, compressor = hashlib.sha256(), zlib.compressobj()
    parts = []
    try:
        for part in map(encoded, record.content()):
            digested.update(part)
            parts.append(compressor.compress(part))
    except ValueError as error:
        raise StoreError(f"This training record cannot be stored: {error}.") from None
    return PackedTraining(f"sha256:{digested.hexdigest()}", b"".join((*parts, compressor.flush())))


def read(kind: type[Model], content: str, what: str) -> Model:
    """Return the model that `content` holds; `what` names it in errors.

    Raises:
        StoreError: if it holds no such model.
    """
    try:
        # Parsed by the validator: a training record as Python objects first would take twice the memory.
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise StoreError(f"{what} is no {kind.__name__}: {first_fault(error)}.") from None


def make_row(name: str, number: int, contents: Contents, parent: VersionRow | None) -> VersionRow:
    """Return the row of a new version, made now."""
    row = VersionRow(
        name=name,
        number=number,
        rubric_digest=digest_text(contents.rubric),
        provenance=contents.provenance,
        provenance_digest=digest_text(contents.provenance),
        effort=contents.effort,
        parent_name=parent.name if parent else None,
        parent_number=parent.number if parent else None,
        created=now(),
        record_digest="",
        origin=contents.origin,
    )
    row.record_digest = record_digest(row, parent.record_digest if parent else None)
    return row


def record_digest(row: VersionRow, parent: str | None) -> str:
    """Return the digest of everything that `row` says, chained to `parent`, its parent's record digest.

    So, as with a git commit, nothing in a version's past can be exchanged without a trace.
    """
    return digest(
        {
            "name": row.name,
            "number": row.number,
            "rubric": row.rubric_digest,
            "provenance": row.provenance_digest,
            "effort": row.effort,
            "created": row.created,
            "parent": row.parent,
            "parent_record": parent,
            "origin": row.origin,
        }
    )


def judge_sources(row: VersionRow) -> frozenset[str]:
    """Return the imported versions that named the judge or the generator of a version made here."""
    made = read(Provenance, row.provenance, f"The provenance of {row.ref}")
    return frozenset(source for source in (made.judge_from, made.generator_from) if source)


def read_version(
    row: VersionRow, content: str, tags: tuple[str, ...] = (), *, new: bool = False, confirmed: bool = False
) -> Version:
    """Return the version of `row`, whose rubric is `content`.

    Raises:
        StoreError: if rubric or provenance do not match their digests.
    """
    for part, text, expected in (
        ("rubric", content, row.rubric_digest),
        ("provenance", row.provenance, row.provenance_digest),
    ):
        if digest_text(text) != expected:
            raise StoreError(f"The {part} of {row.ref} does not match its digest.", f"See: {command('verify')}")
    return Version(
        name=row.name,
        number=row.number,
        digest=row.rubric_digest,
        rubric=read(Rubric, content, f"The rubric of {row.ref}"),
        provenance=read(Provenance, row.provenance, f"The provenance of {row.ref}"),
        provenance_digest=row.provenance_digest,
        effort=read(Effort, row.effort, f"The effort of {row.ref}"),
        parent=row.parent,
        created=_moment(row),
        tags=tags,
        new=new,
        imported=row.origin != LEARNED,
        confirmed=confirmed,
    )


def read_training(row: TrainingRow) -> TrainingRecord:
    """Return what the training run of a version saw and found.

    Raises:
        StoreError: if it does not match its digest, or cannot be unpacked.
    """
    content = unpacked(row)
    if digest_text(content) != row.digest:
        raise StoreError(f"The training record of {row.ref} does not match its digest.", f"See: {command('verify')}")
    return read(TrainingRecord, content, f"The training record of {row.ref}")


def unpacked(row: TrainingRow) -> str:
    """Return the JSON of a training record.

    Raises:
        StoreError: if it cannot be unpacked.
    """
    try:
        return zlib.decompress(row.packed).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError) as error:
        raise StoreError(f"The training record of {row.ref} cannot be unpacked: {error}.") from None


def _moment(row: VersionRow) -> datetime:
    try:
        return datetime.fromisoformat(row.created)
    except ValueError:
        raise StoreError(
            f"The time of {row.ref} is not readable: {row.created!r}.", f"See: {command('verify')}"
        ) from None
