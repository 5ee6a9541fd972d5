"""The batches that providers are processing, so that an interrupted command collects them instead of paying again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, Row, bindparam, delete, insert, select, update

from rubriclab.models.digest import PREFIX
from rubriclab.store.engine import change, is_sqlite, rows_of
from rubriclab.store.orm import METADATA, BatchRow

_TABLE = METADATA.tables[BatchRow.__tablename__]
_COLUMNS = tuple(column.name for column in _TABLE.c)
_ALL = select(_TABLE).order_by(_TABLE.c.created, _TABLE.c.key)
_OF_JUDGE = _ALL.where(_TABLE.c.judge == bindparam("wanted"))
_INSERT = insert(_TABLE)
_SET_ID = update(_TABLE).where(_TABLE.c.key == bindparam("wanted")).values(batch_id=bindparam("made"))
_REMOVE = delete(_TABLE).where(_TABLE.c.key == bindparam("wanted"))
# Bytes of a SHA-256 digest.
SIZE = 32


class BatchTable:
    """Open batches. Safe to use from several threads and processes.

    Attributes:
        remote: whether calls wait for a network.
    """

    def __init__(self, engine: Engine) -> None:
        self.remote = not is_sqlite(engine.url)
        self._engine = engine

    def add(self, batch: OpenBatch) -> None:
        """Store a batch.

        Raises:
            StoreError: if the database fails.
        """
        packed = b"".join(bytes.fromhex(digest.removeprefix(PREFIX)) for digest in batch.requests)
        values = {name: getattr(batch, name) for name in _COLUMNS if name != "requests"}
        change(self._engine, _INSERT, {**values, "requests": packed})

    def set_id(self, key: str, batch_id: str) -> None:
        """Store the provider's id of a batch.

        Raises:
            StoreError: if the database fails.
        """
        change(self._engine, _SET_ID, {"wanted": key, "made": batch_id})

    def remove(self, key: str) -> None:
        """Remove a batch, if it is there.

        Raises:
            StoreError: if the database fails.
        """
        change(self._engine, _REMOVE, {"wanted": key})

    def open(self, judge: str | None = None) -> tuple[OpenBatch, ...]:
        """Return the batches of a judge, by the digest of its identity, or of all judges; the oldest first.

        Raises:
            StoreError: if the database fails.
        """
        rows = rows_of(self._engine, _ALL) if judge is None else rows_of(self._engine, _OF_JUDGE, {"wanted": judge})
        return tuple(_read(row) for row in rows)


def _read(row: Row[Any]) -> OpenBatch:
    values = row._asdict()
    packed = values["requests"]
    digests = (packed[at : at + SIZE].hex() for at in range(0, len(packed), SIZE))
    return OpenBatch(**{**values, "requests": tuple(f"{PREFIX}{digest}" for digest in digests)})


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """An uploaded file of requests, and the batch that was made of it.

    Attributes:
        key: its name in the store.
        judge: the digest of the judge's identity.
        model: the litellm model string.
        api_base: the server's address, if one was given.
        file_id: the provider's id of the uploaded file.
        batch_id: the provider's id of the batch; `None` if it is not known whether the batch was made.
        created: when the file was uploaded, in UTC as ISO 8601.
        requests: the digests of the requests.
    """

    key: str
    judge: str
    model: str
    api_base: str | None
    file_id: str
    batch_id: str | None
    created: str
    requests: tuple[str, ...]

    @property
    def name(self) -> str:
        """The provider's id, or else the name in the store."""
        return self.batch_id or self.key
