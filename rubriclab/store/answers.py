"""The cache of judges' answers in a store."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from sqlalchemy import Engine, bindparam, func, insert, select
from sqlalchemy.exc import IntegrityError

from rubriclab.errors import DamagedAnswer, StoreError
from rubriclab.models.characters import one_line
from rubriclab.models.digest import canonical, digest_text
from rubriclab.option_names import command
from rubriclab.store.engine import change, is_sqlite, rows_of, shown
from rubriclab.store.orm import METADATA, NAME, AnswerRow, now

_TABLE = METADATA.tables[AnswerRow.__tablename__]
_INSERT = insert(_TABLE)
_REPLY = select(_TABLE.c.reply, _TABLE.c.reply_digest).where(_TABLE.c.digest == bindparam("wanted"))
_PRIVILEGE = select(func.has_table_privilege(_TABLE.name, "INSERT"))
_COUNT = select(func.count()).select_from(_TABLE)


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
        rows = rows_of(self._engine, _REPLY, {"wanted": digest})
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
            "model": _model_of(reply),
        }
        try:
            return change(self._engine, _INSERT, row) == 1
        except IntegrityError:
            return False

    def check_writable(self) -> None:
        """Check that an answer could be cached.

        Raises:
            StoreError: if the store is read-only.
        """
        if not self._may_insert:
            raise StoreError(
                f"The store {shown(self._engine.url)} is read-only and lacks an answer that is needed; no request was "
                "made, since the reply could not be cached.",
                "Use a writable store, or a copy of this one.",
            )

    @cached_property
    def _may_insert(self) -> bool:
        if self._engine.dialect.name == "postgresql":
            return bool(rows_of(self._engine, _PRIVILEGE)[0][0])
        return not self._read_only

    def count(self) -> int:
        """Return the number of cached answers."""
        return int(rows_of(self._engine, _COUNT)[0][0])


def _model_of(reply: dict[str, Any]) -> str | None:
    """Return the model that a reply names, as it can be stored: a provider may send any text."""
    model = reply.get("model")
    return one_line(model)[:NAME] if isinstance(model, str) else None


def answer_digest(digest: str, text: str) -> str:
    """Return the digest over a stored reply and its request, so that replies cannot be swapped."""
    return digest_text(f"{digest}\n{text}")


def read_reply(digest: str, text: str, reply_digest: str) -> dict[str, Any]:
    """Return the reply in `text`.

    Raises:
        DamagedAnswer: if it does not match its digest, or is not a JSON object.
    """
    hint = f"See: {command('verify', repair='')}"
    if answer_digest(digest, text) != reply_digest:
        raise DamagedAnswer(f"The answer {digest} does not match its digest: it was changed after it was stored.", hint)
    try:
        reply = json.loads(text)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise DamagedAnswer(f"The answer {digest} is not a JSON object.", hint)
    return reply
