"""Corrections of labels within one transaction: written once, read in order."""

from __future__ import annotations

from sqlmodel import Session, col, select

from rubriclab.corrections import Correction
from rubriclab.digest import digest_text
from rubriclab.errors import StoreError
from rubriclab.option_names import command
from rubriclab.store.orm import CorrectionRow, stored_time
from rubriclab.store.queries import find_row
from rubriclab.store.rows import content_of, read


def add_correction(session: Session, correction: Correction) -> Correction:
    """Return the stored correction; see `Store.correct`."""
    content = content_of(correction)
    if stored := session.get(CorrectionRow, correction.id):
        former = read_correction(stored)
        if former.model_copy(update={"created": correction.created}) != correction:
            raise StoreError(f"Another correction has the id {correction.id!r}.", "Give it an id of its own.")
        return former
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
    """Return the correction in `row`.

    Raises:
        StoreError: if it does not match its digest.
    """
    if digest_text(row.content) != row.digest:
        raise StoreError(f"The correction {row.id} does not match its digest.", f"See: {command('verify')}")
    return read(Correction, row.content, f"The correction {row.id}")
