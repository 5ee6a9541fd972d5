"""Removing cached answers. Versions, ratings and everything else stay."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, delete, literal_column, select
from sqlmodel import Session

from rubriclab.digest import packed_digest
from rubriclab.store.orm import METADATA, AnswerRow
from rubriclab.store.size import octets

# Answers that are looked at in one transaction; other processes can write between two. Each transaction writes most
# pages of an SQLite index anew, so that smaller ones take longer in all.
CHUNK = 10_000

_TABLE = METADATA.tables[AnswerRow.__tablename__]


@dataclass(frozen=True, slots=True)
class Pruned:
    """Answers of one step that were removed, or would be.

    Attributes:
        rows: their number.
        bytes: of their replies.
        kept: how many others a version used and therefore stay.
        last: the key after which the next step begins; `None` after the last step.
    """

    rows: int = 0
    bytes: int = 0
    kept: int = 0
    last: Any = None


def prune_step(
    session: Session, after: Any, before: str | None, keep: Collection[bytes], *, dry_run: bool = False
) -> Pruned:
    """Remove some of the answers that were cached earlier than `before` and are not to be kept.

    Args:
        after: `last` of the step before; `None` to begin.
        before: a stored time; `None` for answers of any age.
        keep: packed digests of the requests whose answers stay.
        dry_run: whether they are only counted.
    """
    key = _key(session)
    candidates = (
        select(key.label("place"), _TABLE.c.digest, octets(session.connection(), _TABLE.c.reply))
        .order_by(key)
        .limit(CHUNK)
    )
    if after is not None:
        candidates = candidates.where(key > after)
    if before is not None:
        candidates = candidates.where(_TABLE.c.created < before)
    rows = session.execute(candidates).all()
    removed = [(place, size) for place, digest, size in rows if not _is_kept(digest, keep)]
    if removed and not dry_run:
        session.execute(delete(_TABLE).where(key.in_([place for place, _ in removed])))
    return Pruned(
        len(removed), sum(size for _, size in removed), len(rows) - len(removed), rows[-1].place if rows else None
    )


def _key(session: Session) -> Column[Any]:
    """Return the column whose order is that of the table on the disk where there is one."""
    if session.get_bind().dialect.name == "sqlite":
        return literal_column("answers.rowid")  # type: ignore[return-value]
    return _TABLE.c.digest


def _is_kept(digest: str, keep: Collection[bytes]) -> bool:
    try:
        return packed_digest(digest) in keep
    except ValueError:
        # No request has such a digest: no command would ever find this answer.
        return False
