"""The database of a store: its address and engine, its tables, and triggers that protect immutable rows.

An engine opens connections to a database, which several processes may use at a time. Each table is a class `…Row`,
and each row an object. These classes validate nothing, so rows are made of validated models only.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import platformdirs
import sqlalchemy as sa
from pydantic import TypeAdapter, ValidationError
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, OperationalError
from sqlmodel import Field, Session, SQLModel, col, delete

from rubriclab.base_options import first_fault
from rubriclab.errors import DamagedAnswer, StoreError, StoreUnavailable
from rubriclab.models.base import canonical_json, digest_text
from rubriclab.models.characters import one_line
from rubriclab.running import LONG_WAIT, log_wait

if TYPE_CHECKING:
    from rubriclab.judges.batch import OpenBatch

_log = logging.getLogger(__name__)

# Seconds that a writer waits for another process to commit.
MAX_WAIT_SECONDS = 30


def database_url(where: str | Path | None) -> sa.URL:
    """Return the database URL of `where`: a URL, a path to an SQLite file, or `None` for the user's own store."""
    if where is None:
        where = platformdirs.user_data_path("rubriclab", appauthor=False) / "store.db"
    if isinstance(where, Path) or "://" not in where:
        return sa.URL.create("sqlite", database=str(Path(where).expanduser()))
    try:
        url = sa.make_url(where)
    except (ArgumentError, ValueError):
        raise _address_error() from None
    if is_sqlite(url) and (url.query or (url.database or "").startswith("file:")):
        # Options in the address could override the access mode that the store is opened with.
        raise StoreError("The store's address has options for SQLite.", "Write the path of its file alone.")
    is_postgresql = url.drivername in ("postgresql", "postgres")
    return url.set(drivername="postgresql+psycopg") if is_postgresql else url


def resolve_store(where: str, folder: Path) -> str:
    """Return `where` with the relative path of an SQLite file, alone or in a URL, resolved against `folder`."""
    if "://" not in where:
        return str(folder / Path(where).expanduser())
    url = database_url(where)
    if sqlite_file(url) is None:
        return where
    return url.set(database=str(folder / str(url.database))).render_as_string(hide_password=False)


def show_url(url: sa.URL) -> str:
    """Return `url` for messages, without password and options."""
    return (url.database or ":memory:") if is_sqlite(url) else str(url.set(query={}))


def is_remote(where: str | Path | None) -> bool:
    return not is_sqlite(database_url(where))


def is_sqlite(url: sa.URL) -> bool:
    return url.get_backend_name() == "sqlite"


def sqlite_file(url: sa.URL) -> Path | None:
    """Return the path of an SQLite file; `None` for SQLite in memory and for other databases."""
    return Path(url.database) if is_sqlite(url) and url.database and url.database != ":memory:" else None


def may_write(url: sa.URL) -> bool:
    """Return whether an SQLite file, and its folder for SQLite's log, can be written; true for other databases."""
    file = sqlite_file(url)
    if file is None or not file.exists():
        return True
    return os.access(file, os.W_OK) and os.access(file.absolute().parent, os.W_OK)


def make_engine(url: sa.URL, *, read_only: bool = False) -> sa.Engine:
    """Return an engine for `url`. An SQLite file and its folders are created if necessary, unless `read_only`."""
    file = sqlite_file(url)
    try:
        if not is_sqlite(url):
            return sa.create_engine(url, pool_pre_ping=True)
        return _read_only_sqlite_engine(url, file) if file and read_only else _sqlite_engine(url, file)
    except (ImportError, NoSuchModuleError) as error:
        fault = f"No driver for {show_url(url)} is installed ({error})."
        hint = "Install the driver that this kind of database needs."
        if url.drivername == "postgresql+psycopg":
            hint = "Install it: pip install 'rubriclab[postgresql]'"
        raise StoreError(fault, hint) from None
    except ArgumentError:
        raise _address_error() from None


@contextmanager
def translate_errors(url: sa.URL) -> Iterator[None]:
    """Turn errors of the database into `StoreUnavailable`; leave `IntegrityError`, which a key in use causes."""
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        lines = str(error.orig).strip().splitlines() or [type(error.orig).__name__]
        problem = f"The store {show_url(url)} cannot be used: {lines[0].removesuffix('.')}."
        hint = "Check that `store` names a store and that its disk has space; replace a damaged one by a copy."
        raise StoreUnavailable(problem, hint) from error


def with_write_lock(engine: sa.Engine) -> sa.Engine:
    """Return `engine` whose transactions take SQLite's write lock when they begin, since taking it later may fail."""
    return engine.execution_options(writes=True)


def fetch_rows(
    engine: sa.Engine, statement: sa.Select[Any], values: Mapping[str, str] | None = None
) -> Sequence[sa.Row[Any]]:
    with translate_errors(engine.url), autocommit_connection(engine) as connection:
        return connection.execute(statement, values).all()


def autocommit_connection(engine: sa.Engine) -> sa.Connection:
    if is_sqlite(engine.url):
        return engine.connect().execution_options(autocommit=True)
    return engine.connect().execution_options(isolation_level="AUTOCOMMIT")


def _address_error() -> StoreError:
    # The message does not repeat the address, since it may contain a password.
    return StoreError("The store's address is not understood.", "Write a path, or a URL: postgresql://user@host/name.")


def _sqlite_engine(url: sa.URL, file: Path | None) -> sa.Engine:
    try:
        if file and not file.exists():
            # Answers contain users' texts, so a new store is readable by its owner only, like the log that SQLite adds.
            for folder in reversed(file.parents):
                if not folder.exists():
                    folder.mkdir(0o700, exist_ok=True)
            # `realpath` follows a link, since O_EXCL fails on a link whose target does not exist.
            os.close(os.open(os.path.realpath(file), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass  # another process has created it
    except OSError as error:
        # Errors of the file itself are left to SQLite, which reports them.
        if file and not file.parent.is_dir():
            hint = "Give a path where you may write: `store=PATH`."
            raise StoreError(f"The folder of {show_url(url)} cannot be made: {error.strerror}.", hint) from None
    # With no isolation level, Python's sqlite3 begins no transaction by itself: `_begin` begins every transaction.
    engine = sa.create_engine(url, connect_args={"timeout": MAX_WAIT_SECONDS, "isolation_level": None})
    return _with_settings(engine, "foreign_keys = ON", "journal_mode = WAL", "synchronous = NORMAL")


def _read_only_sqlite_engine(url: sa.URL, file: Path) -> sa.Engine:
    """Return an engine that reads `file` and, where possible, leaves no log of SQLite beside it."""
    log = Path(f"{file}-wal")
    if may_write(url):
        mode = "mode=rw"  # with `mode=ro`, the last connection would leave its log behind
    elif log.exists() and log.stat().st_size > 0:
        mode = "mode=ro"
    else:
        mode = "mode=ro&immutable=1"  # the file is complete, and SQLite reads it without a log
    uri = f"file:{quote(str(file.absolute()))}?{mode}"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(uri, uri=True, timeout=MAX_WAIT_SECONDS, isolation_level=None, check_same_thread=False)

    return _with_settings(sa.create_engine(url, creator=connect), "query_only = ON")


def _with_settings(engine: sa.Engine, *pragmas: str) -> sa.Engine:
    # Bytes that are not UTF-8 are read as escapes. So their row does not match its digest, but other rows can be read.
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.text_factory = partial(str, encoding="utf-8", errors="backslashreplace")
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    sa.event.listen(engine, "connect", prepare)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: sa.Connection) -> None:
    """Begin a transaction; a wait for another process that writes is logged after `LONG_WAIT` seconds."""
    options = connection.get_execution_options()
    if not options.get("writes"):
        if not options.get("autocommit"):
            connection.exec_driver_sql("BEGIN DEFERRED")
        return
    try:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {1000 * LONG_WAIT:.0f}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    except OperationalError as error:
        if "locked" not in str(error.orig):
            raise
        log_wait(_log, LONG_WAIT, "another process that writes to the store", f" {show_url(connection.engine.url)}")
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {1000 * (MAX_WAIT_SECONDS - LONG_WAIT):.0f}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")


# Characters of a digest (`sha256:` and 64 digits), of the longest name or tag, and of a time in UTC (ISO 8601).
DIGEST_LENGTH = 71
NAME_LENGTH = 100
TIME_LENGTH = 32

METADATA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def now() -> str:
    return format_time(datetime.now(UTC))


def format_time(moment: datetime) -> str:
    """Return `moment` as text: ISO 8601 in UTC. All times are stored so, since SQLite has no type for them."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


class StoredRow(SQLModel):
    """Base of all rows. JSON is stored as text, since PostgreSQL's JSON types reorder keys and refuse NUL."""

    metadata = METADATA


class RubricRow(StoredRow, table=True):
    """A rubric's content under its own digest; several versions may share it."""

    __tablename__ = "rubrics"

    digest: str = Field(primary_key=True, max_length=DIGEST_LENGTH)
    content: str = Field(sa_type=sa.Text)


class OnePerVersionRow(StoredRow):
    """Base of the rows of tables with at most one row for each version."""

    name: str = Field(primary_key=True, max_length=NAME_LENGTH)
    number: int = Field(primary_key=True)

    @property
    def ref(self) -> str:
        return f"{self.name}@{self.number}"


class VersionRow(OnePerVersionRow, table=True):
    """A rubric under a name and a number. `record_digest` covers all other columns and the parent's `record_digest`.

    `origin` is `learned`, or the `NAME@NUMBER` of an imported pack; `created` is then the time that the pack states.
    """

    __tablename__ = "versions"
    __table_args__ = (
        sa.ForeignKeyConstraint(["parent_name", "parent_number"], ["versions.name", "versions.number"]),
        sa.CheckConstraint("number >= 1", name="number_from_one"),
    )

    rubric_digest: str = Field(foreign_key="rubrics.digest", max_length=DIGEST_LENGTH)
    provenance: str = Field(sa_type=sa.Text)
    provenance_digest: str = Field(max_length=DIGEST_LENGTH)
    effort: str = Field(sa_type=sa.Text)  # calls, tokens, money and time of the command that made the version
    parent_name: str | None = Field(default=None, max_length=NAME_LENGTH)
    parent_number: int | None = None
    created: str = Field(max_length=TIME_LENGTH)
    record_digest: str = Field(max_length=DIGEST_LENGTH)
    origin: str = Field(max_length=NAME_LENGTH + 11)  # `@` and a number of at most ten digits

    @property
    def parent(self) -> str | None:
        return f"{self.parent_name}@{self.parent_number}" if self.parent_name else None


def _version_foreign_key() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["name", "number"], ["versions.name", "versions.number"])


class TrainingRow(OnePerVersionRow, table=True):
    """A training record: canonical JSON, compressed by zlib. `digest` is the JSON's digest. The row may be deleted."""

    __tablename__ = "trainings"
    __table_args__ = (_version_foreign_key(),)

    digest: str = Field(max_length=DIGEST_LENGTH)
    packed: bytes = Field(sa_type=sa.LargeBinary)


class EvaluationRow(OnePerVersionRow, table=True):
    """The evaluation of a version on texts that it was not learned from, as canonical JSON."""

    __tablename__ = "evaluations"
    __table_args__ = (_version_foreign_key(),)

    content: str = Field(sa_type=sa.Text)
    digest: str = Field(max_length=DIGEST_LENGTH)


class ConfirmationRow(OnePerVersionRow, table=True):
    """The user's confirmation that an imported version may choose the judge, with the version's `record_digest`."""

    __tablename__ = "confirmations"
    __table_args__ = (_version_foreign_key(),)

    record_digest: str = Field(max_length=DIGEST_LENGTH)
    created: str = Field(max_length=TIME_LENGTH)


class HumanJudgmentRow(StoredRow, table=True):
    """A person's judgment as canonical JSON; never changed. `question` is the digest of what was asked."""

    __tablename__ = "human_judgments"
    __table_args__ = (sa.UniqueConstraint("id"),)

    number: int | None = Field(default=None, primary_key=True)
    id: str = Field(max_length=NAME_LENGTH)
    question: str = Field(max_length=DIGEST_LENGTH, index=True)
    content: str = Field(sa_type=sa.Text)
    digest: str = Field(max_length=DIGEST_LENGTH)


class TagRow(StoredRow, table=True):
    """A movable pointer to a version."""

    __tablename__ = "tags"
    __table_args__ = (_version_foreign_key(),)

    name: str = Field(primary_key=True, max_length=NAME_LENGTH)
    tag: str = Field(primary_key=True, max_length=NAME_LENGTH)
    number: int


class AnswerRow(StoredRow, table=True):
    """A judge's reply as JSON, under the `digest` of its request; `reply_digest` covers the request and the reply."""

    __tablename__ = "answers"

    digest: str = Field(primary_key=True, max_length=DIGEST_LENGTH)
    reply: str = Field(sa_type=sa.Text)
    created: str = Field(max_length=TIME_LENGTH)
    reply_digest: str = Field(max_length=DIGEST_LENGTH)
    model: str | None = Field(default=None, max_length=NAME_LENGTH)


class BatchRow(StoredRow, table=True):
    """A batch that a provider is processing, as JSON; `judge` is the digest of its judge's identity."""

    __tablename__ = "batches"

    key: str = Field(primary_key=True, max_length=NAME_LENGTH)
    judge: str = Field(max_length=DIGEST_LENGTH, index=True)
    created: str = Field(max_length=TIME_LENGTH)
    content: str = Field(sa_type=sa.Text)


_ANSWERS = METADATA.tables[AnswerRow.__tablename__]
_INSERT_ANSWER = sa.insert(_ANSWERS)
_SELECT_REPLY = sa.select(_ANSWERS.c.reply, _ANSWERS.c.reply_digest).where(_ANSWERS.c.digest == sa.bindparam("key"))


class AnswerTable:
    """The cached answers of a store: the `AnswerCache` that its judges use."""

    def __init__(self, engine: sa.Engine, *, read_only: bool = False) -> None:
        self.remote = not is_sqlite(engine.url)
        self._engine = engine
        self._read_only = read_only

    def get(self, request_digest: str) -> dict[str, Any] | None:
        rows = fetch_rows(self._engine, _SELECT_REPLY, {"key": request_digest})
        return read_reply(request_digest, rows[0].reply, rows[0].reply_digest) if rows else None

    def put(self, request_digest: str, reply: dict[str, Any]) -> bool:
        text, model = canonical_json(reply), reply.get("model")
        row = {
            "digest": request_digest,
            "reply": text,
            "reply_digest": answer_digest(request_digest, text),
            "created": now(),
            # A provider may send a long name, or control characters.
            "model": one_line(model)[:NAME_LENGTH] if isinstance(model, str) else None,
        }
        try:
            with translate_errors(self._engine.url), autocommit_connection(self._engine) as connection:
                return connection.execute(_INSERT_ANSWER.execution_options(preserve_rowcount=True), row).rowcount == 1
        except IntegrityError:
            return False

    def check_writable(self) -> None:
        if not self._may_insert:
            problem = f"The store {show_url(self._engine.url)} is read-only and lacks an answer that is needed"
            consequence = "no request was made, since the reply could not be cached"
            raise StoreError(f"{problem}; {consequence}.", "Use a writable store, or a copy of this one.")

    @cached_property
    def _may_insert(self) -> bool:
        if self._engine.dialect.name == "postgresql":
            privilege_query = sa.select(sa.func.has_table_privilege(_ANSWERS.name, "INSERT"))
            return bool(fetch_rows(self._engine, privilege_query)[0][0])
        return not self._read_only

    def count(self) -> int:
        return int(fetch_rows(self._engine, sa.select(sa.func.count()).select_from(_ANSWERS))[0][0])


def answer_digest(request_digest: str, text: str) -> str:
    """Return the digest of a request with its reply, so that replies swapped in the store count as damaged."""
    return digest_text(f"{request_digest}\n{text}")


def read_reply(request_digest: str, text: str, reply_digest: str) -> dict[str, Any]:
    """Return the reply in `text`; raise `DamagedAnswer` if it does not match its digest or is no JSON object."""
    hint = "See: `rubriclab verify --repair`"
    if answer_digest(request_digest, text) != reply_digest:
        fault = f"The answer {request_digest} does not match its digest: it was changed after it was stored."
        raise DamagedAnswer(fault, hint)
    try:
        reply = json.loads(text)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise DamagedAnswer(f"The answer {request_digest} is not a JSON object.", hint)
    return reply


class BatchTable:
    """The open batches of a store: the `BatchStore` that its judges use."""

    def __init__(self, engine: sa.Engine) -> None:
        self.remote = not is_sqlite(engine.url)
        self._engine = with_write_lock(engine)

    def save(self, batch: OpenBatch) -> None:
        content = json.dumps(asdict(batch))
        with translate_errors(self._engine.url), Session(self._engine) as session:
            session.merge(BatchRow(key=batch.key, judge=batch.judge, created=batch.created, content=content))
            session.commit()

    def remove(self, key: str) -> None:
        with translate_errors(self._engine.url), Session(self._engine) as session:
            session.exec(delete(BatchRow).where(col(BatchRow.key) == key))
            session.commit()

    def list_open(self, judge: str | None = None) -> tuple[OpenBatch, ...]:
        batches: list[OpenBatch] = []
        table = METADATA.tables[BatchRow.__tablename__].c
        query = sa.select(table.key, table.content).order_by(table.created, table.key)
        for row in fetch_rows(self._engine, query if judge is None else query.where(table.judge == judge)):
            try:
                batches.append(read_batch(row.key, row.content))
            except StoreError as error:
                _log.warning("left out: %s", error.text)
        return tuple(batches)


def read_batch(key: str, content: str) -> OpenBatch:
    from rubriclab.judges.batch import OpenBatch

    try:
        return TypeAdapter(OpenBatch).validate_json(content)
    except ValidationError as error:
        raise StoreError(f"The batch {key} is no OpenBatch: {first_fault(error)}.", "See: `rubriclab verify`") from None


# The number of the schema, which increases when a release changes the tables. Older stores are upgraded: those of
# schema 1 only lack a table, which is created.
SCHEMA, EARLIER_SCHEMA = "2", "1"
SCHEMA_TABLE = sa.Table("rubriclab_schema", sa.MetaData(), sa.Column("number", sa.String(32), primary_key=True))
# Tables whose rows never change, each with the condition under which a new row would replace an old one.
IMMUTABLE = {
    "versions": "name = NEW.name AND number = NEW.number",
    "rubrics": "digest = NEW.digest",
    "human_judgments": "number = NEW.number OR id = NEW.id",
}
# The key of PostgreSQL's advisory lock: an arbitrary number (`rubric` in ASCII), the same in every process.
ADVISORY_LOCK_KEY = 0x72_75_62_72_69_63


def prepare_schema(engine: sa.Engine, *, read_only: bool = False) -> None:
    """Create or upgrade the tables in the database of `engine`. Several processes may do so at once.

    Raises `StoreError` if the database has an unknown schema, or lacks tables and is opened only for reading.
    """
    with translate_errors(engine.url):
        with engine.connect() as connection:
            if has_current_schema(connection):
                return
        if read_only:
            fault = f"The store {show_url(engine.url)} lacks tables of schema {SCHEMA!r} and is opened read-only."
            raise StoreError(fault, "Open the store once where it can be written, or use a copy: `store=COPY`.")
        with with_write_lock(engine).begin() as connection:
            dialect = connection.dialect.name
            if dialect == "postgresql":
                # Other processes wait until the transaction ends; on SQLite the write lock does that.
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK_KEY})
            if has_current_schema(connection):
                return
            METADATA.create_all(connection)
            if sa.inspect(connection).has_table(SCHEMA_TABLE.name):
                connection.execute(sa.update(SCHEMA_TABLE).values(number=SCHEMA))
                return
            # Triggers protect the immutable tables. Databases other than SQLite and PostgreSQL have none.
            file = Path(__file__).with_name(f"triggers_{dialect}.sql")
            statements = file.read_text("utf-8").strip().split("\n\n") if file.exists() else []
            for (table, is_same_row), statement in product(IMMUTABLE.items(), statements):
                connection.exec_driver_sql(statement.format(table=table, is_same_row=is_same_row))
            SCHEMA_TABLE.create(connection)
            connection.execute(sa.insert(SCHEMA_TABLE).values(number=SCHEMA))


def has_current_schema(connection: sa.Connection) -> bool:
    """Return whether tables of the current schema exist; raise `StoreError` if they have an unknown schema."""
    if not sa.inspect(connection).has_table(SCHEMA_TABLE.name):
        return False
    number = connection.execute(sa.select(SCHEMA_TABLE.c.number)).scalar()
    if number not in (SCHEMA, EARLIER_SCHEMA):
        fault = f"The store {show_url(connection.engine.url)} has schema {number!r}; expected {SCHEMA!r}."
        hint = "It was written by another version of rubriclab: use that one, or another store: `store=PATH`."
        raise StoreError(fault, hint)
    return bool(number == SCHEMA)
