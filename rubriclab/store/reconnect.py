"""Work on a database whose server may drop its connections: repeated with backoff, for a bounded time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, CursorResult, Engine, Row
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.sql import Executable

from rubriclab.errors import StoreError
from rubriclab.store.engine import autocommitting, guarded, is_sqlite, reason, shown

T = TypeVar("T")
Values = Mapping[str, str]
NOTHING: Values = {}

# Seconds without the server after which the command ends, and between two attempts: a restart takes a few.
PATIENCE = 30.0
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0

# SQLSTATE codes of a server that ends connections, starts up, or has none left; class 08 is the connection's own.
AWAY = ("57P01", "57P02", "57P03", "57P05", "53300")


def persistently(engine: Engine, attempt: Callable[[], T], patience: float = PATIENCE) -> T:
    """Return what `attempt` returns, repeated while the database's server cannot be reached.

    It blocks its thread while it waits. On an event loop everything else waits too, and replies that arrive meanwhile
    may count as late: without its store a command has nowhere to keep them.

    `attempt` has to be safe to repeat: its first try may have been carried out, and only the reply to it lost.

    Raises:
        StoreError: if the server stays away for `patience` seconds, or the database fails otherwise.
    """
    pause, until = FIRST_PAUSE, None
    while True:
        try:
            with guarded(engine.url):
                return attempt()
        except StoreError as error:
            if not _is_away(engine, error.__cause__):
                raise
            now = time.monotonic()
            until = until or now + patience
            if now + pause > until:
                raise _unreachable(engine, error.__cause__, patience) from error.__cause__
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _is_away(engine: Engine, error: BaseException | None) -> bool:
    if is_sqlite(engine.url) or not isinstance(error, DBAPIError):
        return False
    code = getattr(error.orig, "sqlstate", None)
    # Without a code the driver speaks for itself: it found no server, or no longer the one that it spoke to.
    lost = code is None or code.startswith("08") or code in AWAY
    return error.connection_invalidated or (isinstance(error, OperationalError) and lost)


def _unreachable(engine: Engine, error: BaseException | None, patience: float) -> StoreError:
    said = reason(error) if isinstance(error, DBAPIError) else "no reply"
    return StoreError(
        f"The store {shown(engine.url)} has not been reachable for {patience:g} seconds: {said}.",
        "Answers so far are kept: run the same command again once the database is back.",
    )


class HeldConnection:
    """One connection on which every statement is its own commit, reopened when the server has dropped it.

    Measured on SQLite, a pool and a transaction around each statement cost three times as much. Safe to use from
    several threads. Statements have to be safe to repeat.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.RLock()
        self._connection: Connection | None = None

    def rows(self, statement: Executable, values: Values = NOTHING) -> Sequence[Row[Any]]:
        """Return the rows that `statement` selects.

        Raises:
            StoreError: if the database fails.
        """
        with self._lock:
            return persistently(self._engine, lambda: self._execute(statement, values, CursorResult.all))

    def change(self, statement: Executable, values: Values = NOTHING, *, patience: float = PATIENCE) -> int:
        """Return how many rows `statement` wrote or deleted.

        Raises:
            IntegrityError: if a key is taken.
            StoreError: if the database fails.
        """
        with self._lock:
            return persistently(self._engine, lambda: self._execute(statement, values, _count), patience)

    def close(self) -> None:
        """Give the connection back."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection:
                connection.close()

    def _execute(self, statement: Executable, values: Values, take: Callable[[CursorResult[Any]], T]) -> T:
        if self._connection is None:
            self._connection = autocommitting(self._engine)
        try:
            return take(self._connection.execute(statement, values))
        except BaseException:
            # A connection that was lost or interrupted stays unusable until then; one that SQLAlchemy reopens by itself
            # would no longer commit each statement.
            self._connection.rollback()
            if self._connection.invalidated:
                self.close()
            raise


def _count(result: CursorResult[Any]) -> int:
    return int(result.rowcount)
