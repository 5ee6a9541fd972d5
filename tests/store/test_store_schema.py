"""Migrations: applied on opening, from the first schema on, by several processes at once, and never downwards."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text
from store_samples import EFFORT, numbered, provenance

from rubriclab.errors import StoreError
from rubriclab.store import Store, open_store
from rubriclab.store.answers import answer_digest
from rubriclab.store.engine import address
from rubriclab.store.schema import REVISIONS, SCRIPTS, VERSION_TABLE
from rubriclab.store.tables import METADATA
from rubriclab.training_record import RecordedText, TrainingRecord

# A store as the first schema had it: one rubric in two versions, a tag and an answer.
FIRST = Path(__file__).with_name("schema_0001.sql")


@pytest.fixture
def first(tmp_path: Path) -> Path:
    file = tmp_path / "first.db"
    connection = sqlite3.connect(file)
    connection.executescript(FIRST.read_text(encoding="utf-8"))
    connection.close()
    return file


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


def test_a_store_of_the_first_schema_is_brought_up_to_date_and_keeps_everything(first: Path) -> None:
    with open_store(first) as store:
        assert [version.ref for version in store.log("old")] == ["old@2", "old@1"]
        assert store.load("old@best").parent == "old@1"
        assert store.load("old@1").rubric.criteria[0].statement == "The text is better by 1."
        assert store.answers.get("sha256:asked") == {"text": "paid for"}
        assert store.verify() == ()
        assert store.save("old", numbered(3), provenance(), EFFORT).ref == "old@3"
    connection = sqlite3.connect(first)
    with pytest.raises(sqlite3.IntegrityError, match="versions never change"):
        connection.execute("DELETE FROM versions")
    assert connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall() == [(REVISIONS[-1],)]
    connection.close()


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_a_store_of_any_schema_is_brought_up_to_date_with_what_it_holds(where: str, revision: str) -> None:
    from alembic import command

    engine = create_engine(address(where))
    with engine.begin() as connection:
        command.upgrade(_config(connection), revision)
        known = [column["name"] for column in inspect(connection).get_columns("answers")]
        values = ", ".join(f":{name}" for name in known)
        rows = [_answer(f"sha256:{n:04}", f'{{"text":"{n}"}}') for n in range(2500)]
        connection.execute(text(f"INSERT INTO answers ({', '.join(known)}) VALUES ({values})"), rows)
    engine.dispose()
    with open_store(where) as store:
        assert store.answers.count() == 2500
        assert store.answers.get("sha256:2499") == {"text": "2499"}
        assert store.verify() == ()
        assert store.save("news", numbered(1), provenance(), EFFORT).ref == "news@1"


def test_the_first_schema_has_not_been_rewritten(first: Path, tmp_path: Path) -> None:
    """What was released stays as it was: a store of today, taken down to the first schema, is the frozen one."""
    from alembic import command

    open_store(tmp_path / "new.db").close()
    engine = create_engine(address(tmp_path / "new.db"))
    with engine.begin() as connection:
        command.downgrade(_config(connection), REVISIONS[0])
    engine.dispose()
    assert _schema(tmp_path / "new.db") == _schema(first)


def _answer(digest: str, reply: str) -> dict[str, str]:
    return {"digest": digest, "reply": reply, "created": "then", "reply_digest": answer_digest(digest, reply)}


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    return config


def _schema(file: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(file)
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL ORDER BY name").fetchall()
    connection.close()
    return rows


def test_the_migrations_can_be_taken_back(store: Store, where: str) -> None:
    from alembic import command

    engine = create_engine(address(where))
    with engine.begin() as connection:
        command.downgrade(_config(connection), "base")
        command.upgrade(_config(connection), "head")
    engine.dispose()
    assert store.save("news", numbered(1), provenance(), EFFORT).ref == "news@1"


def test_training_records_are_packed_and_unpacked_by_the_migration(store: Store, where: str) -> None:
    from alembic import command

    record = TrainingRecord(
        texts=(RecordedText(id="a", group="g", output="tëxt", label=1),), candidates=(), cells=((),)
    )
    store.save("news", numbered(1), provenance(), EFFORT, training=record)
    engine = create_engine(address(where))
    with engine.begin() as connection:
        command.downgrade(_config(connection), "0005")
        assert connection.execute(text("SELECT content FROM trainings")).scalar() == "".join(record.content())
        command.upgrade(_config(connection), "head")
    engine.dispose()
    assert store.training("news") == record
    assert store.verify() == ()


def test_a_store_of_a_newer_rubriclab_is_refused_and_left_alone(store: Store, where: str) -> None:
    engine = create_engine(address(where))
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9001'"))
    with pytest.raises(StoreError, match=r"has schema '9001'.*written by a newer version: upgrade rubriclab"):
        open_store(where)
    with engine.connect() as connection:
        assert connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar() == "9001"
    engine.dispose()


def test_opening_a_current_store_does_not_load_alembic(tmp_path: Path) -> None:
    open_store(tmp_path / "store.db").close()
    code = "import sys, rubriclab.store as s; s.open_store(sys.argv[1]).close(); print('alembic' in sys.modules)"
    command = [sys.executable, "-c", code, str(tmp_path / "store.db")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "False"
