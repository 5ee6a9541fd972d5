"""A digest beside each answer, and leases on the questions in flight."""

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

# Rows fetched at a time, so that memory does not grow with the number of answers.
CHUNK = 1000

ANSWERS = sa.table("answers", sa.column("digest"), sa.column("reply"), sa.column("reply_digest"))


def upgrade() -> None:
    """Make the column and fill it, and make the table."""
    # With a default, which is no digest, SQLite needs no copy of the table.
    op.add_column("answers", sa.Column("reply_digest", sa.String(71), nullable=False, server_default=""))
    _fill(op.get_bind())
    op.create_table(
        "leases",
        sa.Column("digest", sa.String(71), nullable=False),
        sa.Column("holder", sa.String(100), nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_leases"),
    )


def downgrade() -> None:
    """Drop both."""
    op.drop_table("leases")
    op.drop_column("answers", "reply_digest")


def _fill(connection: sa.Connection) -> None:
    key = ANSWERS.c.digest
    after, chunk = "", sa.select(key, ANSWERS.c.reply).order_by(key).limit(CHUNK)
    write = sa.update(ANSWERS).where(key == sa.bindparam("wanted")).values(reply_digest=sa.bindparam("value"))
    while rows := connection.execute(chunk.where(key > after)).all():
        connection.execute(write, [{"wanted": digest, "value": _digest(digest, reply)} for digest, reply in rows])
        after = rows[-1][0]


def _digest(digest: str, reply: str) -> str:
    return "sha256:" + hashlib.sha256(f"{digest}\n{reply}".encode("utf-8", "surrogatepass")).hexdigest()
