"""The tables of a store. Rows are written from validated models only, since table models do not validate."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, LargeBinary, MetaData, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

# A digest is `sha256:` and 64 digits; a name or tag is at most 100.
DIGEST = 71
NAME = 100
# An id that a provider gives, such as a path in a bucket.
PROVIDER_ID = 1000
# 2026-11-21T12:00:00.000000+00:00
TIME = 32

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def now() -> str:
    """Return the current time as it is stored."""
    return stored_time(datetime.now(UTC))


def stored_time(moment: datetime) -> str:
    """Return a time with a zone in UTC as ISO 8601, the form of all stored times, since SQLite has no type for them."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


class StoredTable(SQLModel):
    """Base of the tables. JSON is kept as canonical text: PostgreSQL's JSON types reorder keys and refuse NUL."""

    metadata = METADATA


class RubricRow(StoredTable, table=True):
    """A rubric's content under its own digest; several versions may share it."""

    __tablename__ = "rubrics"

    digest: str = Field(primary_key=True, max_length=DIGEST)
    content: str = Field(sa_type=Text)


class VersionRow(StoredTable, table=True):
    """A rubric under a name and a number. `record_digest` covers all the rest and the parent's record.

    `origin` is `learned` for what was learned in this store, else the `NAME@NUMBER` of the pack that it came from;
    `created` is then the pack's too.
    """

    __tablename__ = "versions"
    __table_args__ = (
        ForeignKeyConstraint(["parent_name", "parent_number"], ["versions.name", "versions.number"]),
        CheckConstraint("number >= 1", name="number_from_one"),
    )

    name: str = Field(primary_key=True, max_length=NAME)
    number: int = Field(primary_key=True)
    rubric_digest: str = Field(foreign_key="rubrics.digest", max_length=DIGEST)
    provenance: str = Field(sa_type=Text)
    provenance_digest: str = Field(max_length=DIGEST)
    effort: str = Field(sa_type=Text)
    parent_name: str | None = Field(default=None, max_length=NAME)
    parent_number: int | None = None
    created: str = Field(max_length=TIME)
    record_digest: str = Field(max_length=DIGEST)
    origin: str = Field(max_length=NAME + 11)

    @property
    def ref(self) -> str:
        """`NAME@NUMBER`."""
        return f"{self.name}@{self.number}"

    @property
    def parent(self) -> str | None:
        """The parent's `NAME@NUMBER`, if it has one."""
        return f"{self.parent_name}@{self.parent_number}" if self.parent_name else None


def _of_version() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["name", "number"], ["versions.name", "versions.number"])


class OfVersion(StoredTable):
    """Base of the tables with at most one row for each version."""

    name: str = Field(primary_key=True, max_length=NAME)
    number: int = Field(primary_key=True)

    @property
    def ref(self) -> str:
        """`NAME@NUMBER` of the version."""
        return f"{self.name}@{self.number}"


class TrainingRow(OfVersion, table=True):
    """The training record of a version, texts included. Unlike a version it may be deleted.

    `packed` is its canonical JSON compressed by zlib; `digest` is the digest of the JSON.
    """

    __tablename__ = "trainings"
    __table_args__ = (_of_version(),)

    digest: str = Field(max_length=DIGEST)
    packed: bytes = Field(sa_type=LargeBinary)


class ConfirmationRow(OfVersion, table=True):
    """The user's confirmation that an imported version may choose the judge; `record_digest` is the version's."""

    __tablename__ = "confirmations"
    __table_args__ = (_of_version(),)

    record_digest: str = Field(max_length=DIGEST)
    created: str = Field(max_length=TIME)


class HumanJudgmentRow(StoredTable, table=True):
    """A person's answer about texts as canonical JSON; `digest` covers it. Rows are never changed or removed.

    `number` orders the answers; `question` is the digest of what was asked.
    """

    __tablename__ = "human_judgments"
    __table_args__ = (UniqueConstraint("id"),)

    number: int | None = Field(default=None, primary_key=True)
    id: str = Field(max_length=NAME)
    question: str = Field(max_length=DIGEST, index=True)
    content: str = Field(sa_type=Text)
    digest: str = Field(max_length=DIGEST)


class TagRow(StoredTable, table=True):
    """A movable pointer to a version."""

    __tablename__ = "tags"
    __table_args__ = (_of_version(),)

    name: str = Field(primary_key=True, max_length=NAME)
    tag: str = Field(primary_key=True, max_length=NAME)
    number: int


class AnswerRow(StoredTable, table=True):
    """A judge's reply under the digest of the request; `reply_digest` covers both.

    `model` is the name that the provider reported, for counting; `None` for replies without one.
    """

    __tablename__ = "answers"

    digest: str = Field(primary_key=True, max_length=DIGEST)
    reply: str = Field(sa_type=Text)
    created: str = Field(max_length=TIME)
    reply_digest: str = Field(max_length=DIGEST)
    model: str | None = Field(default=None, max_length=NAME)


class BatchRow(StoredTable, table=True):
    """A batch that a provider is processing; `requests` are the bytes of its requests' digests, one after another."""

    __tablename__ = "batches"

    key: str = Field(primary_key=True, max_length=NAME)
    judge: str = Field(max_length=DIGEST, index=True)
    model: str = Field(sa_type=Text)
    api_base: str | None = Field(default=None, sa_type=Text)
    file_id: str = Field(max_length=PROVIDER_ID)
    batch_id: str | None = Field(default=None, max_length=PROVIDER_ID)
    created: str = Field(max_length=TIME)
    requests: bytes = Field(sa_type=LargeBinary)
