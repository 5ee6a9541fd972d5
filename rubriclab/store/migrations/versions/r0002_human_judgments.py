"""What people answer on the labelling page, which never changes either."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

TABLE = "human_judgments"


def upgrade() -> None:
    """Create the table, and triggers that refuse changes."""
    op.create_table(
        TABLE,
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("id", sa.String(100), nullable=False),
        sa.Column("question", sa.String(71), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("digest", sa.String(71), nullable=False),
        sa.PrimaryKeyConstraint("number", name=f"pk_{TABLE}"),
        sa.UniqueConstraint("id", name=f"uq_{TABLE}_id"),
    )
    op.create_index(f"ix_{TABLE}_question", TABLE, ["question"])
    dialect = op.get_bind().dialect.name
    if dialect == "postgresql":
        op.execute(
            f"CREATE TRIGGER {TABLE}_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {TABLE} "
            "FOR EACH STATEMENT EXECUTE FUNCTION rubriclab_refuse()"
        )
    elif dialect == "sqlite":
        _refuse_on_sqlite()


def downgrade() -> None:
    """Drop the table, and the triggers with it."""
    op.drop_table(TABLE)


def _refuse_on_sqlite() -> None:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{TABLE} never change'); END"
    for verb in ("update", "delete"):
        op.execute(f"CREATE TRIGGER {TABLE}_no_{verb} BEFORE {verb} ON {TABLE} {refuse}")
    # INSERT OR REPLACE removes the old row without firing the delete trigger.
    op.execute(
        f"CREATE TRIGGER {TABLE}_no_replace BEFORE INSERT ON {TABLE} "
        f"WHEN EXISTS (SELECT 1 FROM {TABLE} WHERE number = NEW.number OR id = NEW.id) {refuse}"
    )
