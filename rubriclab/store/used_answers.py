"""Which cached answers a version rests on: the digests of the requests that were answered while it was made.

They are collected by the commands that make versions. Answers that were read to score texts by a version are not
recorded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from sqlmodel import Session

from rubriclab.digest import WIDTH
from rubriclab.errors import StoreError
from rubriclab.option_names import command
from rubriclab.store.orm import UsedAnswersRow, VersionRow


def add_used_answers(session: Session, name: str, number: int, digests: Collection[bytes]) -> None:
    """Record the answers that making a version read, beside those recorded when it was made before."""
    row = session.get(UsedAnswersRow, (name, number))
    known = unpack_digests(row) if row else frozenset()
    if row and known.issuperset(digests):
        return
    packed = b"".join(sorted(known.union(digests)))
    session.merge(UsedAnswersRow(name=name, number=number, digest=_digest(packed), packed=packed))
    session.flush()


def used_answers(session: Session, version: VersionRow) -> frozenset[bytes] | None:
    """Return the packed digests of the requests whose answers making a version read; `None` if that is not known.

    Raises:
        StoreError: if the record does not match its digest.
    """
    row = session.get(UsedAnswersRow, (version.name, version.number))
    return unpack_digests(row) if row else None


def unpack_digests(row: UsedAnswersRow) -> frozenset[bytes]:
    """Return the packed digests in a row.

    Raises:
        StoreError: if they do not match the digest of the row.
    """
    if _digest(row.packed) != row.digest or len(row.packed) % WIDTH:
        raise StoreError(
            f"The record of the answers that {row.ref} used does not match its digest: it was changed after it was "
            "stored.",
            f"See: {command('verify')}",
        )
    return frozenset(row.packed[place : place + WIDTH] for place in range(0, len(row.packed), WIDTH))


def _digest(packed: bytes) -> str:
    return f"sha256:{hashlib.sha256(packed).hexdigest()}"
