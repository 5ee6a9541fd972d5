"""A store: versions, tags, confirmations, training records and people's judgments, and verification of their digests.

Reading raises `StoreError` for what is missing, cannot be read, or does not match its digest.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ValidationError
from sqlalchemy import and_, func
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel, col, delete, select

from rubriclab.errors import NoStore, NotInStore, StoreError, StoreUnavailable
from rubriclab.models.base import (
    canonical,
    digest,
    digest_text,
    encoded,
    first_bounds_fault,
)
from rubriclab.models.judgment import HumanJudgment
from rubriclab.models.rubric import Rubric
from rubriclab.models.version import Effort, Provenance, TrainingRecord, Version, check_name, check_tag, parse_ref
from rubriclab.option_names import command
from rubriclab.pydantic_errors import first_fault
from rubriclab.store.answers import (
    AnswerTable,
    BatchTable,
    KindSize,
    Pruned,
    Space,
    prune_step,
    read_reply,
    sizes,
    space_of,
    vacuum,
)
from rubriclab.store.tables import (
    AnswerRow,
    ConfirmationRow,
    HumanJudgmentRow,
    RubricRow,
    TagRow,
    TrainingRow,
    VersionRow,
    address,
    file_of,
    guarded,
    is_sqlite,
    make_engine,
    may_write,
    now,
    prepare,
    shown,
    stored_time,
    writing,
)

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


def add_judgment(session: Session, judgment: HumanJudgment) -> HumanJudgment:
    """Return the stored judgment; see `Store.add_judgment`."""
    content = content_of(judgment)
    if stored := session.exec(select(HumanJudgmentRow).where(HumanJudgmentRow.id == judgment.id)).first():
        former = read_judgment(stored)
        # Only the time, which the server measures, may differ.
        if former.model_copy(update={"created": judgment.created}) != judgment:
            raise StoreError(f"Another judgment has the id {judgment.id!r}.", "Give it an id of its own.")
        return former
    row = HumanJudgmentRow(id=judgment.id, question=judgment.question, content=content, digest=digest_text(content))
    session.add(row)
    session.flush()
    return judgment


def judgments_of(session: Session, question: str, after: int) -> tuple[tuple[int, HumanJudgment], ...]:
    """Return the judgments about a question with numbers above `after`, in the order of the numbers."""
    rows = select(HumanJudgmentRow).where(HumanJudgmentRow.question == question, col(HumanJudgmentRow.number) > after)
    ordered = session.exec(rows.order_by(col(HumanJudgmentRow.number)))
    return tuple((row.number or 0, read_judgment(row)) for row in ordered)


def read_judgment(row: HumanJudgmentRow) -> HumanJudgment:
    """Return the judgment in `row`."""
    if digest_text(row.content) != row.digest:
        raise StoreError(f"The judgment {row.id} does not match its digest.", f"See: {command('verify')}")
    return read(HumanJudgment, row.content, f"The judgment {row.id}")


# Rows fetched at a time, which bounds the memory.
CHUNK = 1000

Row = TypeVar("Row", bound=SQLModel)


@dataclass(frozen=True, slots=True)
class Problem:
    """A place in a store whose content has changed, and what does not match.

    `answer` is the digest of the request if it is a damaged answer, which can be removed and requested again.
    """

    where: str
    what: str
    answer: str | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def find_problems(session: Session) -> Iterator[Problem]:
    """Yield problems of everything that has a digest, table by table, each by key."""
    rubrics = set()
    for row in _rows(session, RubricRow, RubricRow.digest):
        rubrics.add(row.digest)
        yield from _mismatch(f"rubric {row.digest}", "its content", digest_text(row.content), row.digest)
        yield from _fault(f"rubric {row.digest}", read, Rubric, row.content, "its content")
    rows = _rows(session, VersionRow, VersionRow.name, VersionRow.number)
    versions = {(row.name, row.number): row for row in rows}
    yield from _gaps(versions)
    for version in versions.values():
        yield from _version_problems(version, rubrics, versions)
    for training in _rows(session, TrainingRow, TrainingRow.name, TrainingRow.number):
        yield from _training_problems(training, versions)
    for confirmation in _rows(session, ConfirmationRow, ConfirmationRow.name, ConfirmationRow.number):
        yield from _confirmation_problems(confirmation, versions)
    for judgment in _rows(session, HumanJudgmentRow, HumanJudgmentRow.number):
        yield from _fault(f"judgment {judgment.id}", read_judgment, judgment)
    for tag in _rows(session, TagRow, TagRow.name, TagRow.tag):
        if (tag.name, tag.number) not in versions:
            yield Problem(f"{tag.name}@{tag.tag}", f"the tag points to version {tag.number}, which does not exist")
    for answer in _rows(session, AnswerRow, AnswerRow.digest):
        try:
            read_reply(answer.digest, answer.reply, answer.reply_digest)
        except StoreError as error:
            yield Problem(f"answer {answer.digest}", error.message, answer.digest)


def remove_answers(session: Session, digests: Iterable[str]) -> None:
    """Remove the answers to the requests with these digests."""
    for answer in digests:
        session.exec(delete(AnswerRow).where(col(AnswerRow.digest) == answer))


def _rows(session: Session, table: type[Row], *key: Any) -> Iterable[Row]:
    return session.exec(select(table).order_by(*key).execution_options(yield_per=CHUNK))


def _training_problems(row: TrainingRow, versions: Collection[tuple[str, int]]) -> Iterator[Problem]:
    where = f"training record of {row.ref}"
    if (row.name, row.number) not in versions:
        yield Problem(where, "there is no such version")
    try:
        content = unpacked(row)
    except StoreError as error:
        yield Problem(where, error.message)
        return
    yield from _mismatch(where, "its content", digest_text(content), row.digest)
    yield from _fault(where, read, TrainingRecord, content, "its content")


def _confirmation_problems(row: ConfirmationRow, versions: Mapping[tuple[str, int], VersionRow]) -> Iterator[Problem]:
    where = f"confirmation of {row.ref}"
    version = versions.get((row.name, row.number))
    if version is None:
        yield Problem(where, "there is no such version")
    else:
        yield from _mismatch(where, "the record that was confirmed", row.record_digest, version.record_digest)


def _gaps(versions: Mapping[tuple[str, int], VersionRow]) -> Iterator[Problem]:
    numbers = defaultdict(set)
    for name, number in versions:
        numbers[name].add(number)
    for name, present in numbers.items():
        for number in sorted(set(range(1, max(present))) - present):
            yield Problem(f"{name}@{number}", "this version is missing, though there are later ones")


def _version_problems(
    row: VersionRow, rubrics: Collection[str], versions: Mapping[tuple[str, int], VersionRow]
) -> Iterator[Problem]:
    if row.rubric_digest not in rubrics:
        yield Problem(row.ref, f"its rubric {row.rubric_digest} is missing")
    yield from _mismatch(row.ref, "its provenance", digest_text(row.provenance), row.provenance_digest)
    yield from _fault(row.ref, read, Provenance, row.provenance, "its provenance")
    yield from _fault(row.ref, read, Effort, row.effort, "its effort")
    parent = versions.get((row.parent_name, row.parent_number)) if row.parent_name and row.parent_number else None
    if row.parent and not parent:
        yield Problem(row.ref, f"its parent {row.parent} does not exist")
        return
    record = record_digest(row, parent.record_digest if parent else None)
    yield from _mismatch(
        row.ref, "its record (name, number, digests, effort, time, parent, origin)", record, row.record_digest
    )


def _mismatch(where: str, what: str, actual: str, expected: str) -> Iterator[Problem]:
    if actual != expected:
        yield Problem(where, f"{what} has the digest {actual} instead of {expected}")


def _fault(where: str, attempt: Callable[..., object], *arguments: object) -> Iterator[Problem]:
    try:
        attempt(*arguments)
    except StoreError as error:
        yield Problem(where, error.message)


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
