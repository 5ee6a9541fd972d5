"""The store: save, load, lineage, tags and verification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Literal, Self, TypeVar

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from rubriclab.errors import NoStore, NotInStore, StoreError
from rubriclab.option_names import command
from rubriclab.provenance import Effort, Provenance
from rubriclab.rubric import Rubric
from rubriclab.store.answers import AnswerTable
from rubriclab.store.engine import address, file_of, guarded, make_engine, may_write, shown, writing
from rubriclab.store.reconnect import persistently
from rubriclab.store.rows import (
    IMPORTED,
    LEARNED,
    Contents,
    PackedTraining,
    contents_of,
    judge_sources,
    make_row,
    packed_training,
    read_training,
    read_version,
)
from rubriclab.store.schema import prepare
from rubriclab.store.tables import ConfirmationRow, RubricRow, TagRow, TrainingRow, VersionRow, now
from rubriclab.store.verify import Problem, find_problems, remove_answers
from rubriclab.store.version import Version, check_name, check_tag, parse_ref
from rubriclab.training_record import TrainingRecord

Done = TypeVar("Done")
Access = Literal["write", "read", "either"]

# Every conflict means that another process's write went through, so this many have to come in between.
ATTEMPTS = 100


def open_store(where: str | Path | None = None, *, create: bool = True, access: Access = "write") -> Store:
    """Return the store at `where`, making it (if `create`) or bringing it to the newest schema if need be.

    `where` is a path to an SQLite file, any SQLAlchemy URL, or `None` for `store.db` in the user's data folder.
    `access` says what the store is for: `read` leaves an SQLite file and its folder as they are, and `either` does so
    where they cannot be written.

    Raises:
        NoStore: if there is no such file, and it is not to be made.
        StoreError: if it cannot be opened: no database, no driver, no access, an old schema in a file that may only be
            read, or written by a newer rubriclab.
    """
    place = address(where)
    file = file_of(place)
    if file and not file.exists() and (access == "read" or not create):
        raise NoStore(f"The store {shown(place)} does not exist.", f"Learn a rubric first: {command('learn')}")
    writable = may_write(place)
    if access == "write" and not writable:
        raise _read_only(shown(place))
    return Store(where, read_only=file is not None and (access == "read" or not writable))


class Store:
    """Versions of rubrics, and the answers of judges, in one database. Usable in a `with` statement."""

    def __init__(self, where: str | Path | None = None, *, read_only: bool = False) -> None:
        """Open the store; see `open_store`. `read_only` is for SQLite files."""
        self._read_only = read_only
        self._engine = make_engine(address(where), read_only=read_only)
        self._held = ExitStack()
        self._held.callback(self._engine.dispose)
        try:
            prepare(self._engine, read_only=read_only)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._held.close()

    @property
    def place(self) -> str:
        """Where the store is, as a person writes it; never with a password."""
        return shown(self._engine.url)

    @cached_property
    def answers(self) -> AnswerTable:
        """The answers of judges, by the digest of the request."""
        return self._held.enter_context(closing(AnswerTable(self._engine, read_only=self._read_only)))

    def save(
        self,
        name: str,
        rubric: Rubric,
        provenance: Provenance,
        effort: Effort,
        parent: str | None = None,
        *,
        training: TrainingRecord | None = None,
        imported: bool = False,
    ) -> Version:
        """Return the version that holds `rubric` under `name`: the newest, if it holds just that, else a new one.

        The parent of a new version is `parent` (`NAME`, `NAME@NUMBER` or `NAME@TAG`), or else the newest of `name`.
        Of several processes that save at once, each succeeds, and each has a number of its own. `training` is kept
        beside the version, unless there is such a record already. `imported` marks what was made elsewhere; an imported
        version never stands for one that was learned here, nor for one with another provenance. A version whose judge
        an imported one named never stands for one whose judge the user named.

        Raises:
            NotInStore: if there is no such parent.
            StoreError: if the name cannot be one, or the database fails.
        """
        check_name(name)
        contents = contents_of(rubric, provenance, effort, IMPORTED if imported else LEARNED)
        record = packed_training(training) if training else None
        return self._write(lambda session: _save(session, name, contents, parent, record))

    def load(self, ref: str) -> Version:
        """Return the version that `ref` means: `NAME` (the newest), `NAME@NUMBER` or `NAME@TAG`.

        Raises:
            NotInStore: if there is none; the message says what there is.
            StoreError: if `ref` is of no such form, or what is stored does not match its digest.
        """
        with self._reading() as session:
            return _version(session, _find(session, ref))

    def training(self, ref: str) -> TrainingRecord | None:
        """Return what the training run of a version saw and found; `None` if that is not in this store.

        It is not for a version of a single method or from a pack, or where it has been deleted.

        Raises:
            NotInStore: if there is no such version.
            StoreError: if the record does not match its digest.
        """
        with self._reading() as session:
            version = _find(session, ref)
            row = session.get(TrainingRow, (version.name, version.number))
            return read_training(row) if row else None

    def names(self) -> tuple[str, ...]:
        """Return the names under which versions are stored, sorted."""
        with self._reading() as session:
            return _names(session)

    def log(self, name: str) -> tuple[Version, ...]:
        """Return all versions of `name`, the newest first.

        Raises:
            NotInStore: if there is none.
        """
        with self._reading() as session:
            newest = _find(session, check_name(name))
            rows = session.exec(
                select(VersionRow).where(VersionRow.name == newest.name).order_by(col(VersionRow.number).desc())
            )
            return tuple(_version(session, row) for row in rows.all())

    def tag(self, ref: str, tag: str) -> Version:
        """Point `tag` to the version that `ref` means, from wherever it pointed before, and return that version.

        Raises:
            NotInStore: if there is no such version.
            StoreError: if `tag` cannot be one.
        """
        check_tag(tag)
        return self._write(lambda session: _tag(session, ref, tag))

    def untag(self, name: str, tag: str) -> None:
        """Remove `tag` from `name`.

        Raises:
            NotInStore: if there is no such tag.
        """
        ref = f"{check_name(name)}@{check_tag(tag)}"
        self._write(lambda session: _untag(session, ref, tag))

    def confirm(self, ref: str) -> Version:
        """Return the version that `ref` means, from now on confirmed: if imported, it may choose the judge.

        Raises:
            NotInStore: if there is no such version.
        """
        return self._write(lambda session: _confirm(session, ref))

    def revoke(self, ref: str) -> Version:
        """Return the version that `ref` means, from now on not confirmed.

        Raises:
            NotInStore: if there is no such version.
        """
        return self._write(lambda session: _revoke(session, ref))

    def imported(self) -> tuple[Version, ...]:
        """Return all imported versions, by name and number."""
        with self._reading() as session:
            rows = select(VersionRow).where(col(VersionRow.origin).is_distinct_from(LEARNED))
            ordered = session.exec(rows.order_by(col(VersionRow.name), col(VersionRow.number)))
            return tuple(_version(session, row) for row in ordered.all())

    def verify(self) -> tuple[Problem, ...]:
        """Return everything in the store that is not as it was written, in a fixed order; nothing if all is well."""
        with self._reading() as session:
            return tuple(find_problems(session))

    def repair(self) -> tuple[str, ...]:
        """Remove every damaged answer, so that its question is asked again, and return the digests of their requests.

        Nothing else is removed: versions, rubrics, training records and tags cannot be derived again.
        """
        damaged = [problem.answer for problem in self.verify() if problem.answer]
        self._write(lambda session: remove_answers(session, damaged))
        return tuple(damaged)

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with guarded(self._engine.url), Session(self._engine) as session:
            yield session

    def _write(self, work: Callable[[Session], Done]) -> Done:
        """Return what `work` returns, done in one transaction, and done anew if another process took its key."""
        if self._read_only:
            raise _read_only(self.place)

        def attempt() -> Done:
            with Session(writing(self._engine)) as session:
                done = work(session)
                session.commit()
                return done

        for _ in range(ATTEMPTS):
            try:
                return persistently(self._engine, attempt)
            except IntegrityError:
                continue
        raise StoreError(f"Other processes are writing to {self.place} all the time.", "Try again.")


def _read_only(place: str) -> StoreError:
    return StoreError(
        f"The store {place} is read-only: its file or folder is write-protected.",
        "Use a writable store, or a copy of this one.",
    )


def _save(
    session: Session, name: str, contents: Contents, parent: str | None, training: PackedTraining | None
) -> Version:
    version = _save_version(session, name, contents, parent)
    if training and session.get(TrainingRow, (version.name, version.number)) is None:
        row = TrainingRow(name=name, number=version.number, digest=training.digest, packed=training.packed)
        session.add(row)
        session.flush()
    return version


def _save_version(session: Session, name: str, contents: Contents, parent: str | None) -> Version:
    newest = _newest(session, name)
    origin = _find(session, parent) if parent else newest
    row = make_row(name, newest.number + 1 if newest else 1, contents, origin)
    if newest and _stands_for(newest, row):
        return _version(session, newest)
    if session.get(RubricRow, row.rubric_digest) is None:
        session.add(RubricRow(digest=row.rubric_digest, content=contents.rubric))
        session.flush()
    session.add(row)
    session.flush()
    return read_version(row, contents.rubric, new=True)


def _stands_for(newest: VersionRow, row: VersionRow) -> bool:
    """Return whether the newest version makes a new row needless: it has the same rubric, from a source no worse."""
    if newest.rubric_digest != row.rubric_digest:
        return False
    if newest.provenance_digest == row.provenance_digest:
        return newest.origin == LEARNED or row.origin == IMPORTED
    return newest.origin == LEARNED == row.origin and judge_sources(newest) <= judge_sources(row)


def _confirm(session: Session, ref: str) -> Version:
    row = _find(session, ref)
    if row.origin != LEARNED:
        confirmation = ConfirmationRow(name=row.name, number=row.number, record_digest=row.record_digest, created=now())
        session.merge(confirmation)
        session.flush()
    return _version(session, row)


def _revoke(session: Session, ref: str) -> Version:
    row = _find(session, ref)
    if confirmation := session.get(ConfirmationRow, (row.name, row.number)):
        session.delete(confirmation)
        session.flush()
    return _version(session, row)


def _tag(session: Session, ref: str, tag: str) -> Version:
    row = _find(session, ref)
    session.merge(TagRow(name=row.name, tag=tag, number=row.number))
    session.flush()
    return _version(session, row)


def _untag(session: Session, ref: str, tag: str) -> None:
    session.delete(session.get_one(TagRow, (_find(session, ref).name, tag)))


def _find(session: Session, text: str) -> VersionRow:
    ref = parse_ref(text)
    newest = _newest(session, ref.name)
    if newest is None:
        raise _unknown(f"The store holds no rubric {ref.name!r};", ref.name, _names(session), "no rubric at all")
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


def _newest(session: Session, name: str) -> VersionRow | None:
    rows = select(VersionRow).where(VersionRow.name == name).order_by(col(VersionRow.number).desc())
    return session.exec(rows.limit(1)).first()


def _version(session: Session, row: VersionRow) -> Version:
    rubric = session.get(RubricRow, row.rubric_digest)
    if rubric is None:
        raise StoreError(f"The rubric of {row.ref} is missing from the store.", f"See: {command('verify')}")
    return read_version(
        row, rubric.content, _tags(session, row.name, row.number), confirmed=_is_confirmed(session, row)
    )


def _is_confirmed(session: Session, row: VersionRow) -> bool:
    confirmation = session.get(ConfirmationRow, (row.name, row.number))
    return confirmation is not None and confirmation.record_digest == row.record_digest


def _names(session: Session) -> tuple[str, ...]:
    return tuple(sorted(session.exec(select(VersionRow.name).distinct())))


def _tags(session: Session, name: str, number: int | None = None) -> tuple[str, ...]:
    tags = select(TagRow.tag).where(TagRow.name == name)
    return tuple(sorted(session.exec(tags if number is None else tags.where(TagRow.number == number))))


def _unknown(message: str, wanted: str, known: tuple[str, ...], nothing: str) -> NotInStore:
    from rapidfuzz import process

    close = process.extractOne(wanted, known, score_cutoff=70)
    there = f"it has {', '.join(known) if known else nothing}."
    return NotInStore(message, f"{there} Did you mean {close[0]!r}?" if close else there)
