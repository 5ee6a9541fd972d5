"""Verification of every digest in a store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlmodel import Session, SQLModel, col, delete, select

from rubriclab.errors import StoreError
from rubriclab.models.digest import digest_text
from rubriclab.models.rubric import Rubric
from rubriclab.models.version import Effort, Provenance, TrainingRecord
from rubriclab.store.answers import read_reply
from rubriclab.store.orm import (
    AnswerRow,
    ConfirmationRow,
    HumanJudgmentRow,
    RubricRow,
    TagRow,
    TrainingRow,
    VersionRow,
)
from rubriclab.store.records import read_judgment
from rubriclab.store.rows import read, record_digest, unpacked

# Rows fetched at a time, which bounds the memory.
CHUNK = 1000

Row = TypeVar("Row", bound=SQLModel)


@dataclass(frozen=True, slots=True)
class Problem:
    """A place in a store whose content has changed, and what does not match.

    `answer` is the digest of the request if it is a damaged answer, which can be removed and requested again.
    """

    where: str
    what: str
    answer: str | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def find_problems(session: Session) -> Iterator[Problem]:
    """Yield problems of everything that has a digest, table by table, each by key."""
    rubrics = set()
    for row in _rows(session, RubricRow, RubricRow.digest):
        rubrics.add(row.digest)
        yield from _mismatch(f"rubric {row.digest}", "its content", digest_text(row.content), row.digest)
        yield from _fault(f"rubric {row.digest}", read, Rubric, row.content, "its content")
    rows = _rows(session, VersionRow, VersionRow.name, VersionRow.number)
    versions = {(row.name, row.number): row for row in rows}
    yield from _gaps(versions)
    for version in versions.values():
        yield from _version_problems(version, rubrics, versions)
    for training in _rows(session, TrainingRow, TrainingRow.name, TrainingRow.number):
        yield from _training_problems(training, versions)
    for confirmation in _rows(session, ConfirmationRow, ConfirmationRow.name, ConfirmationRow.number):
        yield from _confirmation_problems(confirmation, versions)
    for judgment in _rows(session, HumanJudgmentRow, HumanJudgmentRow.number):
        yield from _fault(f"judgment {judgment.id}", read_judgment, judgment)
    for tag in _rows(session, TagRow, TagRow.name, TagRow.tag):
        if (tag.name, tag.number) not in versions:
            yield Problem(f"{tag.name}@{tag.tag}", f"the tag points to version {tag.number}, which does not exist")
    for answer in _rows(session, AnswerRow, AnswerRow.digest):
        try:
            read_reply(answer.digest, answer.reply, answer.reply_digest)
        except StoreError as error:
            yield Problem(f"answer {answer.digest}", error.message, answer.digest)


def remove_answers(session: Session, digests: Iterable[str]) -> None:
    """Remove the answers to the requests with these digests."""
    for digest in digests:
        session.exec(delete(AnswerRow).where(col(AnswerRow.digest) == digest))


def _rows(session: Session, table: type[Row], *key: Any) -> Iterable[Row]:
    return session.exec(select(table).order_by(*key).execution_options(yield_per=CHUNK))


def _training_problems(row: TrainingRow, versions: Collection[tuple[str, int]]) -> Iterator[Problem]:
    where = f"training record of {row.ref}"
    if (row.name, row.number) not in versions:
        yield Problem(where, "there is no such version")
    try:
        content = unpacked(row)
    except StoreError as error:
        yield Problem(where, error.message)
        return
    yield from _mismatch(where, "its content", digest_text(content), row.digest)
    yield from _fault(where, read, TrainingRecord, content, "its content")


def _confirmation_problems(row: ConfirmationRow, versions: Mapping[tuple[str, int], VersionRow]) -> Iterator[Problem]:
    where = f"confirmation of {row.ref}"
    version = versions.get((row.name, row.number))
    if version is None:
        yield Problem(where, "there is no such version")
    else:
        yield from _mismatch(where, "the record that was confirmed", row.record_digest, version.record_digest)


def _gaps(versions: Mapping[tuple[str, int], VersionRow]) -> Iterator[Problem]:
    numbers = defaultdict(set)
    for name, number in versions:
        numbers[name].add(number)
    for name, present in numbers.items():
        for number in sorted(set(range(1, max(present))) - present):
            yield Problem(f"{name}@{number}", "this version is missing, though there are later ones")


def _version_problems(
    row: VersionRow, rubrics: Collection[str], versions: Mapping[tuple[str, int], VersionRow]
) -> Iterator[Problem]:
    if row.rubric_digest not in rubrics:
        yield Problem(row.ref, f"its rubric {row.rubric_digest} is missing")
    yield from _mismatch(row.ref, "its provenance", digest_text(row.provenance), row.provenance_digest)
    yield from _fault(row.ref, read, Provenance, row.provenance, "its provenance")
    yield from _fault(row.ref, read, Effort, row.effort, "its effort")
    parent = versions.get((row.parent_name, row.parent_number)) if row.parent_name and row.parent_number else None
    if row.parent and not parent:
        yield Problem(row.ref, f"its parent {row.parent} does not exist")
        return
    record = record_digest(row, parent.record_digest if parent else None)
    yield from _mismatch(
        row.ref, "its record (name, number, digests, effort, time, parent, origin)", record, row.record_digest
    )


def _mismatch(where: str, what: str, actual: str, expected: str) -> Iterator[Problem]:
    if actual != expected:
        yield Problem(where, f"{what} has the digest {actual} instead of {expected}")


def _fault(where: str, attempt: Callable[..., object], *arguments: object) -> Iterator[Problem]:
    try:
        attempt(*arguments)
    except StoreError as error:
        yield Problem(where, error.message)
