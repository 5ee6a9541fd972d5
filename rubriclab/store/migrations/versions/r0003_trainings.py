"""What a training run saw and found, beside its version. It holds people's texts, so it may be deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "trainings",
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("digest", sa.String(71), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", "number", name="pk_trainings"),
        sa.ForeignKeyConstraint(
            ["name", "number"], ["versions.name", "versions.number"], name="fk_trainings_name_number_versions"
        ),
    )


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("trainings")
