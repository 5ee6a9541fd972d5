"""Records beside versions, written once: corrections of labels, people's judgments, and the answers that were used.

Reading raises `StoreError` for what does not match its digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import TypeVar

from sqlmodel import Session, col, select

from rubriclab.corrections import Correction
from rubriclab.digest import WIDTH, digest_text
from rubriclab.errors import StoreError
from rubriclab.labeling.judgment import HumanJudgment
from rubriclab.option_names import command
from rubriclab.store.orm import CorrectionRow, HumanJudgmentRow, UsedAnswersRow, stored_time
from rubriclab.store.rows import content_of, find_row, read

Record = TypeVar("Record", Correction, HumanJudgment)


def add_correction(session: Session, correction: Correction) -> Correction:
    """Return the stored correction; see `Store.correct`."""
    content = content_of(correction)
    if stored := session.get(CorrectionRow, correction.id):
        return _same(read_correction(stored), correction, "correction")
    find_row(session, f"{correction.rubric}@{correction.version}")
    row = CorrectionRow(
        id=correction.id,
        name=correction.rubric,
        number=correction.version,
        content=content,
        created=stored_time(correction.created),
        digest=digest_text(content),
    )
    session.add(row)
    session.flush()
    return correction


def corrections_of(session: Session, name: str) -> tuple[Correction, ...]:
    """Return the corrections of a rubric, the oldest first."""
    rows = select(CorrectionRow).where(CorrectionRow.name == name)
    ordered = session.exec(rows.order_by(col(CorrectionRow.created), col(CorrectionRow.id)))
    return tuple(read_correction(row) for row in ordered)


def read_correction(row: CorrectionRow) -> Correction:
    """Return the correction in `row`."""
    return _read(Correction, row, "correction")


def add_judgment(session: Session, judgment: HumanJudgment) -> HumanJudgment:
    """Return the stored judgment; see `Store.add_judgment`."""
    content = content_of(judgment)
    if stored := session.exec(select(HumanJudgmentRow).where(HumanJudgmentRow.id == judgment.id)).first():
        return _same(read_judgment(stored), judgment, "judgment")
    row = HumanJudgmentRow(id=judgment.id, question=judgment.question, content=content, digest=digest_text(content))
    session.add(row)
    session.flush()
    return judgment


def judgments_of(session: Session, question: str, after: int) -> tuple[tuple[int, HumanJudgment], ...]:
    """Return the judgments about a question with numbers above `after`, in the order of the numbers."""
    rows = select(HumanJudgmentRow).where(HumanJudgmentRow.question == question, col(HumanJudgmentRow.number) > after)
    ordered = session.exec(rows.order_by(col(HumanJudgmentRow.number)))
    return tuple((row.number or 0, read_judgment(row)) for row in ordered)


def read_judgment(row: HumanJudgmentRow) -> HumanJudgment:
    """Return the judgment in `row`."""
    return _read(HumanJudgment, row, "judgment")


def _same(former: Record, record: Record, kind: str) -> Record:
    """Return the stored record if `record` repeats it; only the time, which the server measures, may differ."""
    if former.model_copy(update={"created": record.created}) != record:
        raise StoreError(f"Another {kind} has the id {record.id!r}.", "Give it an id of its own.")
    return former


def _read(model: type[Record], row: CorrectionRow | HumanJudgmentRow, kind: str) -> Record:
    if digest_text(row.content) != row.digest:
        raise StoreError(f"The {kind} {row.id} does not match its digest.", f"See: {command('verify')}")
    return read(model, row.content, f"The {kind} {row.id}")


def add_used_answers(session: Session, name: str, number: int, digests: Collection[bytes]) -> None:
    """Record the requests whose answers making a version read, beside those recorded when it was made before."""
    row = session.get(UsedAnswersRow, (name, number))
    known = unpack_digests(row) if row else frozenset()
    if row and known.issuperset(digests):
        return
    packed = b"".join(sorted(known.union(digests)))
    session.merge(UsedAnswersRow(name=name, number=number, digest=_digest(packed), packed=packed))
    session.flush()


def unpack_digests(row: UsedAnswersRow) -> frozenset[bytes]:
    """Return the packed digests in a row."""
    if _digest(row.packed) != row.digest or len(row.packed) % WIDTH:
        raise StoreError(
            f"The record of the answers that {row.ref} used does not match its digest: it was changed after it was "
            "stored.",
            f"See: {command('verify')}",
        )
    return frozenset(row.packed[place : place + WIDTH] for place in range(0, len(row.packed), WIDTH))


def _digest(packed: bytes) -> str:
    return f"sha256:{hashlib.sha256(packed).hexdigest()}"
