"""The model of each answer, and the answers that making a version read."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

TABLE = "used_answers"


def upgrade() -> None:
    """Add the column and the table; what is stored already has neither."""
    op.add_column("answers", sa.Column("model", sa.String(100)))
    op.create_table(
        TABLE,
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("digest", sa.String(71), nullable=False),
        sa.Column("packed", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("name", "number", name=f"pk_{TABLE}"),
        sa.ForeignKeyConstraint(
            ["name", "number"], ["versions.name", "versions.number"], name=f"fk_{TABLE}_name_number_versions"
        ),
    )


def downgrade() -> None:
    """Drop both."""
    op.drop_table(TABLE)
    op.drop_column("answers", "model")
