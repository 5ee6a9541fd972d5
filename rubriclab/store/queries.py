"""Queries and changes of versions, tags and confirmations within one transaction."""

from __future__ import annotations

from sqlmodel import Session, col, select

from rubriclab.errors import NotInStore, StoreError
from rubriclab.option_names import command
from rubriclab.store.rows import (
    LEARNED,
    Contents,
    PackedTraining,
    judge_sources,
    make_row,
    read_version,
)
from rubriclab.store.tables import ConfirmationRow, RubricRow, TagRow, TrainingRow, VersionRow, now
from rubriclab.store.version import Version, parse_ref


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
            raise _unknown(f"{ref.name} has no tag {ref.tag!r};", ref.tag, _tags(session, ref.name), "no tag at all")
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


def version_of(session: Session, row: VersionRow) -> Version:
    """Return the version of a row.

    Raises:
        StoreError: if its rubric is missing or does not match its digest.
    """
    rubric = session.get(RubricRow, row.rubric_digest)
    if rubric is None:
        raise StoreError(f"The rubric of {row.ref} is missing from the store.", f"See: {command('verify')}")
    return read_version(
        row, rubric.content, _tags(session, row.name, row.number), confirmed=_is_confirmed(session, row)
    )


def _is_confirmed(session: Session, row: VersionRow) -> bool:
    confirmation = session.get(ConfirmationRow, (row.name, row.number))
    return confirmation is not None and confirmation.record_digest == row.record_digest


def all_names(session: Session) -> tuple[str, ...]:
    """Return the names of all rubrics, sorted."""
    return tuple(sorted(session.exec(select(VersionRow.name).distinct())))


def _tags(session: Session, name: str, number: int | None = None) -> tuple[str, ...]:
    tags = select(TagRow.tag).where(TagRow.name == name)
    return tuple(sorted(session.exec(tags if number is None else tags.where(TagRow.number == number))))


def _unknown(message: str, wanted: str, known: tuple[str, ...], nothing: str) -> NotInStore:
    from rapidfuzz import process

    close = process.extractOne(wanted, known, score_cutoff=70)
    there = f"it has {', '.join(known) if known else nothing}."
    return NotInStore(message, f"{there} Did you mean {close[0]!r}?" if close else there)
