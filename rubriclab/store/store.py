"""The store: save, load, lineage, tags and verification."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from rubriclab.errors import NoStore, StoreError, StoreUnavailable
from rubriclab.models.judgment import HumanJudgment
from rubriclab.models.rubric import Rubric
from rubriclab.models.version import Effort, Provenance, TrainingRecord, Version, check_name, check_tag
from rubriclab.option_names import command
from rubriclab.store.answers import AnswerTable
from rubriclab.store.batches import BatchTable
from rubriclab.store.engine import address, file_of, guarded, is_sqlite, make_engine, may_write, shown, writing
from rubriclab.store.orm import TrainingRow, VersionRow, stored_time
from rubriclab.store.records import (
    add_judgment,
    judgments_of,
)
from rubriclab.store.rows import (
    LEARNED,
    PackOrigin,
    all_names,
    confirm,
    contents_of,
    find_row,
    move_tag,
    newest_rows,
    packed_training,
    read_training,
    remove_tag,
    revoke,
    save_with_training,
    versions_of,
)
from rubriclab.store.schema import prepare
from rubriclab.store.storage import KindSize, Pruned, Space, prune_step, sizes, space_of, vacuum
from rubriclab.store.verify import Problem, find_problems, remove_answers

Done = TypeVar("Done")
Access = Literal["write", "read", "either"]

# Each conflict means that another process has written in between.
ATTEMPTS = 100
# Versions that a store keeps in memory once they are read, since they never change; about 0.3 MB each.
KEPT = 500


def open_store(where: str | Path | None = None, *, create: bool = True, access: Access = "write") -> Store:
    """Return the store at `where`, created (if `create`) with its tables if necessary.

    `where` is a path to an SQLite file, any SQLAlchemy URL, or `None` for `store.db` in the user's data folder.
    With the `access` `read` an SQLite file and its folder are left unchanged, with `either` if they are not writable.

    Raises:
        NoStore: if there is no such file, and `create` is false.
        StoreError: if it cannot be opened: no database, no driver, no access, no tables in a read-only file, or the
            schema of another version of rubriclab.
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
    """Versions of rubrics and cached answers in one database. Usable in a `with` statement.

    A reference is `NAME` (the newest), `NAME@NUMBER` or `NAME@TAG`. Every method raises `NotInStore` where there is no
    such version, `StoreError` for content that does not match its digest and for changes of a read-only store, and
    `StoreUnavailable` if the database fails.
    """

    def __init__(self, where: str | Path | None = None, *, read_only: bool = False) -> None:
        """Open the store; see `open_store`. `read_only` is for SQLite files."""
        self._read_only = read_only
        self._engine = make_engine(address(where), read_only=read_only)
        self._held = ExitStack()
        self._held.callback(self._engine.dispose)
        self._known: dict[str, Version] = {}
        try:
            prepare(self._engine, read_only=read_only)
        except BaseException:
            self.close()
            raise
        self._inode = _inode(file_of(self._engine.url))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._held.close()

    @property
    def place(self) -> str:
        """The path or address of the store, without a password."""
        return shown(self._engine.url)

    def check_file(self) -> None:
        """Check that the SQLite file is still the one that was opened: what is written to a removed one is lost.

        Raises:
            StoreUnavailable: if it was removed or replaced.
        """
        if _inode(file_of(self._engine.url)) != self._inode:
            raise StoreUnavailable(
                f"The store {self.place} was removed or replaced while it was open.", "Put it back, and open it again."
            )

    @cached_property
    def answers(self) -> AnswerTable:
        """The cached answers of judges, by the digest of the request."""
        return AnswerTable(self._engine, read_only=self._read_only)

    def check_writable(self) -> None:
        """Check that something can be stored.

        Raises:
            StoreError: if the store is read-only.
        """
        if self._read_only:
            raise _read_only(self.place)

    @cached_property
    def batches(self) -> BatchTable:
        """The batches of requests that providers are processing."""
        return BatchTable(self._engine)

    def save(
        self,
        name: str,
        rubric: Rubric,
        provenance: Provenance,
        effort: Effort,
        parent: str | None = None,
        *,
        training: TrainingRecord | None = None,
        origin: PackOrigin | None = None,
    ) -> Version:
        """Return the version with `rubric` under `name`: the newest one if it has the same rubric, or else a new one.

        The parent of a new version is `parent` (`NAME`, `NAME@NUMBER` or `NAME@TAG`), by default the newest of `name`.
        Several processes may save at once; each gets a number of its own. `training` is stored with the version unless
        it has a training record already. `origin` is the pack of an imported version. A new version is
        also made if the newest one is less trusted: imported instead of learned here, or with a judge that an imported
        version named.

        Raises:
            NotInStore: if there is no such parent.
            StoreError: if the name is invalid, or the database fails.
        """
        check_name(name)
        contents = contents_of(rubric, provenance, effort, origin)
        record = packed_training(training) if training else None
        return self._write(lambda session: save_with_training(session, name, contents, parent, record))

    async def save_async(self, *arguments: Any, **options: Any) -> Version:
        """Return what `save` returns, without blocking the event loop while a server is unreachable."""
        if is_sqlite(self._engine.url):
            return self.save(*arguments, **options)
        return await asyncio.to_thread(self.save, *arguments, **options)

    def load(self, ref: str) -> Version:
        """Return the version of a reference: `NAME` (the newest), `NAME@NUMBER` or `NAME@TAG`."""
        with self._reading() as session:
            return self._versions(session, [find_row(session, ref)])[0]

    def newest(self) -> tuple[Version, ...]:
        """Return the newest version of each rubric, by name."""
        with self._reading() as session:
            return self._versions(session, newest_rows(session))

    def training(self, ref: str) -> TrainingRecord | None:
        """Return the training record of a version, or `None`.

        Versions of a single method and imported versions have none, and it may have been deleted.
        """
        with self._reading() as session:
            version = find_row(session, ref)
            row = session.get(TrainingRow, (version.name, version.number))
            return read_training(row) if row else None

    def training_digest(self, ref: str) -> str | None:
        """Return the digest of the training record of a version, or `None` if it has none."""
        with self._reading() as session:
            version = find_row(session, ref)
            rows = select(TrainingRow.digest)
            return session.exec(
                rows.where(TrainingRow.name == version.name, TrainingRow.number == version.number)
            ).first()

    def add_judgment(self, judgment: HumanJudgment) -> HumanJudgment:
        """Store a person's judgment of texts, and return the stored one; one with the same id is stored once.

        Raises:
            StoreError: if it has no stored form, or another judgment has its id.
            StoreUnavailable: if the database fails.
        """
        return self._write(lambda session: add_judgment(session, judgment))

    def judgments(self, question: str, after: int = 0) -> tuple[tuple[int, HumanJudgment], ...]:
        """Return people's judgments about a question, given its digest, each with its number in the store, in order.

        Args:
            after: only judgments with higher numbers.
        """
        with self._reading() as session:
            return judgments_of(session, question, after)

    def sizes(self) -> tuple[tuple[KindSize, ...], Space]:
        """Return the rows and bytes of every kind, and the space of the whole database. Every row is read."""
        with self._reading() as session:
            connection = session.connection()
            return tuple(sizes(connection)), space_of(connection)

    def space(self) -> Space:
        """Return the space that the database takes."""
        with self._reading() as session:
            return space_of(session.connection())

    def prune(self, before: datetime, *, dry_run: bool = False) -> Iterator[Pruned]:
        """Remove cached answers in steps, each a transaction, and yield what every step removed.

        Args:
            before: only answers that were cached earlier.
            dry_run: whether they are only counted.

        Raises:
            StoreError: if the store is read-only and this is no dry run, or the database fails.
        """
        stored, step = stored_time(before), Pruned()
        while True:
            after = step.last
            if dry_run:
                with self._reading() as session:
                    step = prune_step(session, after, stored, dry_run=True)
            else:
                step = self._write(partial(prune_step, after=after, before=stored))
            if step.last is None:
                return
            yield step

    def vacuum(self) -> None:
        """Give the space of removed rows back to the file system.

        Raises:
            StoreError: if the store is read-only, or neither SQLite nor PostgreSQL.
            StoreUnavailable: if another process uses the store, or the disk is full.
        """
        self.check_writable()
        vacuum(self._engine)

    def names(self) -> tuple[str, ...]:
        """Return the names of all rubrics, sorted."""
        with self._reading() as session:
            return all_names(session)

    def log(self, name: str) -> tuple[Version, ...]:
        """Return all versions of `name`, the newest first."""
        with self._reading() as session:
            newest = find_row(session, check_name(name))
            rows = session.exec(
                select(VersionRow).where(VersionRow.name == newest.name).order_by(col(VersionRow.number).desc())
            )
            return self._versions(session, rows.all())

    def tag(self, ref: str, tag: str) -> Version:
        """Point `tag` to the version of `ref`, and return that version.

        Raises:
            NotInStore: if there is no such version.
            StoreError: if `tag` is invalid.
        """
        check_tag(tag)
        return self._write(lambda session: move_tag(session, ref, tag))

    def untag(self, name: str, tag: str) -> None:
        """Remove `tag` from `name`."""
        ref = f"{check_name(name)}@{check_tag(tag)}"
        self._write(lambda session: remove_tag(session, ref, tag))

    def confirm(self, ref: str) -> Version:
        """Confirm the version of `ref`, so that it may choose the judge although it was imported, and return it."""
        return self._write(lambda session: confirm(session, ref))

    def revoke(self, ref: str) -> Version:
        """Take back the confirmation of the version of `ref`, and return it."""
        return self._write(lambda session: revoke(session, ref))

    def imported(self) -> tuple[Version, ...]:
        """Return all imported versions, by name and number."""
        with self._reading() as session:
            rows = select(VersionRow).where(col(VersionRow.origin).is_distinct_from(LEARNED))
            ordered = session.exec(rows.order_by(col(VersionRow.name), col(VersionRow.number)))
            return self._versions(session, ordered.all())

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

    def _versions(self, session: Session, rows: Sequence[VersionRow]) -> tuple[Version, ...]:
        if len(self._known) > KEPT:
            self._known.clear()
        return versions_of(session, rows, self._known)

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with guarded(self._engine.url), Session(self._engine) as session:
            yield session

    def _write(self, work: Callable[[Session], Done]) -> Done:
        """Return the result of `work` in one transaction, repeated if another process took its key."""
        self.check_writable()

        for _ in range(ATTEMPTS):
            try:
                with guarded(self._engine.url), Session(writing(self._engine)) as session:
                    done = work(session)
                    session.commit()
                    return done
            except IntegrityError:
                continue
        raise StoreUnavailable(f"Other processes kept writing to {self.place}.", "Try again.")


def _inode(file: Path | None) -> tuple[int, int] | None:
    """Return what tells a file from another one of the same name; `None` if there is no file."""
    try:
        status = file.stat() if file else None
    except OSError:
        return None
    return status and (status.st_dev, status.st_ino)


def _read_only(place: str) -> StoreError:
    return StoreError(
        f"The store {place} is read-only: its file or folder is write-protected.",
        "Use a writable store, or a copy of this one.",
    )
