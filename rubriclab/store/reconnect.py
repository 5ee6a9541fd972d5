"""Statements on a database whose server may drop connections, repeated with backoff for a limited time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, CursorResult, Engine, Row, Select
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.sql.dml import UpdateBase

from rubriclab.errors import StoreError, StoreUnavailable
from rubriclab.option_names import RUN_AGAIN
from rubriclab.store.engine import autocommitting, guarded, is_sqlite, reason, shown

T = TypeVar("T")
Statement = Select[Any] | UpdateBase
Values = Mapping[str, str | bytes | None]
NOTHING: Values = {}

_COUNTED = {"preserve_rowcount": True}

# Seconds without the server after which the command ends, and between two attempts.
PATIENCE = 30.0
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0

# SQLSTATE codes of a server that shuts down, starts up, or has no connections left; class 08 are connection errors.
AWAY = ("57P01", "57P02", "57P03", "57P05", "53300")

_log = logging.getLogger(__name__)


def persistently(engine: Engine, attempt: Callable[[], T], patience: float = PATIENCE) -> T:
    """Return the result of `attempt`, repeated while the database's server is unreachable.

    It blocks its thread while it waits, so an event loop has to call it in another thread. `attempt` has to be safe to
    repeat: it may have succeeded, and only the server's reply been lost.

    Raises:
        StoreUnavailable: if the server is unreachable for `patience` seconds, or the database fails otherwise.
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
            _log.warning("%s The next attempt follows in %.1f s.", error, pause)
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _is_away(engine: Engine, error: BaseException | None) -> bool:
    if is_sqlite(engine.url) or not isinstance(error, DBAPIError):
        return False
    code = getattr(error.orig, "sqlstate", None)
    # Errors without a code are the driver's: no server, or a lost connection.
    lost = code is None or code.startswith("08") or code in AWAY
    return error.connection_invalidated or (isinstance(error, OperationalError) and lost)


def _unreachable(engine: Engine, error: BaseException | None, patience: float) -> StoreUnavailable:
    said = reason(error) if isinstance(error, DBAPIError) else "no reply"
    return StoreUnavailable(
        f"The store {shown(engine.url)} has been unreachable for {patience:g} seconds: {said}.",
        f"{RUN_AGAIN} once the database is back; cached answers are not requested again.",
    )


class HeldConnection:
    """A connection on which every statement commits, reopened when the server has dropped it.

    On SQLite a pool and a transaction around each statement take three times as long. Safe to use from several
    threads. Statements have to be safe to repeat.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._statements: dict[Statement, Any] = {}

    def rows(self, statement: Statement, values: Values = NOTHING) -> Sequence[Row[Any]]:
        """Return the rows of a query.

        Raises:
            StoreUnavailable: if the database fails.
        """
        with self._lock:
            return persistently(self._engine, lambda: self._execute(statement, values, CursorResult.all))

    def change(self, statement: Statement, values: Values = NOTHING, *, patience: float = PATIENCE) -> int:
        """Return the number of rows written or deleted.

        Raises:
            IntegrityError: if a key exists.
            StoreUnavailable: if the database fails.
        """
        with self._lock:
            return persistently(self._engine, lambda: self._execute(statement, values, _count), patience)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection:
                connection.close()

    def _compiled(self, statement: Statement, values: Values) -> tuple[str, Any]:
        """Return the SQL of a statement and its parameters in the form of the driver.

        Each statement is compiled once: to find it in SQLAlchemy's cache takes as long as SQLite takes to run it.
        """
        compiled = self._statements.get(statement)
        if compiled is None:
            compiled = self._statements[statement] = statement.compile(
                dialect=self._engine.dialect, column_keys=sorted(values)
            )
        parameters = compiled.construct_params(values)
        if compiled.positiontup is not None:
            return compiled.string, tuple(parameters[name] for name in compiled.positiontup)
        return compiled.string, parameters

    def _execute(self, statement: Statement, values: Values, take: Callable[[CursorResult[Any]], T]) -> T:
        if self._connection is None:
            # Once for all statements: to merge options into each takes as long as SQLite takes to find a row.
            self._connection = autocommitting(self._engine).execution_options(**_COUNTED)
        try:
            text, parameters = self._compiled(statement, values)
            return take(self._connection.exec_driver_sql(text, parameters))
        except BaseException:
            # A lost or interrupted connection is unusable until a rollback. One that SQLAlchemy reopens by itself would
            # no longer commit each statement.
            self._connection.rollback()
            if self._connection.invalidated:
                self.close()
            raise


def _count(result: CursorResult[Any]) -> int:
    return int(result.rowcount)
