"""The store's schema: the tables of `rubriclab.store.orm`, and triggers that refuse changes of what never changes."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, insert, inspect, select, text

from rubriclab.errors import StoreError
from rubriclab.option_names import option
from rubriclab.store.engine import guarded, make_engine, may_write, shown, writing
from rubriclab.store.orm import METADATA

# The number of the schema. A release that changes the tables increases it and says how older stores are upgraded.
SCHEMA = "1"
SCHEMA_TABLE = Table("rubriclab_schema", MetaData(), Column("number", String(32), primary_key=True))
# Tables whose rows never change, each with the condition under which a new row would replace an old one.
IMMUTABLE = {
    "versions": "name = NEW.name AND number = NEW.number",
    "rubrics": "digest = NEW.digest",
    "human_judgments": "number = NEW.number OR id = NEW.id",
}
# An arbitrary number, the same in every process.
LOCK = 0x72_75_62_72_69_63


def prepare(engine: Engine, *, read_only: bool = False) -> None:
    """Create the schema in the database of `engine` if it has none. Several processes may do so at once.

    The file of a `read_only` engine gets it too if it is writable.

    Raises:
        StoreError: if the database cannot be opened, is no database, was written by another version of rubriclab, or
            has no schema and is not writable.
    """
    with guarded(engine.url):
        with engine.connect() as connection:
            done = is_current(connection)
        if done:
            return
        if not read_only:
            _create(engine)
        elif may_write(engine.url):
            writable = make_engine(engine.url)
            _create(writable)
            writable.dispose()
        else:
            raise StoreError(
                f"The store {shown(engine.url)} has no tables; expected schema {SCHEMA!r}. It is read-only here.",
                f"Open it once where it can be written, or use a copy: {option('store', 'COPY')}.",
            )


def is_current(connection: Connection) -> bool:
    """Return whether the database has the schema; `False` if it has none.

    Raises:
        StoreError: if it has another one.
    """
    if not inspect(connection).has_table(SCHEMA_TABLE.name):
        return False
    number = connection.execute(select(SCHEMA_TABLE.c.number)).scalar()
    if number != SCHEMA:
        raise StoreError(
            f"The store {shown(connection.engine.url)} has schema {number!r}; expected {SCHEMA!r}.",
            "It was written by another version of rubriclab: use that one, or another store: "
            f"{option('store', 'PATH')}.",
        )
    return True


def _create(engine: Engine) -> None:
    with writing(engine).begin() as connection:
        dialect = connection.dialect.name
        if dialect == "postgresql":
            # Other processes wait until the transaction ends; on SQLite the write lock does that.
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        if is_current(connection):
            return
        METADATA.create_all(connection)
        for statement in _triggers(dialect):
            connection.exec_driver_sql(statement)
        SCHEMA_TABLE.create(connection)
        connection.execute(insert(SCHEMA_TABLE).values(number=SCHEMA))


def _triggers(dialect: str) -> Iterator[str]:
    if dialect == "postgresql":
        yield (
            "CREATE FUNCTION rubriclab_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION '%% never change', TG_TABLE_NAME; END $$"
        )
    for table, same in IMMUTABLE.items():
        if dialect == "postgresql":
            yield (
                f"CREATE TRIGGER {table}_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION rubriclab_refuse()"
            )
        elif dialect == "sqlite":
            refuse = f"BEGIN SELECT RAISE(ABORT, '{table} never change'); END"
            yield f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {refuse}"
            yield f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {refuse}"
            # INSERT OR REPLACE removes the old row without firing the delete trigger.
            yield (
                f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} "
                f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same}) {refuse}"
            )
