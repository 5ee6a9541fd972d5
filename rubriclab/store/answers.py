"""A judge's answers, kept the moment they arrive."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Engine, bindparam, func, insert, select
from sqlalchemy.exc import IntegrityError

from rubriclab.digest import canonical, digest_text
from rubriclab.errors import DamagedAnswer, StoreError
from rubriclab.store.engine import in_memory, shown
from rubriclab.store.leases import Leases
from rubriclab.store.reconnect import HeldConnection
from rubriclab.store.tables import METADATA, AnswerRow, now

_TABLE = METADATA.tables[AnswerRow.__tablename__]
_INSERT = insert(_TABLE).execution_options(preserve_rowcount=True)
_REPLY = select(_TABLE.c.reply, _TABLE.c.reply_digest).where(_TABLE.c.digest == bindparam("wanted"))
_COUNT = select(func.count()).select_from(_TABLE)


class AnswerTable:
    """Replies by the digest of their request. Safe to use from several threads and processes at once."""

    def __init__(self, engine: Engine, *, read_only: bool = False) -> None:
        """Use a connection of `engine`; if `read_only`, nothing can be kept."""
        self._place = shown(engine.url)
        self._read_only = read_only
        self._connection = HeldConnection(engine)
        # Nobody else can ask a database in memory.
        self._leases = None if in_memory(engine.url) else Leases(self._connection)

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the reply kept under `digest`, or `None`.

        Raises:
            DamagedAnswer: if the reply is not as it was written.
            StoreError: if the database fails.
        """
        found = self._connection.rows(_REPLY, {"wanted": digest})
        return read_reply(digest, found[0].reply, found[0].reply_digest) if found else None

    def put(self, digest: str, reply: dict[str, Any]) -> bool:
        """Return whether `reply` (JSON types only) was kept under `digest`, for good; the first reply stays.

        Raises:
            ValueError: if `reply` holds NaN or an infinity.
            StoreError: if the database fails.
        """
        text = canonical(reply)
        row = {"digest": digest, "reply": text, "reply_digest": answer_digest(digest, text), "created": now()}
        try:
            kept = self._connection.change(_INSERT, row) == 1
        except IntegrityError:
            kept = False
        if self._leases:
            self._leases.answered(digest)
        return kept

    def claim(self, digest: str) -> bool:
        """Return whether the caller is to ask the question, and nobody else will until it has put or released it.

        `False` means that somebody else is asking it, or has answered it since it was looked up.

        Raises:
            StoreError: if the answer could not be kept, as the store may only be read, or the database fails.
        """
        if self._read_only:
            raise StoreError(
                f"The store {self._place} may only be read, and holds no answer to one of the questions; "
                "nothing was asked, since the reply could not be kept.",
                "Give a store that can be written with --store, or a copy of this one.",
            )
        return self._leases is None or self._leases.take(digest)

    def release(self, digest: str) -> None:
        """Give up a claim to a question that got no answer, so that others may ask it."""
        if self._leases:
            self._leases.release(digest)

    def count(self) -> int:
        """Return how many answers are kept."""
        return int(self._connection.rows(_COUNT)[0][0])

    def close(self) -> None:
        """Give up all claims and the connection."""
        if self._leases:
            self._leases.close()
        self._connection.close()


def answer_digest(digest: str, text: str) -> str:
    """Return the digest over a stored reply and the request that it answers, so that replies cannot be exchanged."""
    return digest_text(f"{digest}\n{text}")


def read_reply(digest: str, text: str, reply_digest: str) -> dict[str, Any]:
    """Return the reply that `text` holds.

    Raises:
        DamagedAnswer: if it does not match its digest, or is not a JSON object.
    """
    hint = "See: rubriclab verify --repair"
    if answer_digest(digest, text) != reply_digest:
        raise DamagedAnswer(f"The answer {digest} does not match its digest: it was changed after it was kept.", hint)
    try:
        reply = json.loads(text)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise DamagedAnswer(f"The answer {digest} is not a JSON object.", hint)
    return reply
