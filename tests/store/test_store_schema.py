"""Migrations: applied on opening, and never downwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text
from store_samples import EFFORT, numbered, provenance

from rubriclab.errors import StoreError
from rubriclab.store import Store, open_store
from rubriclab.store.engine import address
from rubriclab.store.orm import METADATA
from rubriclab.store.schema import REVISIONS, SCRIPTS, VERSION_TABLE


def test_every_migration_is_known_by_name_and_in_order() -> None:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    scripts = ScriptDirectory.from_config(config)
    assert tuple(reversed([script.revision for script in scripts.walk_revisions()])) == REVISIONS


def test_the_migrations_end_at_the_tables_that_the_code_uses(store: Store, where: str) -> None:
    engine = create_engine(address(where))
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": VERSION_TABLE, "compare_type": True, "target_metadata": METADATA}
        )
        assert compare_metadata(context, METADATA) == []
    engine.dispose()


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    return config


def test_the_migrations_can_be_taken_back(store: Store, where: str) -> None:
    from alembic import command

    engine = create_engine(address(where))
    with engine.begin() as connection:
        command.downgrade(_config(connection), "base")
        command.upgrade(_config(connection), "head")
    engine.dispose()
    assert store.save("news", numbered(1), provenance(), EFFORT).ref == "news@1"


def test_a_store_of_a_newer_rubriclab_is_refused_and_left_alone(store: Store, where: str) -> None:
    engine = create_engine(address(where))
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9001'"))
    message = (
        rf"has schema '9001'; expected '{REVISIONS[-1]}'\. It was written by another version of rubriclab: use that"
    )
    with pytest.raises(StoreError, match=message):
        open_store(where)
    with engine.connect() as connection:
        assert connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar() == "9001"
    engine.dispose()


def test_opening_a_current_store_does_not_load_alembic(tmp_path: Path) -> None:
    open_store(tmp_path / "store.db").close()
    code = "import sys, rubriclab.store as s; s.open_store(sys.argv[1]).close(); print('alembic' in sys.modules)"
    command = [sys.executable, "-c", code, str(tmp_path / "store.db")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "False"
