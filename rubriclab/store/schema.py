"""The store's schema, brought up to date on opening. Alembic (0.4 s to import) is asked only if there is work."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from rubriclab.errors import StoreError
from rubriclab.store.engine import guarded, make_engine, may_write, shown, writing

SCRIPTS = Path(__file__).parent / "migrations"
VERSION_TABLE = "rubriclab_schema"

# All migrations, oldest first; a test holds this against the scripts.
REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")

# Any number will do, as long as every process takes the same.
LOCK = 0x72_75_62_72_69_63


def prepare(engine: Engine, *, read_only: bool = False) -> None:
    """Bring the database behind `engine` to the newest schema. Several processes may do so at once.

    A `read_only` engine is for reading a file; the file is brought up to date all the same if it can be written.

    Raises:
        StoreError: if the database cannot be opened, is none, was written by a newer rubriclab, or needs to be brought
            up to date and may only be read.
    """
    with guarded(engine.url):
        with engine.connect() as connection:
            done, found = is_current(connection), _stamped(connection)
        if done:
            return
        if not read_only:
            _migrate(engine)
        elif may_write(engine.url):
            able = make_engine(engine.url)
            _migrate(able)
            able.dispose()
        else:
            raise _outdated(engine, found)


def _migrate(engine: Engine) -> None:
    with writing(engine).begin() as connection:
        _lock(connection)
        if not is_current(connection):
            _upgrade(connection)


def _outdated(engine: Engine, found: str | None) -> StoreError:
    schema = f"has schema {found!r}, which is older than {REVISIONS[-1]!r}" if found else "has no tables yet"
    return StoreError(
        f"The store {shown(engine.url)} {schema}, and may only be read.",
        "Open it once where it can be written, for example with `rubriclab list`, or read a copy of it.",
    )


def is_current(connection: Connection) -> bool:
    """Return whether every migration has been applied.

    Raises:
        StoreError: if an unknown one has been.
    """
    stamped = _stamped(connection)
    if stamped not in (None, *REVISIONS):
        raise StoreError(
            f"The store {shown(connection.engine.url)} has schema {stamped!r}; this rubriclab knows {REVISIONS[-1]!r} "
            "at most.",
            "It was written by a newer version: upgrade rubriclab.",
        )
    return stamped == REVISIONS[-1]


def _stamped(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()


def _lock(connection: Connection) -> None:
    """Keep other processes from migrating until the transaction ends; on SQLite its write lock does that."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
