"""The database itself refuses to change or delete versions and rubric contents (on SQLite and PostgreSQL)."""

from alembic import op

revision = "0002"
down_revision = "0001"

KEYS = {"versions": ("name", "number"), "rubrics": ("digest",)}


def upgrade() -> None:
    """Make the triggers."""
    dialect = op.get_bind().dialect.name
    if dialect == "postgresql":
        op.execute(
            "CREATE FUNCTION rubriclab_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION '% never change', TG_TABLE_NAME; END $$"
        )
    for table, keys in KEYS.items():
        if dialect == "postgresql":
            op.execute(
                f"CREATE TRIGGER {table}_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION rubriclab_refuse()"
            )
        elif dialect == "sqlite":
            _refuse_on_sqlite(table, keys)


def downgrade() -> None:
    """Drop the triggers."""
    dialect = op.get_bind().dialect.name
    for table in KEYS:
        if dialect == "postgresql":
            op.execute(f"DROP TRIGGER {table}_never_change ON {table}")
        elif dialect == "sqlite":
            for verb in ("update", "delete", "replace"):
                op.execute(f"DROP TRIGGER {table}_no_{verb}")
    if dialect == "postgresql":
        op.execute("DROP FUNCTION rubriclab_refuse()")


def _refuse_on_sqlite(table: str, keys: tuple[str, ...]) -> None:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{table} never change'); END"
    for verb in ("update", "delete"):
        op.execute(f"CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table} {refuse}")
    # INSERT OR REPLACE removes the old row without asking the delete trigger.
    same = " AND ".join(f"{key} = NEW.{key}" for key in keys)
    op.execute(
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} "
        f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same}) {refuse}"
    )
