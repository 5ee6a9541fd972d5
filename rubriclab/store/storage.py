"""Sizes of what a store holds, removal of cached answers, and giving back their space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    LargeBinary,
    Select,
    Table,
    cast,
    delete,
    func,
    literal_column,
    select,
    text,
)
from sqlmodel import Session

from rubriclab.errors import StoreError
from rubriclab.store.engine import TIMEOUT, autocommitting, guarded, is_sqlite, shown
from rubriclab.store.orm import METADATA, AnswerRow

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
# Answers that are looked at in one transaction; other processes can write between two. Each transaction writes most
# pages of an SQLite index anew, so that smaller ones take longer in all.
CHUNK = 10_000

_ANSWERS = METADATA.tables[AnswerRow.__tablename__]


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


@dataclass(frozen=True, slots=True)
class Pruned:
    """Answers of one step that were removed, or would be.

    Attributes:
        rows: their number.
        bytes: of their replies.
        last: the key after which the next step begins; `None` after the last step.
    """

    rows: int = 0
    bytes: int = 0
    last: Any = None


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


def space_of(connection: Connection) -> Space:
    """Return the space that the database takes."""
    if connection.dialect.name == "sqlite":
        pages, free, size = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("page_count", "freelist_count", "page_size")
        )
        return Space(pages * size, free * size)
    if connection.dialect.name == "postgresql":
        tables = [connection.dialect.identifier_preparer.format_table(table) for table in METADATA.tables.values()]
        total = sum(
            connection.execute(text("SELECT pg_total_relation_size(to_regclass(:name))"), {"name": name}).scalar_one()
            for name in tables
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
    with guarded(engine.url), autocommitting(engine) as connection:
        if is_sqlite(engine.url):
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").all()
        elif connection.dialect.name == "postgresql":
            _vacuum_postgresql(connection)
        else:
            raise StoreError(
                f"The store {shown(engine.url)} is neither SQLite nor PostgreSQL; expected one of these to vacuum.",
                "Use the tools of this database.",
            )


def _vacuum_postgresql(connection: Connection) -> None:
    connection.exec_driver_sql(f"SET lock_timeout = '{TIMEOUT}s'")
    try:
        for table in METADATA.tables.values():
            name = connection.dialect.identifier_preparer.format_table(table)
            connection.exec_driver_sql(f"VACUUM (FULL, ANALYZE) {name}")
    finally:
        connection.exec_driver_sql("RESET lock_timeout")


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


def prune_step(session: Session, after: Any, before: str, *, dry_run: bool = False) -> Pruned:
    """Remove some of the answers that were cached earlier than `before`.

    Args:
        after: `last` of the step before; `None` to begin.
        before: a stored time.
        dry_run: whether they are only counted.
    """
    key = _key(session)
    candidates = (
        select(key.label("place"), _octets(session.connection(), _ANSWERS.c.reply))
        .where(_ANSWERS.c.created < before)
        .order_by(key)
        .limit(CHUNK)
    )
    if after is not None:
        candidates = candidates.where(key > after)
    rows = session.execute(candidates).all()
    if rows and not dry_run:
        session.execute(delete(_ANSWERS).where(key.in_([place for place, _ in rows])))
    return Pruned(len(rows), sum(size for _, size in rows), rows[-1].place if rows else None)


def _key(session: Session) -> Column[Any]:
    """Return the column whose order is that of the table on the disk where there is one."""
    if session.get_bind().dialect.name == "sqlite":
        return literal_column("answers.rowid")  # type: ignore[return-value]
    return _ANSWERS.c.digest
