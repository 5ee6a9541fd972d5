"""People's judgments, written once.

Reading raises `StoreError` for what does not match its digest.
"""

from __future__ import annotations

from sqlmodel import Session, col, select

from rubriclab.errors import StoreError
from rubriclab.models.digest import digest_text
from rubriclab.models.judgment import HumanJudgment
from rubriclab.option_names import command
from rubriclab.store.orm import HumanJudgmentRow
from rubriclab.store.rows import content_of, read


def add_judgment(session: Session, judgment: HumanJudgment) -> HumanJudgment:
    """Return the stored judgment; see `Store.add_judgment`."""
    content = content_of(judgment)
    if stored := session.exec(select(HumanJudgmentRow).where(HumanJudgmentRow.id == judgment.id)).first():
        former = read_judgment(stored)
        # Only the time, which the server measures, may differ.
        if former.model_copy(update={"created": judgment.created}) != judgment:
            raise StoreError(f"Another judgment has the id {judgment.id!r}.", "Give it an id of its own.")
        return former
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
    if digest_text(row.content) != row.digest:
        raise StoreError(f"The judgment {row.id} does not match its digest.", f"See: {command('verify')}")
    return read(HumanJudgment, row.content, f"The judgment {row.id}")
