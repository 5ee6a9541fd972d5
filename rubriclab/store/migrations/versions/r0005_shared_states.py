"""What processes share while they run: budgets and rate limits."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

TABLE = "shared_states"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        TABLE,
        sa.Column("name", sa.String(300), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=f"pk_{TABLE}"),
    )


def downgrade() -> None:
    """Drop the table."""
    op.drop_table(TABLE)
