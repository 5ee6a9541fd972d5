"""Training records are kept compressed."""

import zlib
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

TRAININGS = sa.table(
    "trainings", sa.column("name"), sa.column("number"), sa.column("content"), sa.column("packed", sa.LargeBinary)
)
KEY = (TRAININGS.c.name, TRAININGS.c.number)


def upgrade() -> None:
    """Make the column, fill it, and drop the one that it replaces."""
    # With a default, which is no record, SQLite needs no copy of the table.
    op.add_column("trainings", sa.Column("packed", sa.LargeBinary, nullable=False, server_default=sa.text("''")))
    _convert("content", "packed", lambda text: zlib.compress(text.encode("utf-8", "surrogatepass")))
    op.drop_column("trainings", "content")


def downgrade() -> None:
    """Make and fill the former column again."""
    op.add_column("trainings", sa.Column("content", sa.Text, nullable=False, server_default=""))
    _convert("packed", "content", lambda packed: zlib.decompress(packed).decode("utf-8", "surrogatepass"))
    op.drop_column("trainings", "packed")


def _convert(source: str, target: str, made: Callable[[Any], str | bytes]) -> None:
    """Fill one column from the other, a row at a time: a record may have many megabytes."""
    connection = op.get_bind()
    for name, number in connection.execute(sa.select(*KEY)).all():
        row = (TRAININGS.c.name == name) & (TRAININGS.c.number == number)
        value = connection.execute(sa.select(TRAININGS.c[source]).where(row)).scalar_one()
        connection.execute(sa.update(TRAININGS).where(row).values({target: made(value)}))
