"""A store: one database with the versions of rubrics, what is recorded about them, and cached answers of judges.

The functions after `Store` turn models into rows and rows into models, find the row of a reference such as `news@3`,
look for damage, and measure sizes. The package's docstring explains versions, tags and digests. A version may have a
*training record*, the texts and ratings that it was learned from, and an *evaluation* on other texts. A *judgment* is
one person's answer about a text. A version's *record digest* is the digest of its row, not of its training record.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar

from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, LargeBinary, and_, cast, func, literal, select as select_columns
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel, col, delete, select

from rubriclab.base_options import first_fault
from rubriclab.errors import NoStore, NotInStore, StoreError, StoreUnavailable
from rubriclab.models.base import canonical_json, digest, digest_text, encode_text, first_limit_violation
from rubriclab.models.characters import did_you_mean
from rubriclab.models.evaluation import EvaluationRecord
from rubriclab.models.judgment import HumanJudgment
from rubriclab.models.rubric import Rubric
from rubriclab.models.version import Effort, Provenance, TrainingRecord, Version, check_name, check_tag, parse_ref
from rubriclab.store import tables
from rubriclab.store.tables import (
    AnswerRow,
    BatchRow,
    ConfirmationRow,
    EvaluationRow,
    HumanJudgmentRow,
    RubricRow,
    TagRow,
    TrainingRow,
    VersionRow,
)

if TYPE_CHECKING:
    from rubriclab.store.packs import Pack

Model = TypeVar("Model", bound=BaseModel)
Row = TypeVar("Row", bound=SQLModel)
Result = TypeVar("Result")
StoreAccess = Literal["write", "read", "write if possible"]
# If given, this function gets the reason for each version that cannot be read, and such versions are left out.
OnDamaged = Callable[[StoreError], object]

LEARNED: Final = "learned"
_NO_STORE_HINT = "Learn a rubric first: `rubriclab learn`; or name another store: `store=PATH`"
_VERIFY_HINT = "See: `rubriclab verify`"
_UNSTORABLE_HINT = "Nothing was stored. Correct the named value."
# Rows that `verify` fetches at a time, which bounds its memory.
ROWS_PER_FETCH = 1000
# Attempts to write. Each failure means that another process has written in between.
MAX_ATTEMPTS = 100
# Versions that a store keeps in memory once they are read, since they never change; about 0.3 MB each.
MAX_CACHED_VERSIONS = 500


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a store that is not as it was written. `answer` is the digest of a damaged answer's request."""

    where: str
    what: str
    answer: str | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


# What users call the rows of these tables. The rows of other tables are called by the name of their table.
KINDS_OF_ROWS = {
    "trainings": "training records",
    "human_judgments": "ratings by people",
    "answers": "cached answers",
    "batches": "open batches",
}


@dataclass(frozen=True, slots=True)
class KindSize:
    """The number of rows of one kind, and their bytes without indexes. Only cached answers have a language `model`."""

    kind: str
    model: str | None
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Space:
    """The bytes that a database takes, and how many of them are unused; `None` if unknown."""

    total: int | None
    free: int | None


def open_store(where: str | Path | None = None, *, create: bool = True, access: StoreAccess = "write") -> Store:
    """Return the store at `where`, created (if `create`) with its tables if necessary.

    `where` is a path to an SQLite file, any SQLAlchemy URL, or `None` for `store.db` in the user's data folder. Access
    `read` leaves an SQLite file and its folder unchanged; `write if possible` is `read` if one of them is read-only.

    Raises:
        NoStore: if there is no such file, and `create` is false.
        StoreError: if the store cannot be opened, or has the schema of another version of rubriclab.
    """
    url = tables.database_url(where)
    file = tables.sqlite_file(url)
    try:
        is_missing = file is not None and not file.exists()
    except PermissionError:  # the user may not search a folder of its path
        raise StoreError(f"The store {tables.show_url(url)} cannot be opened: permission denied.") from None
    if is_missing and (access == "read" or not create):
        raise NoStore(f"The store {tables.show_url(url)} does not exist.", _NO_STORE_HINT)
    writable = tables.may_write(url)
    if access == "write" and not writable:
        raise _read_only_error(tables.show_url(url))
    return Store(where, read_only=file is not None and (access == "read" or not writable))


class Store:
    """Versions of rubrics, their records, and cached answers in one database.

    The argument `ref` is a reference to a version: `NAME` for the newest, `NAME@NUMBER` or `NAME@TAG`. Methods raise
    `NotInStore` if there is no such version, `StoreError` if content is damaged or would be changed in a store that is
    opened read-only, and `StoreUnavailable` if the database fails.
    """

    def __init__(self, where: str | Path | None = None, *, read_only: bool = False) -> None:
        self._read_only = read_only
        self._engine = tables.make_engine(tables.database_url(where), read_only=read_only)
        self._versions_by_record_digest: dict[str, Version] = {}
        try:
            tables.prepare_schema(self._engine, read_only=read_only)
        except BaseException:
            self.close()
            raise
        self._inode = _inode(tables.sqlite_file(self._engine.url))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._engine.dispose()

    @property
    def address(self) -> str:
        return tables.show_url(self._engine.url)

    def check_file(self) -> None:
        """Raise an error if the opened SQLite file was removed or replaced, as what is written to it would be lost."""
        if _inode(tables.sqlite_file(self._engine.url)) != self._inode:
            problem = f"The store {self.address} was removed or replaced while it was open."
            raise StoreUnavailable(problem, "Put it back, and open it again.")

    @cached_property
    def answers(self) -> tables.AnswerTable:
        return tables.AnswerTable(self._engine, read_only=self._read_only)

    @cached_property
    def batches(self) -> tables.BatchTable:
        return tables.BatchTable(self._engine)

    def check_writable(self) -> None:
        if self._read_only:
            raise _read_only_error(self.address)

    def save(
        self,
        name: str,
        rubric: Rubric,
        provenance: Provenance,
        effort: Effort,
        parent: str | None = None,
        *,
        training: TrainingRecord | None = None,
        pack: Pack | None = None,
    ) -> Version:
        """Save `rubric` as a new version of `name`, and return the version.

        If `_is_already_saved` finds that the newest version suffices, no version is added and the newest is returned.
        `training`, and the evaluation in `pack`, are stored unless the returned version has such a record already.

        Args:
            parent: the version that the rubric was made from; by default the newest version of `name`.
            pack: the file that the rubric is imported from. Under the pack's own name, a new version keeps the pack's
                number, unless there is a version with this or a higher number.
        """
        check_name(name)
        rubric_content, provenance_content, effort_content = map(_content_of, (rubric, provenance, effort))
        training_digest, compressed = _compress_training(training) if training else ("", b"")
        evaluation = pack.evaluation if pack else None
        evaluation_content = _content_of(evaluation) if evaluation else ""

        def add(session: Session) -> Version:
            newest = _newest_row(session, name)
            parent_row = _find_row(session, parent) if parent else newest
            number = newest.number + 1 if newest else 1
            if pack and pack.name == name:
                number = max(number, pack.number)
            row = VersionRow(
                name=name,
                number=number,
                rubric_digest=digest_text(rubric_content),
                provenance=provenance_content,
                provenance_digest=digest_text(provenance_content),
                effort=effort_content,
                parent_name=parent_row.name if parent_row else None,
                parent_number=parent_row.number if parent_row else None,
                created=tables.format_time(pack.created) if pack else tables.now(),
                record_digest="",
                origin=f"{pack.name}@{pack.number}" if pack else LEARNED,
            )
            row.record_digest = _record_digest(row, parent_row)
            if newest and _is_already_saved(row, newest):
                version = self._load_versions(session, [newest])[0]
            else:
                if session.get(RubricRow, row.rubric_digest) is None:
                    session.add(RubricRow(digest=row.rubric_digest, content=rubric_content))
                    session.flush()
                session.add(row)
                session.flush()
                version = _read_version(row, rubric_content, new=True)
            if compressed and session.get(TrainingRow, (version.name, version.number)) is None:
                session.add(TrainingRow(name=name, number=version.number, digest=training_digest, packed=compressed))
            if evaluation and session.get(EvaluationRow, (version.name, version.number)) is None:
                columns = {"content": evaluation_content, "digest": digest_text(evaluation_content)}
                session.add(EvaluationRow(name=name, number=version.number, **columns))
                version = replace(version, evaluation=evaluation)
            return version

        return self._write(add)

    def import_pack(self, pack: Pack, name: str | None = None) -> Version:
        """Save the pack's rubric under `name`, by default the pack's own, and return its version.

        The version counts as imported: its judge and servers are used only after `confirm`.
        """
        return self.save(name or pack.name, pack.rubric, pack.provenance, pack.effort, pack=pack)

    def load(self, ref: str) -> Version:
        with self._session() as session:
            return self._load_versions(session, [_find_row(session, ref)])[0]

    def names(self) -> tuple[str, ...]:
        with self._session() as session:
            return _names(session)

    def newest(self, on_damaged: OnDamaged | None = None) -> tuple[Version, ...]:
        """Return the newest version under each name, in the order of the names."""
        newest_number = func.max(VersionRow.number).label("number")
        newest = select(VersionRow.name, newest_number).group_by(VersionRow.name).subquery()
        is_newest = and_(col(VersionRow.name) == newest.c.name, col(VersionRow.number) == newest.c.number)
        with self._session() as session:
            rows = session.exec(select(VersionRow).join(newest, is_newest))
            return self._load_versions(session, sorted(rows, key=lambda row: row.name), on_damaged)

    def log(self, name: str, on_damaged: OnDamaged | None = None) -> tuple[Version, ...]:
        """Return all versions of `name`, the newest first."""
        with self._session() as session:
            newest = _find_row(session, check_name(name))
            rows = select(VersionRow).where(VersionRow.name == newest.name).order_by(col(VersionRow.number).desc())
            return self._load_versions(session, session.exec(rows).all(), on_damaged)

    def list_imported(self, on_damaged: OnDamaged | None = None) -> tuple[Version, ...]:
        rows = select(VersionRow).where(col(VersionRow.origin).is_distinct_from(LEARNED))
        with self._session() as session:
            ordered = session.exec(rows.order_by(col(VersionRow.name), col(VersionRow.number)))
            return self._load_versions(session, ordered.all(), on_damaged)

    def training(self, ref: str) -> TrainingRecord | None:
        """Return a version's training record; `None` if there is none, as after an import or learning by one method."""
        with self._session() as session:
            row = session.get(TrainingRow, _key(_find_row(session, ref)))
            return _read_training(row) if row else None

    def training_digest(self, ref: str) -> str | None:
        with self._session() as session:
            name, number = _key(_find_row(session, ref))
            digests = select(TrainingRow.digest).where(TrainingRow.name == name, TrainingRow.number == number)
            return session.exec(digests).first()

    def add_evaluation(self, version: Version, evaluation: EvaluationRecord) -> None:
        """Store the evaluation of a version in place of an earlier one; `NotInStore` if the version is not here."""
        content = _content_of(evaluation)

        def add(session: Session) -> None:
            row = _find_row(session, version.ref)
            if (row.rubric_digest, row.provenance_digest) != (version.digest, version.provenance_digest):
                raise NotInStore(f"{version.ref} of this store is not the version that was evaluated.")
            session.merge(EvaluationRow(name=row.name, number=row.number, content=content, digest=digest_text(content)))

        self._write(add)

    def tag(self, ref: str, tag: str) -> Version:
        check_tag(tag)

        def add(session: Session) -> Version:
            row = _find_row(session, ref)
            session.merge(TagRow(name=row.name, tag=tag, number=row.number))
            return self._load_versions(session, [row])[0]

        return self._write(add)

    def untag(self, name: str, tag: str) -> None:
        ref = f"{check_name(name)}@{check_tag(tag)}"
        self._write(lambda session: session.delete(session.get_one(TagRow, (_find_row(session, ref).name, tag))))

    def confirm(self, ref: str) -> Version:
        """Let an imported version choose the judge, as a version learned here always may; return the version."""

        def add(session: Session) -> Version:
            row = _find_row(session, ref)
            if row.origin != LEARNED:
                columns = {"record_digest": row.record_digest, "created": tables.now()}
                session.merge(ConfirmationRow(name=row.name, number=row.number, **columns))
            return self._load_versions(session, [row])[0]

        return self._write(add)

    def revoke(self, ref: str) -> Version:
        def remove(session: Session) -> Version:
            row = _find_row(session, ref)
            if confirmation := session.get(ConfirmationRow, _key(row)):
                session.delete(confirmation)
            return self._load_versions(session, [row])[0]

        return self._write(remove)

    def add_judgment(self, judgment: HumanJudgment) -> HumanJudgment:
        """Store a person's judgment, and return what is now stored under its id."""
        content = _content_of(judgment)

        def add(session: Session) -> HumanJudgment:
            stored = session.exec(select(HumanJudgmentRow).where(HumanJudgmentRow.id == judgment.id)).first()
            if stored is None:
                row_digest, question = digest_text(content), judgment.question
                session.add(HumanJudgmentRow(id=judgment.id, question=question, content=content, digest=row_digest))
                return judgment
            earlier = _read_judgment(stored)
            # Only the time, which the server measures, may differ.
            if earlier.model_copy(update={"created": judgment.created}) != judgment:
                raise StoreError(f"Another judgment has the id {judgment.id!r}.", "Give every judgment its own id.")
            return earlier

        return self._write(add)

    def judgments(self, question_digest: str, after_row: int = 0) -> tuple[tuple[int, HumanJudgment], ...]:
        """Return each judgment about the question, with its row number, from the rows numbered above `after_row`."""
        number = col(HumanJudgmentRow.number)
        rows = select(HumanJudgmentRow).where(HumanJudgmentRow.question == question_digest, number > after_row)
        with self._session() as session:
            return tuple((row.number or 0, _read_judgment(row)) for row in session.exec(rows.order_by(number)))

    def sizes(self) -> tuple[tuple[KindSize, ...], Space]:
        """Return the size of each kind of rows, and the space of the whole database. Every row is read."""
        with self._session() as session:
            connection = session.connection()
            return _measure_kinds(connection), _measure_space(connection)

    def prune(self, before: datetime, *, dry_run: bool = False) -> tuple[int, int]:
        """Remove the answers cached `before` a time, unless `dry_run`; return their number and their replies' bytes."""
        is_older = col(AnswerRow.created) < tables.format_time(before)

        def remove(session: Session) -> tuple[int, int]:
            size = func.coalesce(func.sum(_byte_length(session.connection(), AnswerRow.reply)), 0)
            n_answers, n_bytes = session.exec(select(func.count(), size).where(is_older)).one()
            if not dry_run:
                session.exec(delete(AnswerRow).where(is_older))
            return int(n_answers), int(n_bytes)

        if not dry_run:
            return self._write(remove)
        with self._session() as session:
            return remove(session)

    def verify(self) -> tuple[Problem, ...]:
        """Return everything in the store that is not as it was written, in a fixed order."""
        with self._session() as session:
            versions = {_key(row): row for row in _rows(session, VersionRow, VersionRow.name, VersionRow.number)}
            return (*_version_problems(session, versions), *_other_problems(session, versions))

    def repair(self) -> tuple[str, ...]:
        """Remove the damaged answers, which can be asked for again, and return the digests of their requests."""
        damaged = [problem.answer for problem in self.verify() if problem.answer]

        def remove(session: Session) -> None:
            for request_digest in damaged:
                session.exec(delete(AnswerRow).where(col(AnswerRow.digest) == request_digest))
            if tables.is_sqlite(self._engine.url):  # the statement above misses digests that are not UTF-8
                session.exec(delete(AnswerRow).where(col(AnswerRow.digest).op("GLOB")("*[^ -~]*")))

        self._write(remove)
        return tuple(damaged)

    def _load_versions(
        self, session: Session, rows: Sequence[VersionRow], on_damaged: OnDamaged | None = None
    ) -> tuple[Version, ...]:
        # What never changes is read once for each version, and kept.
        cached = self._versions_by_record_digest
        if len(cached) > MAX_CACHED_VERSIONS:
            cached.clear()
        uncached_rubrics = {row.rubric_digest for row in rows if row.record_digest not in cached}
        rubric_contents: dict[str, str] = {}
        if uncached_rubrics:
            rubrics = session.exec(select(RubricRow).where(col(RubricRow.digest).in_(uncached_rubrics)))
            rubric_contents = {rubric.digest: rubric.content for rubric in rubrics}
        # Tags, confirmations and evaluations may have changed.
        names = {row.name for row in rows}
        tags: dict[tuple[str, int], list[str]] = {}
        for tag_row in session.exec(select(TagRow).where(col(TagRow.name).in_(names))):
            tags.setdefault(_key(tag_row), []).append(tag_row.tag)
        confirmations = session.exec(select(ConfirmationRow).where(col(ConfirmationRow.name).in_(names)))
        confirmed_digests = {_key(confirmation): confirmation.record_digest for confirmation in confirmations}
        evaluation_rows = session.exec(select(EvaluationRow).where(col(EvaluationRow.name).in_(names)))
        evaluations = {_key(evaluation_row): evaluation_row for evaluation_row in evaluation_rows}
        versions = []
        for row in rows:
            try:
                if row.record_digest not in cached:
                    cached[row.record_digest] = _read_version(row, rubric_contents.get(row.rubric_digest))
            except StoreError as error:
                if on_damaged is None:
                    raise
                on_damaged(error)
                continue
            key = _key(row)
            is_confirmed = confirmed_digests.get(key) == row.record_digest
            own_tags = tuple(sorted(tags.get(key, ())))
            evaluation = None
            # A damaged evaluation does not prevent the use of a version. `verify` reports it; `evaluate` replaces it.
            with suppress(StoreError):
                evaluation = _read_evaluation(evaluations[key]) if key in evaluations else None
            version = replace(cached[row.record_digest], tags=own_tags, confirmed=is_confirmed, evaluation=evaluation)
            versions.append(version)
        return tuple(versions)

    @contextmanager
    def _session(self) -> Iterator[Session]:
        with tables.translate_errors(self._engine.url), Session(self._engine) as session:
            yield session

    def _write(self, work: Callable[[Session], Result]) -> Result:
        """Run `work` in a transaction and return its result; repeat it if another process has written the same key."""
        self.check_writable()
        engine = tables.with_write_lock(self._engine)
        for _ in range(MAX_ATTEMPTS):
            try:
                with tables.translate_errors(engine.url), Session(engine) as session:
                    result = work(session)
                    session.commit()
                    return result
            except IntegrityError:
                continue
        raise StoreUnavailable(f"Other processes kept writing to {self.address}.", "Try again.")


def _key(row: tables.OnePerVersionRow | TagRow) -> tuple[str, int]:
    return row.name, row.number


def _read_only_error(address: str) -> StoreError:
    hint = "Use a writable store, or a copy of this one."
    return StoreError(f"The store {address} is read-only: its file or folder is write-protected.", hint)


def _inode(file: Path | None) -> tuple[int, int] | None:
    try:
        status = file.stat() if file else None
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status else None


def _content_of(model: BaseModel) -> str:
    """Return the canonical JSON of a model. Raise `StoreError` if it would not read back as an equal model."""
    noun = type(model).__name__
    try:
        fields = model.model_dump(mode="json", warnings="error")
        if fault := first_limit_violation(fields):
            raise ValueError(fault)
        content = canonical_json(fields)
    except ValueError as error:
        raise StoreError(f"This {noun} cannot be stored: {error}.", _UNSTORABLE_HINT) from None
    if _read(type(model), content, f"This {noun}, once stored,") != model:
        raise StoreError(f"This {noun} cannot be stored: what is read back would differ.", _UNSTORABLE_HINT)
    return content


def _compress_training(record: TrainingRecord) -> tuple[str, bytes]:
    """Return the digest of a training record's canonical JSON, and the JSON, compressed in pieces to save memory."""
    sha256, compressor = hashlib.sha256(), zlib.compressobj()
    compressed_pieces = []
    try:
        for piece in map(encode_text, record.content()):
            sha256.update(piece)
            compressed_pieces.append(compressor.compress(piece))
    except ValueError as error:
        raise StoreError(f"This training record cannot be stored: {error}.", _UNSTORABLE_HINT) from None
    return f"sha256:{sha256.hexdigest()}", b"".join((*compressed_pieces, compressor.flush()))


def _read_training(row: TrainingRow) -> TrainingRecord:
    where = f"The training record of {row.ref}"
    try:
        content = zlib.decompress(row.packed).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError) as error:
        raise StoreError(f"{where} cannot be decompressed: {error}.", _VERIFY_HINT) from None
    return _read(TrainingRecord, content, where, row.digest)


def _read_evaluation(row: EvaluationRow) -> EvaluationRecord:
    return _read(EvaluationRecord, row.content, f"The evaluation of {row.ref}", row.digest)


def _read(model: type[Model], content: str, name: str, expected_digest: str | None = None) -> Model:
    if expected_digest is not None and digest_text(content) != expected_digest:
        raise StoreError(f"{name} does not match its digest.", _VERIFY_HINT)
    try:
        # For a training record, this takes half the memory of `json.loads` and a validation of its result.
        return model.model_validate_json(content)
    except ValidationError as error:
        raise StoreError(f"{name} is no {model.__name__}: {first_fault(error)}.", _VERIFY_HINT) from None


def _read_judgment(row: HumanJudgmentRow) -> HumanJudgment:
    return _read(HumanJudgment, row.content, f"The judgment {row.id}", row.digest)


def _read_version(row: VersionRow, content: str | None, *, new: bool = False) -> Version:
    if content is None:
        raise StoreError(f"The rubric of {row.ref} is missing from the store.", _VERIFY_HINT)
    try:
        created = datetime.fromisoformat(row.created)
    except ValueError:
        raise StoreError(f"The time of {row.ref} is not readable: {row.created!r}.", _VERIFY_HINT) from None
    return Version(
        name=row.name,
        number=row.number,
        digest=row.rubric_digest,
        rubric=_read(Rubric, content, f"The rubric of {row.ref}", row.rubric_digest),
        provenance=_read(Provenance, row.provenance, f"The provenance of {row.ref}", row.provenance_digest),
        provenance_digest=row.provenance_digest,
        effort=_read(Effort, row.effort, f"The effort of {row.ref}"),
        parent=row.parent,
        created=created,
        new=new,
        imported_from=None if row.origin == LEARNED else row.origin,
    )


def _record_digest(row: VersionRow, parent: VersionRow | None) -> str:
    """Return the digest of all of `row`, chained to the record of its parent, as in a git commit."""
    return digest(
        {
            "name": row.name,
            "number": row.number,
            "rubric": row.rubric_digest,
            "provenance": row.provenance_digest,
            "effort": row.effort,
            "created": row.created,
            "parent": row.parent,
            "parent_record": parent.record_digest if parent else None,
            "origin": row.origin,
        }
    )


def _is_already_saved(row: VersionRow, newest: VersionRow) -> bool:
    """Return whether `newest` has the rubric of `row` and is trusted at least as much, so that `row` is not needed.

    A version is trusted less if it was imported, or if an imported version chose the judge that it was learned with.
    If one of the two versions was imported, both must also have the same provenance.
    """
    if newest.rubric_digest != row.rubric_digest:
        return False
    if newest.provenance_digest == row.provenance_digest:
        return newest.origin == LEARNED or row.origin != LEARNED
    if newest.origin != LEARNED or row.origin != LEARNED:
        return False
    imported_sources = []
    for version in (newest, row):
        provenance = _read(Provenance, version.provenance, f"The provenance of {version.ref}")
        imported_sources.append({provenance.judge_from, provenance.generator_from} - {None, ""})
    return imported_sources[0] <= imported_sources[1]


def _find_row(session: Session, reference: str) -> VersionRow:
    ref = parse_ref(reference)
    newest = _newest_row(session, ref.name)
    if newest is None:
        raise _not_found(f"The store holds no rubric {ref.name!r};", ref.name, _names(session), "no rubric at all")
    if ref.tag is not None:
        tag = session.get(TagRow, (ref.name, ref.tag))
        if tag is None:
            tags = tuple(sorted(session.exec(select(TagRow.tag).where(TagRow.name == ref.name))))
            raise _not_found(f"{ref.name} has no tag {ref.tag!r};", ref.tag, tags, "no tag at all")
        return session.get_one(VersionRow, (ref.name, tag.number))
    row = session.get(VersionRow, (ref.name, ref.number)) if ref.number else newest
    if row is None:
        raise NotInStore(f"{ref.name} has no version {ref.number};", f"the newest is {newest.ref}.")
    return row


def _newest_row(session: Session, name: str) -> VersionRow | None:
    rows = select(VersionRow).where(VersionRow.name == name).order_by(col(VersionRow.number).desc())
    return session.exec(rows.limit(1)).first()


def _names(session: Session) -> tuple[str, ...]:
    return tuple(sorted(session.exec(select(VersionRow.name).distinct())))


def _not_found(message: str, name: str, names: tuple[str, ...], words_if_none: str) -> NotInStore:
    return NotInStore(message, f"it has {', '.join(names) or words_if_none}. {did_you_mean(name, names)}".strip())


def _version_problems(session: Session, versions: Mapping[tuple[str, int], VersionRow]) -> Iterator[Problem]:
    rubric_digests = set()
    for rubric in _rows(session, RubricRow, RubricRow.digest):
        rubric_digests.add(rubric.digest)
        where = f"rubric {rubric.digest}"
        yield from _digest_problems(where, "its content", digest_text(rubric.content), rubric.digest)
        yield from _reading_problems(where, _read, Rubric, rubric.content, "its content")
    previous_name, previous_number = "", 0
    for (name, number), row in versions.items():
        next_number = previous_number + 1 if previous_name == name else 1
        # An imported version keeps its number, which may leave a gap.
        for missing_number in range(next_number, number) if row.origin == LEARNED else ():
            yield Problem(f"{name}@{missing_number}", "this version is missing, though there are later ones")
        previous_name, previous_number = name, number
    for row in versions.values():
        if row.rubric_digest not in rubric_digests:
            yield Problem(row.ref, f"its rubric {row.rubric_digest} is missing")
        yield from _digest_problems(row.ref, "its provenance", digest_text(row.provenance), row.provenance_digest)
        yield from _reading_problems(row.ref, _read, Provenance, row.provenance, "its provenance")
        yield from _reading_problems(row.ref, _read, Effort, row.effort, "its effort")
        parent = versions.get((row.parent_name or "", row.parent_number or 0))
        if row.parent and not parent:
            yield Problem(row.ref, f"its parent {row.parent} does not exist")
        else:
            what = "its record (name, number, digests, effort, time, parent, origin)"
            yield from _digest_problems(row.ref, what, _record_digest(row, parent), row.record_digest)


def _other_problems(session: Session, versions: Mapping[tuple[str, int], VersionRow]) -> Iterator[Problem]:
    """Yield the problems of all rows besides rubrics and versions."""
    trainings = _rows(session, TrainingRow, TrainingRow.name, TrainingRow.number)
    evaluations = _rows(session, EvaluationRow, EvaluationRow.name, EvaluationRow.number)
    kinds = (("training record", trainings, _read_training), ("evaluation", evaluations, _read_evaluation))
    for noun, rows, read in kinds:
        for row in rows:
            where = f"{noun} of {row.ref}"
            if _key(row) not in versions:
                yield Problem(where, "there is no such version")
            yield from _reading_problems(where, read, row)
    for confirmation in _rows(session, ConfirmationRow, ConfirmationRow.name, ConfirmationRow.number):
        where = f"confirmation of {confirmation.ref}"
        if confirmed := versions.get(_key(confirmation)):
            noun = "the record that was confirmed"
            yield from _digest_problems(where, noun, confirmation.record_digest, confirmed.record_digest)
        else:
            yield Problem(where, "there is no such version")
    for judgment in _rows(session, HumanJudgmentRow, HumanJudgmentRow.number):
        yield from _reading_problems(f"judgment {judgment.id}", _read_judgment, judgment)
    for tag in _rows(session, TagRow, TagRow.name, TagRow.tag):
        if _key(tag) not in versions:
            yield Problem(f"{tag.name}@{tag.tag}", f"the tag points to version {tag.number}, which does not exist")
    for batch in _rows(session, BatchRow, BatchRow.key):
        yield from _reading_problems(f"batch {batch.key}", tables.read_batch, batch.key, batch.content)
    for answer in _rows(session, AnswerRow, AnswerRow.digest):
        columns = (answer.digest, answer.reply, answer.reply_digest)
        problems = _reading_problems(f"answer {answer.digest}", tables.read_reply, *columns)
        yield from (replace(problem, answer=answer.digest) for problem in problems)


def _rows(session: Session, table: type[Row], *order: Any) -> Iterable[Row]:
    return session.exec(select(table).order_by(*order).execution_options(yield_per=ROWS_PER_FETCH))


def _digest_problems(where: str, name: str, actual: str, expected: str) -> Iterator[Problem]:
    if actual != expected:
        yield Problem(where, f"{name} has the digest {actual} instead of {expected}")


def _reading_problems(where: str, read: Callable[..., object], *arguments: object) -> Iterator[Problem]:
    try:
        read(*arguments)
    except StoreError as error:
        yield Problem(where, error.message)


def _measure_kinds(connection: Connection) -> tuple[KindSize, ...]:
    kinds: list[KindSize] = []
    for name, table in tables.METADATA.tables.items():
        # Numbers take little space, so only texts and bytes are measured.
        columns = [column for column in table.c if column.type.python_type in (str, bytes)]
        row_length = sum((func.coalesce(_byte_length(connection, column), 0) for column in columns), start=0)
        query = select_columns(func.count(), func.sum(row_length)).select_from(table)
        if name == AnswerRow.__tablename__:
            query = query.add_columns(table.c.model).group_by(table.c.model)
        sizes = []
        for n_rows, n_bytes, *models in connection.execute(query):
            kind = KINDS_OF_ROWS.get(name, name)
            sizes.append(KindSize(kind, models[0] if models else None, n_rows, int(n_bytes or 0)))
        kinds += sorted(sizes, key=lambda size: (-size.rows, size.model is None, size.model))
    return tuple(kinds)


def _byte_length(connection: Connection, column: Any) -> Any:
    # SQLite before 3.43 has no octet_length.
    is_sqlite_database = connection.dialect.name == "sqlite"
    return func.length(cast(column, LargeBinary)) if is_sqlite_database else func.octet_length(column)


def _measure_space(connection: Connection) -> Space:
    if connection.dialect.name == "sqlite":
        pragmas = ("page_count", "freelist_count", "page_size")
        pages, free_pages, page_size = (connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in pragmas)
        return Space(pages * page_size, free_pages * page_size)
    if connection.dialect.name == "postgresql":
        names = map(connection.dialect.identifier_preparer.format_table, tables.METADATA.tables.values())
        sizes = (func.pg_total_relation_size(func.to_regclass(name)) for name in names)
        total = connection.execute(select_columns(sum(sizes, start=literal(0)))).scalar_one()
        return Space(int(total), None)
    return Space(None, None)
