"""The batches that providers are processing."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

TABLE = "batches"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        TABLE,
        sa.Column("key", sa.String(100), nullable=False),
        sa.Column("judge", sa.String(71), nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("api_base", sa.Text),
        sa.Column("file_id", sa.String(1000), nullable=False),
        sa.Column("batch_id", sa.String(1000)),
        sa.Column("created", sa.String(32), nullable=False),
        sa.Column("requests", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("key", name=f"pk_{TABLE}"),
    )
    op.create_index(f"ix_{TABLE}_judge", TABLE, ["judge"])


def downgrade() -> None:
    """Drop the table."""
    op.drop_table(TABLE)
