"""Where a store lives, and how its database is spoken to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import platformdirs
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError

from rubriclab.errors import StoreError

# Seconds that a writer waits for another process's commit.
TIMEOUT = 30


def address(where: str | Path | None) -> URL:
    """Return the database URL of `where`: a URL, a path to an SQLite file, or `None` for the user's own store.

    Raises:
        StoreError: if a URL is not of the form that SQLAlchemy reads.
    """
    if where is None:
        where = platformdirs.user_data_path("rubriclab", appauthor=False) / "store.db"
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite", database=str(Path(where).expanduser()))
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise _not_understood() from None
    is_postgresql = url.drivername in ("postgresql", "postgres")
    return url.set(drivername="postgresql+psycopg") if is_postgresql else url


def shown(url: URL) -> str:
    """Return `url` as messages show it: a plain path for SQLite, and neither password nor options otherwise."""
    return url.database or ":memory:" if is_sqlite(url) else str(url.set(query={}))


def is_sqlite(url: URL) -> bool:
    """Return whether `url` names an SQLite database."""
    return url.get_backend_name() == "sqlite"


def make_engine(url: URL) -> Engine:
    """Return an engine for `url`, making the folders above an SQLite file.

    Raises:
        StoreError: if the folders cannot be made, or the database's driver is not installed.
    """
    try:
        return _sqlite(url) if is_sqlite(url) else create_engine(url, pool_pre_ping=True)
    except ArgumentError as error:
        if not isinstance(error, NoSuchModuleError):
            raise _not_understood() from None
        raise _no_driver(url, error) from None
    except ImportError as error:
        raise _no_driver(url, error) from None


@contextmanager
def guarded(url: URL) -> Iterator[None]:
    """Turn the database's failures into a StoreError; conflicts of keys pass, for the caller to resolve."""
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0]
        raise StoreError(f"The store {shown(url)} cannot be used: {reason}.") from error


def writing(engine: Engine) -> Engine:
    """Return `engine` with transactions that hold SQLite's write lock from the start.

    One that reads first and asks for the lock later fails at once if another process wrote in between.
    """
    return engine.execution_options(writes=True)


def autocommitting(engine: Engine) -> Connection:
    """Return a connection of `engine` on which every statement is committed as it is executed."""
    if is_sqlite(engine.url):
        return engine.connect().execution_options(autocommit=True)
    return engine.connect().execution_options(isolation_level="AUTOCOMMIT")


def _not_understood() -> StoreError:
    # The address is not repeated, since it may hold a password.
    return StoreError("The store's address is not understood.", "Write a path, or a URL: postgresql://user@host/name.")


def _no_driver(url: URL, error: Exception) -> StoreError:
    is_postgresql = url.drivername == "postgresql+psycopg"
    hint = "pip install 'rubriclab[postgresql]'" if is_postgresql else "the driver that such an address needs."
    return StoreError(f"No driver for {shown(url)} is installed ({error}).", f"Install it: {hint}")


def _sqlite(url: URL) -> Engine:
    if url.database and url.database != ":memory:" and not url.query:
        try:
            Path(url.database).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"The folder of {shown(url)} cannot be made: {error.strerror}.") from None
    # Python's sqlite3 would begin transactions by itself, and only before writes; here SQLAlchemy's events do.
    engine = create_engine(url, connect_args={"timeout": TIMEOUT, "isolation_level": None})
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def _set_pragmas(connection: sqlite3.Connection, _record: Any) -> None:
    for pragma in ("foreign_keys = ON", "journal_mode = WAL", "synchronous = NORMAL"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("autocommit"):
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN DEFERRED")
