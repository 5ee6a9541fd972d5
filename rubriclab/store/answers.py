"""Answers of judges, cached in a store; the space that they take; and the batches that providers are processing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    LargeBinary,
    Row,
    Select,
    Table,
    bindparam,
    cast,
    delete,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from rubriclab.errors import DamagedAnswer, StoreError
from rubriclab.judges.batch import OpenBatch
from rubriclab.models.base import PREFIX, canonical, digest_text
from rubriclab.models.characters import one_line
from rubriclab.store.tables import (
    METADATA,
    NAME,
    TIMEOUT,
    AnswerRow,
    BatchRow,
    autocommit_connection,
    execute_change,
    fetch_rows,
    is_sqlite,
    now,
    show_url,
    translate_errors,
)

_ANSWERS = METADATA.tables[AnswerRow.__tablename__]
_INSERT = insert(_ANSWERS)
_REPLY = select(_ANSWERS.c.reply, _ANSWERS.c.reply_digest).where(_ANSWERS.c.digest == bindparam("wanted"))
_PRIVILEGE = select(func.has_table_privilege(_ANSWERS.name, "INSERT"))
_COUNT = select(func.count()).select_from(_ANSWERS)


class AnswerTable:
    """Replies by the digest of their request. Safe to use from several threads and processes.

    Attributes:
        remote: whether calls wait for a network; an SQLite file answers faster than a thread starts.
    """

    def __init__(self, engine: Engine, *, read_only: bool = False) -> None:
        """Use connections of `engine`; if `read_only`, nothing can be cached."""
        self.remote = not is_sqlite(engine.url)
        self._engine = engine
        self._read_only = read_only

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the reply cached under `digest`, or `None`.

        Raises:
            DamagedAnswer: if the reply is not as it was written.
            StoreError: if the database fails.
        """
        rows = fetch_rows(self._engine, _REPLY, {"wanted": digest})
        return read_reply(digest, rows[0].reply, rows[0].reply_digest) if rows else None

    def put(self, digest: str, reply: dict[str, Any]) -> bool:
        """Return whether `reply` (JSON types only) was cached under `digest`; the first reply stays.

        Raises:
            ValueError: if `reply` holds NaN or an infinity.
            StoreError: if the database fails.
        """
        text = canonical(reply)
        row = {
            "digest": digest,
            "reply": text,
            "reply_digest": answer_digest(digest, text),
            "created": now(),
            # A provider may send any text.
            "model": one_line(model)[:NAME] if isinstance(model := reply.get("model"), str) else None,
        }
        try:
            return execute_change(self._engine, _INSERT, row) == 1
        except IntegrityError:
            return False

    def check_writable(self) -> None:
        """Check that an answer could be cached.

        Raises:
            StoreError: if the store is read-only.
        """
        if not self._may_insert:
            raise StoreError(
                f"The store {show_url(self._engine.url)} is read-only and lacks an answer that is needed; no request "
                "was made, since the reply could not be cached.",
                "Use a writable store, or a copy of this one.",
            )

    @cached_property
    def _may_insert(self) -> bool:
        if self._engine.dialect.name == "postgresql":
            return bool(fetch_rows(self._engine, _PRIVILEGE)[0][0])
        return not self._read_only

    def count(self) -> int:
        """Return the number of cached answers."""
        return int(fetch_rows(self._engine, _COUNT)[0][0])


def answer_digest(digest: str, text: str) -> str:
    """Return the digest over a stored reply and its request, so that replies cannot be swapped."""
    return digest_text(f"{digest}\n{text}")


def read_reply(digest: str, text: str, reply_digest: str) -> dict[str, Any]:
    """Return the reply in `text`.

    Raises:
        DamagedAnswer: if it does not match its digest, or is not a JSON object.
    """
    hint = "See: rubriclab verify --repair"
    if answer_digest(digest, text) != reply_digest:
        raise DamagedAnswer(f"The answer {digest} does not match its digest: it was changed after it was stored.", hint)
    try:
        reply = json.loads(text)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise DamagedAnswer(f"The answer {digest} is not a JSON object.", hint)
    return reply


_BATCHES = METADATA.tables[BatchRow.__tablename__]
_COLUMNS = tuple(column.name for column in _BATCHES.c)
_ALL = select(_BATCHES).order_by(_BATCHES.c.created, _BATCHES.c.key)
_OF_JUDGE = _ALL.where(_BATCHES.c.judge == bindparam("wanted"))
_SET_ID = update(_BATCHES).where(_BATCHES.c.key == bindparam("wanted")).values(batch_id=bindparam("made"))
_INSERT_BATCH = insert(_BATCHES)
_REMOVE = delete(_BATCHES).where(_BATCHES.c.key == bindparam("wanted"))
# Bytes of a SHA-256 digest.
SIZE = 32


class BatchTable:
    """Open batches. Safe to use from several threads and processes.

    Attributes:
        remote: whether calls wait for a network.
    """

    def __init__(self, engine: Engine) -> None:
        self.remote = not is_sqlite(engine.url)
        self._engine = engine

    def add(self, batch: OpenBatch) -> None:
        """Store a batch.

        Raises:
            StoreError: if the database fails.
        """
        packed = b"".join(bytes.fromhex(digest.removeprefix(PREFIX)) for digest in batch.requests)
        values = {name: getattr(batch, name) for name in _COLUMNS if name != "requests"}
        execute_change(self._engine, _INSERT_BATCH, {**values, "requests": packed})

    def set_id(self, key: str, batch_id: str) -> None:
        """Store the provider's id of a batch.

        Raises:
            StoreError: if the database fails.
        """
        execute_change(self._engine, _SET_ID, {"wanted": key, "made": batch_id})

    def remove(self, key: str) -> None:
        """Remove a batch, if it is there.

        Raises:
            StoreError: if the database fails.
        """
        execute_change(self._engine, _REMOVE, {"wanted": key})

    def open(self, judge: str | None = None) -> tuple[OpenBatch, ...]:
        """Return the batches of a judge, by the digest of its identity, or of all judges; the oldest first.

        Raises:
            StoreError: if the database fails.
        """
        query, values = (_ALL, None) if judge is None else (_OF_JUDGE, {"wanted": judge})
        return tuple(_read(row) for row in fetch_rows(self._engine, query, values))


def _read(row: Row[Any]) -> OpenBatch:
    values = row._asdict()
    packed = values["requests"]
    digests = (packed[at : at + SIZE].hex() for at in range(0, len(packed), SIZE))
    return OpenBatch(**{**values, "requests": tuple(f"{PREFIX}{digest}" for digest in digests)})


# The tables, by what their rows are called.
KINDS = {
    "versions": "versions",
    "rubrics": "rubrics",
    "trainings": "training records",
    "tags": "tags",
    "confirmations": "confirmations",
    "human_judgments": "ratings by people",
    "answers": "cached answers",
    "batches": "open batches",
}


@dataclass(frozen=True, slots=True)
class KindSize:
    """The rows of one kind.

    Attributes:
        kind: such as `versions`.
        model: for cached answers, the model that the provider reported; `None` if it reported none.
        rows: how many there are.
        bytes: of their content, without indexes and free space.
    """

    kind: str
    model: str | None
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Space:
    """The space that a database takes, in bytes.

    Attributes:
        total: all of it, with indexes and free space; `None` if the database does not say.
        free: what `vacuum` would give back; `None` if the database does not say.
    """

    total: int | None
    free: int | None


def sizes(connection: Connection) -> Iterator[KindSize]:
    """Yield the size of every kind, cached answers by model, the most first. Every row is read."""
    answers = AnswerRow.__tablename__
    for name, table in METADATA.tables.items():
        kind = KINDS.get(name, name)
        if name != answers:
            rows, content = connection.execute(_size(connection, table)).one()
            yield KindSize(kind, None, rows, int(content or 0))
            continue
        by_model = connection.execute(_size(connection, table, table.c.model).group_by(table.c.model))
        found = [KindSize(kind, model, rows, int(content or 0)) for rows, content, model in by_model]
        yield from sorted(found, key=lambda size: (-size.rows, size.model is None, size.model))


def measure_space(connection: Connection) -> Space:
    """Return the space that the database takes."""
    if connection.dialect.name == "sqlite":
        pages, free, size = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("page_count", "freelist_count", "page_size")
        )
        return Space(pages * size, free * size)
    if connection.dialect.name == "postgresql":
        total = sum(
            connection.execute(text("SELECT pg_total_relation_size(to_regclass(:name))"), {"name": name}).scalar_one()
            for name in _quoted_tables(connection)
        )
        return Space(int(total), None)
    return Space(None, None)


def vacuum(engine: Engine) -> None:
    """Give the space of removed rows back to the file system. Other processes wait meanwhile.

    SQLite writes a copy of the file, so that the disk needs as much free space as the store takes.

    Raises:
        StoreError: for a database of another kind.
        StoreUnavailable: if another process uses the store, or the disk is full.
    """
    with translate_errors(engine.url), autocommit_connection(engine) as connection:
        if is_sqlite(engine.url):
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").all()
        elif connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SET lock_timeout = '{TIMEOUT}s'")
            try:
                for name in _quoted_tables(connection):
                    connection.exec_driver_sql(f"VACUUM (FULL, ANALYZE) {name}")
            finally:
                connection.exec_driver_sql("RESET lock_timeout")
        else:
            raise StoreError(
                f"The store {show_url(engine.url)} is neither SQLite nor PostgreSQL; expected one of these to vacuum.",
                "Use the tools of this database.",
            )


def _quoted_tables(connection: Connection) -> list[str]:
    return [connection.dialect.identifier_preparer.format_table(table) for table in METADATA.tables.values()]


def _octets(connection: Connection, column: Any) -> Any:
    """Return the expression for the number of bytes of a text or binary column."""
    if connection.dialect.name == "sqlite":
        # octet_length came with SQLite 3.43.
        return func.length(cast(column, LargeBinary))
    return func.octet_length(column)


def _size(connection: Connection, table: Table, *more: Any) -> Select[Any]:
    """Return the query for the number of rows and the bytes of their texts and binary values."""
    columns = [column for column in table.c if column.type.python_type in (str, bytes)]
    content = sum((func.coalesce(_octets(connection, column), 0) for column in columns), start=0)
    return select(func.count(), func.sum(content), *more).select_from(table)


def count_answers(session: Session, before: str) -> tuple[int, int]:
    """Return how many answers were cached earlier than a stored time, and the bytes of their replies."""
    size = func.coalesce(func.sum(_octets(session.connection(), _ANSWERS.c.reply)), 0)
    rows, content = session.execute(select(func.count(), size).where(_ANSWERS.c.created < before)).one()
    return int(rows), int(content)
