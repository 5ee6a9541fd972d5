"""Versions, tags and confirmations within one transaction: rows, validated models, and the digest of a record.

Reading raises `StoreError` for what is missing, cannot be read, or does not match its digest.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from sqlalchemy import and_, func
from sqlmodel import Session, col, select

from rubriclab.errors import NotInStore, StoreError
from rubriclab.models.base import first_bounds_fault
from rubriclab.models.digest import (
    canonical,
    digest,
    digest_text,
    encoded,
)
from rubriclab.models.rubric import Rubric
from rubriclab.models.version import Effort, Provenance, TrainingRecord, Version, parse_ref
from rubriclab.option_names import command
from rubriclab.pydantic_errors import first_fault
from rubriclab.store.orm import ConfirmationRow, RubricRow, TagRow, TrainingRow, VersionRow, now, stored_time

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
        StoreError: if it would not read back as the same, or exceeds the limits of `rubriclab.models.base`.
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
    """Return the model in `content`; `what` names it in errors."""
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
    """Return the version of `row`, whose rubric is in `content`, without its tags and confirmation."""
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
    """Return the training record in `row`."""
    content = unpacked(row)
    if digest_text(content) != row.digest:
        raise StoreError(f"The training record of {row.ref} does not match its digest.", f"See: {command('verify')}")
    return read(TrainingRecord, content, f"The training record of {row.ref}")


def unpacked(row: TrainingRow) -> str:
    """Return the JSON of a training record."""
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


def save_with_training(
    session: Session, name: str, contents: Contents, parent: str | None, training: PackedTraining | None
) -> Version:
    """Return the version that holds `contents` under `name`, with its training record; see `Store.save`."""
    version = _save_version(session, name, contents, parent)
    if training and session.get(TrainingRow, (version.name, version.number)) is None:
        row = TrainingRow(name=name, number=version.number, digest=training.digest, packed=training.packed)
        session.add(row)
        session.flush()
    return version


def _save_version(session: Session, name: str, contents: Contents, parent: str | None) -> Version:
    newest = newest_row(session, name)
    origin = find_row(session, parent) if parent else newest
    row = make_row(name, newest.number + 1 if newest else 1, contents, origin)
    if newest and _serves_as(newest, row):
        return version_of(session, newest)
    if session.get(RubricRow, row.rubric_digest) is None:
        session.add(RubricRow(digest=row.rubric_digest, content=contents.rubric))
        session.flush()
    session.add(row)
    session.flush()
    return read_version(row, contents.rubric, new=True)


def _serves_as(newest: VersionRow, row: VersionRow) -> bool:
    """Return whether the newest version serves as well: it has the same rubric, from an equally trusted source."""
    if newest.rubric_digest != row.rubric_digest:
        return False
    if newest.provenance_digest == row.provenance_digest:
        return newest.origin == LEARNED or row.origin != LEARNED
    return newest.origin == LEARNED == row.origin and judge_sources(newest) <= judge_sources(row)


def confirm(session: Session, ref: str) -> Version:
    """Return the version of `ref`, confirmed if it was imported."""
    row = find_row(session, ref)
    if row.origin != LEARNED:
        confirmation = ConfirmationRow(name=row.name, number=row.number, record_digest=row.record_digest, created=now())
        session.merge(confirmation)
        session.flush()
    return version_of(session, row)


def revoke(session: Session, ref: str) -> Version:
    """Return the version of `ref`, without its confirmation."""
    row = find_row(session, ref)
    if confirmation := session.get(ConfirmationRow, (row.name, row.number)):
        session.delete(confirmation)
        session.flush()
    return version_of(session, row)


def move_tag(session: Session, ref: str, tag: str) -> Version:
    """Point `tag` to the version of `ref`, and return that version."""
    row = find_row(session, ref)
    session.merge(TagRow(name=row.name, tag=tag, number=row.number))
    session.flush()
    return version_of(session, row)


def remove_tag(session: Session, ref: str, tag: str) -> None:
    """Remove a tag that exists."""
    session.delete(session.get_one(TagRow, (find_row(session, ref).name, tag)))


def find_row(session: Session, reference: str) -> VersionRow:
    """Return the row that a reference means.

    Raises:
        NotInStore: if there is none; the message says what there is.
        StoreError: if it is no reference.
    """
    ref = parse_ref(reference)
    newest = newest_row(session, ref.name)
    if newest is None:
        raise _unknown(f"The store holds no rubric {ref.name!r};", ref.name, all_names(session), "no rubric at all")
    if ref.tag is not None:
        tag = session.get(TagRow, (ref.name, ref.tag))
        if tag is None:
            tags = tuple(sorted(session.exec(select(TagRow.tag).where(TagRow.name == ref.name))))
            raise _unknown(f"{ref.name} has no tag {ref.tag!r};", ref.tag, tags, "no tag at all")
        return session.get_one(VersionRow, (ref.name, tag.number))
    row = session.get(VersionRow, (ref.name, ref.number)) if ref.number else newest
    if row is None:
        numbers = "version 1 only" if newest.number == 1 else f"versions 1 to {newest.number}"
        raise NotInStore(f"{ref.name} has no version {ref.number};", f"it has {numbers}.")
    return row


def newest_row(session: Session, name: str) -> VersionRow | None:
    """Return the row of the newest version of `name`."""
    rows = select(VersionRow).where(VersionRow.name == name).order_by(col(VersionRow.number).desc())
    return session.exec(rows.limit(1)).first()


def newest_rows(session: Session) -> list[VersionRow]:
    """Return the row of the newest version of each rubric, by name."""
    newest = select(VersionRow.name, func.max(VersionRow.number).label("number")).group_by(VersionRow.name).subquery()
    same = and_(col(VersionRow.name) == newest.c.name, col(VersionRow.number) == newest.c.number)
    return sorted(session.exec(select(VersionRow).join(newest, same)), key=lambda row: row.name)


def version_of(session: Session, row: VersionRow) -> Version:
    """Return the version of a row."""
    return versions_of(session, [row], {})[0]


def versions_of(session: Session, rows: Sequence[VersionRow], known: dict[str, Version]) -> tuple[Version, ...]:
    """Return the versions of rows.

    Args:
        known: versions by the digest of their record, which are not read again; tags and confirmations are. Those that
            had to be read are added.
    """
    wanted = {row.rubric_digest for row in rows if row.record_digest not in known}
    rubrics = session.exec(select(RubricRow).where(col(RubricRow.digest).in_(wanted))) if wanted else ()
    contents = {rubric.digest: rubric.content for rubric in rubrics}
    names = {row.name for row in rows}
    tags: dict[tuple[str, int], list[str]] = {}
    for each in session.exec(select(TagRow).where(col(TagRow.name).in_(names))):
        tags.setdefault((each.name, each.number), []).append(each.tag)
    confirmations = session.exec(select(ConfirmationRow).where(col(ConfirmationRow.name).in_(names)))
    confirmed = {(each.name, each.number): each.record_digest for each in confirmations}
    found = []
    for row in rows:
        if row.record_digest not in known:
            if row.rubric_digest not in contents:
                raise StoreError(f"The rubric of {row.ref} is missing from the store.", f"See: {command('verify')}")
            known[row.record_digest] = read_version(row, contents[row.rubric_digest])
        key = (row.name, row.number)
        is_confirmed = confirmed.get(key) == row.record_digest
        found.append(replace(known[row.record_digest], tags=tuple(sorted(tags.get(key, ()))), confirmed=is_confirmed))
    return tuple(found)


def all_names(session: Session) -> tuple[str, ...]:
    """Return the names of all rubrics, sorted."""
    return tuple(sorted(session.exec(select(VersionRow.name).distinct())))


def _unknown(message: str, wanted: str, known: tuple[str, ...], nothing: str) -> NotInStore:
    from rapidfuzz import process

    close = process.extractOne(wanted, known, score_cutoff=70)
    there = f"it has {', '.join(known) if known else nothing}."
    return NotInStore(message, f"{there} Did you mean {close[0]!r}?" if close else there)
