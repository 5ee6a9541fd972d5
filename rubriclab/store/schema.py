"""The store's schema, migrated on opening. Alembic (0.4 s to import) is imported only if there is work."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from rubriclab.errors import StoreError
from rubriclab.option_names import option
from rubriclab.store.engine import guarded, make_engine, may_write, shown, writing

SCRIPTS = Path(__file__).parent / "migrations"
VERSION_TABLE = "rubriclab_schema"

# All migrations, oldest first; a test compares them with the scripts.
REVISIONS = ("0001", "0002", "0003", "0004", "0005")

# An arbitrary number, the same in every process.
LOCK = 0x72_75_62_72_69_63


def prepare(engine: Engine, *, read_only: bool = False) -> None:
    """Migrate the database of `engine` to the newest schema. Several processes may do so at once.

    The file of a `read_only` engine is migrated too if it is writable.

    Raises:
        StoreError: if the database cannot be opened, is no database, was written by another version of rubriclab, or
            needs a migration and is not writable.
    """
    with guarded(engine.url):
        with engine.connect() as connection:
            done, stamped = is_current(connection), _stamped(connection)
        if done:
            return
        if not read_only:
            _migrate(engine)
        elif may_write(engine.url):
            writable = make_engine(engine.url)
            _migrate(writable)
            writable.dispose()
        else:
            raise _outdated(engine, stamped)


def _migrate(engine: Engine) -> None:
    with writing(engine).begin() as connection:
        _lock(connection)
        if not is_current(connection):
            _upgrade(connection)


def _outdated(engine: Engine, stamped: str | None) -> StoreError:
    schema = f"schema {stamped!r}" if stamped else "no tables"
    return StoreError(
        f"The store {shown(engine.url)} has {schema}; expected schema {REVISIONS[-1]!r}. It is read-only here.",
        f"Open it once where it can be written, or use a copy: {option('store', 'COPY')}.",
    )


def is_current(connection: Connection) -> bool:
    """Return whether every migration has been applied.

    Raises:
        StoreError: if an unknown one has been.
    """
    stamped = _stamped(connection)
    if stamped not in (None, *REVISIONS):
        raise StoreError(
            f"The store {shown(connection.engine.url)} has schema {stamped!r}; expected {REVISIONS[-1]!r}.",
            "It was written by another version of rubriclab: use that one, or another store: "
            f"{option('store', 'PATH')}.",
        )
    return stamped == REVISIONS[-1]


def _stamped(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()


def _lock(connection: Connection) -> None:
    """Block migrations by other processes until the transaction ends; on SQLite the write lock does that."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
