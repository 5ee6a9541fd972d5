"""Conversion between rows and validated models, and the digest of a version's record."""

from __future__ import annotations

import hashlib
import zlib
from datetime import datetime
from typing import Final, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from rubriclab.bounds import first_bounds_fault
from rubriclab.digest import canonical, digest, digest_text, encoded
from rubriclab.errors import StoreError
from rubriclab.option_names import command
from rubriclab.provenance import Effort, Provenance
from rubriclab.pydantic_errors import first_fault
from rubriclab.rubric import Rubric
from rubriclab.store.orm import TrainingRow, VersionRow, now, stored_time
from rubriclab.store.version import Version
from rubriclab.training_record import TrainingRecord

Model = TypeVar("Model", bound=BaseModel)

LEARNED: Final = "learned"
# What to do about content without a stored form.
_UNSTORABLE = "Correct the value that is named; nothing was stored."


class PackOrigin(NamedTuple):
    """The version that a pack was written from: its `NAME@NUMBER`, and when it was created."""

    ref: str
    created: datetime


class Contents(NamedTuple):
    """The content of a new version as canonical JSON, which is stored and digested, and the pack that it came from."""

    rubric: str
    provenance: str
    effort: str
    origin: PackOrigin | None = None


def contents_of(rubric: Rubric, provenance: Provenance, effort: Effort, origin: PackOrigin | None = None) -> Contents:
    """Return the three parts of a version in stored form.

    Raises:
        StoreError: if one would not read back as the same, for example because it was created without validation.
    """
    return Contents(content_of(rubric), content_of(provenance), content_of(effort), origin)


def content_of(model: BaseModel) -> str:
    """Return the canonical JSON of a model.

    Raises:
        StoreError: if it would not read back as the same, or exceeds the limits of `rubriclab.bounds`.
    """
    kind = type(model).__name__
    try:
        plain = model.model_dump(mode="json", warnings="error")
        if fault := first_bounds_fault(plain):
            raise ValueError(fault)
        content = canonical(plain)
    except ValueError as error:
        raise StoreError(f"This {kind} cannot be stored: {error}.", _UNSTORABLE) from None
    if read(type(model), content, f"This {kind}, once stored,") != model:
        raise StoreError(f"This {kind} cannot be stored: it would read back as another.", _UNSTORABLE)
    return content


class PackedTraining(NamedTuple):
    """A training record in stored form: its canonical JSON compressed by zlib, and the digest of that JSON."""

    digest: str
    packed: bytes


def packed_training(record: TrainingRecord) -> PackedTraining:
    """Return a training record in stored form, without holding its JSON, which may have hundreds of megabytes.

    Raises:
        StoreError: if it has no JSON form.
    """
    digested, compressor = hashlib.sha256(), zlib.compressobj()
    parts = []
    try:
        for part in map(encoded, record.content()):
            digested.update(part)
            parts.append(compressor.compress(part))
    except ValueError as error:
        raise StoreError(f"This training record cannot be stored: {error}.", _UNSTORABLE) from None
    return PackedTraining(f"sha256:{digested.hexdigest()}", b"".join((*parts, compressor.flush())))


def read(kind: type[Model], content: str, what: str) -> Model:
    """Return the model in `content`; `what` names it in errors.

    Raises:
        StoreError: if there is no such model.
    """
    try:
        # Parsed by the validator, which takes half the memory for a training record.
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise StoreError(f"{what} is no {kind.__name__}: {first_fault(error)}.", f"See: {command('verify')}") from None


def make_row(name: str, number: int, contents: Contents, parent: VersionRow | None) -> VersionRow:
    """Return the row of a new version, created now, or when its pack says."""
    row = VersionRow(
        name=name,
        number=number,
        rubric_digest=digest_text(contents.rubric),
        provenance=contents.provenance,
        provenance_digest=digest_text(contents.provenance),
        effort=contents.effort,
        parent_name=parent.name if parent else None,
        parent_number=parent.number if parent else None,
        created=stored_time(contents.origin.created) if contents.origin else now(),
        record_digest="",
        origin=contents.origin.ref if contents.origin else LEARNED,
    )
    row.record_digest = record_digest(row, parent.record_digest if parent else None)
    return row


def record_digest(row: VersionRow, parent: str | None) -> str:
    """Return the digest of all of `row`, chained to `parent`, the parent's record digest, as in a git commit."""
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
    """Return the imported versions that named the judge or generator of a version learned here."""
    provenance = read(Provenance, row.provenance, f"The provenance of {row.ref}")
    return frozenset(source for source in (provenance.judge_from, provenance.generator_from) if source)


def read_version(row: VersionRow, content: str, *, new: bool = False) -> Version:
    """Return the version of `row`, whose rubric is in `content`, without its tags and confirmation.

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
        new=new,
        imported_from=None if row.origin == LEARNED else row.origin,
    )


def read_training(row: TrainingRow) -> TrainingRecord:
    """Return the training record in `row`.

    Raises:
        StoreError: if it does not match its digest, or cannot be decompressed.
    """
    content = unpacked(row)
    if digest_text(content) != row.digest:
        raise StoreError(f"The training record of {row.ref} does not match its digest.", f"See: {command('verify')}")
    return read(TrainingRecord, content, f"The training record of {row.ref}")


def unpacked(row: TrainingRow) -> str:
    """Return the JSON of a training record.

    Raises:
        StoreError: if it cannot be decompressed.
    """
    try:
        return zlib.decompress(row.packed).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError) as error:
        raise StoreError(
            f"The training record of {row.ref} cannot be decompressed: {error}.", f"See: {command('verify')}"
        ) from None


def _moment(row: VersionRow) -> datetime:
    try:
        return datetime.fromisoformat(row.created)
    except ValueError:
        raise StoreError(
            f"The time of {row.ref} is not readable: {row.created!r}.", f"See: {command('verify')}"
        ) from None
