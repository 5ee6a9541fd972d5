"""A judge's answers, kept the moment they arrive.

SQLAlchemy's Core on one held connection in which every statement is its own commit: measured on SQLite, a pool and a
transaction around each call cost three times as much, and the ORM more than that.
"""

from __future__ import annotations

import json
import threading
from typing import Any

from sqlalchemy import Connection, CursorResult, bindparam, func, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql import Executable

from rubriclab.digest import canonical
from rubriclab.errors import StoreError
from rubriclab.store.engine import guarded
from rubriclab.store.tables import METADATA, AnswerRow, now

_TABLE = METADATA.tables[AnswerRow.__tablename__]
_INSERT = insert(_TABLE)
_REPLY = select(_TABLE.c.reply).where(_TABLE.c.digest == bindparam("wanted"))
_COUNT = select(func.count()).select_from(_TABLE)


class AnswerTable:
    """Replies by the digest of their request. Safe to use from several threads and processes at once."""

    def __init__(self, connection: Connection) -> None:
        """Use `connection`, which commits every statement by itself, alone from now on."""
        self._connection = connection
        self._lock = threading.Lock()

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the reply kept under `digest`, or `None`.

        Raises:
            StoreError: if the reply cannot be read back, or the database fails.
        """
        with self._lock:
            text = self._execute(_REPLY, wanted=digest).scalar()
        return None if text is None else read_reply(digest, text)

    def put(self, digest: str, reply: dict[str, Any]) -> None:
        """Keep `reply` (JSON types only) under `digest`, for good once this returns; the first reply stays.

        Raises:
            ValueError: if `reply` holds NaN or an infinity.
            StoreError: if the database fails.
        """
        text = canonical(reply)
        with self._lock:
            try:
                self._execute(_INSERT, digest=digest, reply=text, created=now())
            except IntegrityError:
                return

    def count(self) -> int:
        """Return how many answers are kept."""
        with self._lock:
            return int(self._execute(_COUNT).scalar_one())

    def _execute(self, statement: Executable, **values: Any) -> CursorResult[Any]:
        with guarded(self._connection.engine.url):
            try:
                return self._connection.execute(statement, values)
            except BaseException:
                # Without it a connection that was lost or interrupted stays unusable.
                self._connection.rollback()
                raise


def read_reply(digest: str, text: str) -> dict[str, Any]:
    """Return the reply that `text` holds.

    Raises:
        StoreError: if it is not a JSON object.
    """
    try:
        reply = json.loads(text)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise StoreError(f"The answer {digest} is not a JSON object;", "the store was changed by other means.")
    return reply
