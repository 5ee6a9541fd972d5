"""The first schema: rubric contents, versions, tags, answers."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

DIGEST = sa.String(71)
NAME = sa.String(100)
TIME = sa.String(32)


def upgrade() -> None:
    """Make the four tables."""
    op.create_table(
        "rubrics",
        sa.Column("digest", DIGEST, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_rubrics"),
    )
    op.create_table(
        "versions",
        sa.Column("name", NAME, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("rubric_digest", DIGEST, nullable=False),
        sa.Column("provenance", sa.Text, nullable=False),
        sa.Column("provenance_digest", DIGEST, nullable=False),
        sa.Column("effort", sa.Text, nullable=False),
        sa.Column("parent_name", NAME),
        sa.Column("parent_number", sa.Integer),
        sa.Column("created", TIME, nullable=False),
        sa.Column("record_digest", DIGEST, nullable=False),
        sa.PrimaryKeyConstraint("name", "number", name="pk_versions"),
        sa.ForeignKeyConstraint(["rubric_digest"], ["rubrics.digest"], name="fk_versions_rubric_digest_rubrics"),
        sa.ForeignKeyConstraint(
            ["parent_name", "parent_number"],
            ["versions.name", "versions.number"],
            name="fk_versions_parent_name_parent_number_versions",
        ),
        sa.CheckConstraint("number >= 1", name=op.f("ck_versions_number_from_one")),
    )
    op.create_table(
        "tags",
        sa.Column("name", NAME, nullable=False),
        sa.Column("tag", NAME, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("name", "tag", name="pk_tags"),
        sa.ForeignKeyConstraint(
            ["name", "number"], ["versions.name", "versions.number"], name="fk_tags_name_number_versions"
        ),
    )
    op.create_table(
        "answers",
        sa.Column("digest", DIGEST, nullable=False),
        sa.Column("reply", sa.Text, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_answers"),
    )


def downgrade() -> None:
    """Drop the four tables."""
    for table in ("answers", "tags", "versions", "rubrics"):
        op.drop_table(table)
