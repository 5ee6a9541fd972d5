"""Whether a version was learned in this store or imported, and which imported ones the user has confirmed."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column, empty for versions of unknown origin, and make the table."""
    op.add_column("versions", sa.Column("origin", sa.String(8), nullable=True))
    op.create_table(
        "confirmations",
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("record_digest", sa.String(71), nullable=False),
        sa.Column("created", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("name", "number", name="pk_confirmations"),
        sa.ForeignKeyConstraint(
            ["name", "number"], ["versions.name", "versions.number"], name="fk_confirmations_name_number_versions"
        ),
    )


def downgrade() -> None:
    """Drop both."""
    op.drop_table("confirmations")
    op.drop_column("versions", "origin")
