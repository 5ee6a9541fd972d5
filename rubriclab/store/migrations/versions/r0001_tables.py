"""The first schema: all tables, and triggers that make versions and rubrics immutable (on SQLite and PostgreSQL)."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

DIGEST = sa.String(71)
NAME = sa.String(100)
TIME = sa.String(32)

TABLES = ("leases", "answers", "tags", "corrections", "confirmations", "trainings", "versions", "rubrics")
IMMUTABLE = {"versions": ("name", "number"), "rubrics": ("digest",), "corrections": ("id",)}


def upgrade() -> None:
    """Create the tables and the triggers."""
    _create_rubrics_and_versions()
    _create_version_details()
    _create_corrections()
    _create_answers_and_leases()
    dialect = op.get_bind().dialect.name
    if dialect == "postgresql":
        op.execute(
            "CREATE FUNCTION rubriclab_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION '% never change', TG_TABLE_NAME; END $$"
        )
    for table, keys in IMMUTABLE.items():
        if dialect == "postgresql":
            op.execute(
                f"CREATE TRIGGER {table}_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION rubriclab_refuse()"
            )
        elif dialect == "sqlite":
            _refuse_on_sqlite(table, keys)


def downgrade() -> None:
    """Drop the tables, and the triggers with them."""
    for table in TABLES:
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION rubriclab_refuse()")


def _create_rubrics_and_versions() -> None:
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
        sa.Column("origin", sa.String(111), nullable=False),
        sa.PrimaryKeyConstraint("name", "number", name="pk_versions"),
        sa.ForeignKeyConstraint(["rubric_digest"], ["rubrics.digest"], name="fk_versions_rubric_digest_rubrics"),
        sa.ForeignKeyConstraint(
            ["parent_name", "parent_number"],
            ["versions.name", "versions.number"],
            name="fk_versions_parent_name_parent_number_versions",
        ),
        sa.CheckConstraint("number >= 1", name=op.f("ck_versions_number_from_one")),
    )


def _create_version_details() -> None:
    op.create_table(
        "trainings",
        sa.Column("name", NAME, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("digest", DIGEST, nullable=False),
        sa.Column("packed", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("name", "number", name="pk_trainings"),
        _version_key("trainings"),
    )
    op.create_table(
        "confirmations",
        sa.Column("name", NAME, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("record_digest", DIGEST, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.PrimaryKeyConstraint("name", "number", name="pk_confirmations"),
        _version_key("confirmations"),
    )
    op.create_table(
        "tags",
        sa.Column("name", NAME, nullable=False),
        sa.Column("tag", NAME, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("name", "tag", name="pk_tags"),
        _version_key("tags"),
    )


def _create_corrections() -> None:
    op.create_table(
        "corrections",
        sa.Column("id", NAME, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("digest", DIGEST, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_corrections"),
        _version_key("corrections"),
    )
    op.create_index("ix_corrections_name", "corrections", ["name"])


def _create_answers_and_leases() -> None:
    op.create_table(
        "answers",
        sa.Column("digest", DIGEST, nullable=False),
        sa.Column("reply", sa.Text, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("reply_digest", DIGEST, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_answers"),
    )
    op.create_table(
        "leases",
        sa.Column("digest", DIGEST, nullable=False),
        sa.Column("holder", NAME, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_leases"),
    )


def _version_key(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["name", "number"], ["versions.name", "versions.number"], name=f"fk_{table}_name_number_versions"
    )


def _refuse_on_sqlite(table: str, keys: tuple[str, ...]) -> None:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{table} never change'); END"
    for verb in ("update", "delete"):
        op.execute(f"CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table} {refuse}")
    # INSERT OR REPLACE removes the old row without firing the delete trigger.
    same = " AND ".join(f"{key} = NEW.{key}" for key in keys)
    op.execute(
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} "
        f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same}) {refuse}"
    )
