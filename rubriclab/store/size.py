"""How much a store holds, by kind, and giving back the space of what was removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, LargeBinary, Select, Table, cast, func, select, text

from rubriclab.errors import StoreError
from rubriclab.store.engine import TIMEOUT, autocommitting, guarded, is_sqlite, shown
from rubriclab.store.orm import METADATA, AnswerRow

# The tables, by what their rows are called.
KINDS = {
    "versions": "versions",
    "rubrics": "rubrics",
    "trainings": "training records",
    "used_answers": "records of used answers",
    "tags": "tags",
    "confirmations": "confirmations",
    "corrections": "corrections of labels",
    "human_judgments": "ratings by people",
    "answers": "cached answers",
    "leases": "requests in flight",
    "batches": "open batches",
    "shared_states": "shared budgets and limits",
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


def octets(connection: Connection, column: Any) -> Any:
    """Return the expression for the number of bytes of a text or binary column."""
    if connection.dialect.name == "sqlite":
        # octet_length came with SQLite 3.43.
        return func.length(cast(column, LargeBinary))
    return func.octet_length(column)


def _size(connection: Connection, table: Table, *more: Any) -> Select[Any]:
    """Return the query for the number of rows and the bytes of their texts and binary values."""
    columns = [column for column in table.c if column.type.python_type in (str, bytes)]
    content = sum((func.coalesce(octets(connection, column), 0) for column in columns), start=0)
    return select(func.count(), func.sum(content), *more).select_from(table)
