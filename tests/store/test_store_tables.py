"""Where a store is found, and what is said of one that cannot be opened."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import forking
from postgresql import PostgreSQL
from privileges import give_up
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DatabaseError
from store_samples import EFFORT, execute, numbered, provenance, rubric

from rubriclab.errors import StoreError, StoreUnavailable
from rubriclab.store import tables as engine
from rubriclab.store.store import Store, open_store
from rubriclab.store.tables import SCHEMA, SCHEMA_TABLE, database_url, make_engine, show_url, with_write_lock


def test_a_password_is_never_shown() -> None:
    url = database_url("postgresql://me:secret@localhost:1/rubrics")
    assert "secret" not in show_url(url)
    with pytest.raises(StoreError, match="cannot be used") as caught:
        open_store("postgresql://me:secret@localhost:1/rubrics?connect_timeout=2&password=secret")
    assert "secret" not in str(caught.value)
    assert "***@localhost:1/rubrics" in str(caught.value)


def test_a_missing_driver_is_named_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'rubriclab\[postgresql\]'"):
        open_store("postgresql://me@host/rubrics")


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(StoreError, match="No driver for nonsense://host"):
        open_store("nonsense://host/rubrics")
    for where in ("postgresql://host:port/rubrics", "sqlite://host/rubrics.db", "://"):
        with pytest.raises(StoreError, match="address is not understood"):
            open_store(where)


@pytest.mark.parametrize(
    "address", ["sqlite:///file:{}?mode=rw&uri=true", "sqlite:///file:{}", "sqlite:///{}?mode=ro", "sqlite://?x=1"]
)
def test_an_address_that_says_how_sqlite_opens_the_file_is_refused(tmp_path: Path, address: str) -> None:
    file = tmp_path / "rubrics.db"
    with pytest.raises(StoreError, match="Write the path of its file alone"):
        open_store(address.format(file))
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("These are notes and not a database at all.\n" * 100)
    with pytest.raises(StoreError, match=r"notes.txt cannot be used: file is not a database"):
        open_store(file)
    assert file.read_text().startswith("These are notes")


def test_a_folder_and_a_path_below_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open database file"):
        open_store(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"The folder of .* cannot be made"):
        open_store(tmp_path / "file" / "store.db")


def test_a_damaged_file_is_an_error_of_the_store(tmp_path: Path) -> None:
    with open_store(tmp_path / "store.db") as store:
        store.save("news", rubric(), provenance(), EFFORT)
    connection = sqlite3.connect(tmp_path / "store.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    size = os.path.getsize(tmp_path / "store.db")
    os.truncate(tmp_path / "store.db", size // 2)
    with pytest.raises(StoreError, match=r"cannot be used: .*malformed"), open_store(tmp_path / "store.db") as store:
        store.verify()


def test_a_wait_for_another_process_that_writes_is_logged_and_the_write_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine, "LONG_WAIT", 0.05)
    place = tmp_path / "store.db"
    with with_write_lock(make_engine(database_url(place))).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE numbers (number INTEGER)")
    other = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.15, other.execute, ["COMMIT"]).start()
    with (
        caplog.at_level(logging.INFO, "rubriclab"),
        with_write_lock(make_engine(database_url(place))).begin() as connection,
    ):
        connection.exec_driver_sql("INSERT INTO numbers VALUES (1)")
    assert "another process that writes to the store" in caplog.text
    assert other.execute("SELECT count(*) FROM numbers").fetchone() == (1,)
    other.close()


def test_a_store_with_another_schema_is_refused_and_left_alone(store: Store, where: str) -> None:
    execute(where, f"UPDATE {SCHEMA_TABLE.name} SET number = '9001'")
    with pytest.raises(StoreError, match=rf"has schema '9001'; expected '{SCHEMA}'\. It was written"):
        open_store(where)
    engine = create_engine(database_url(where))
    with engine.connect() as connection:
        assert connection.execute(text(f"SELECT number FROM {SCHEMA_TABLE.name}")).scalar() == "9001"
    engine.dispose()


def test_a_store_of_the_schema_before_gets_the_table_that_it_lacks(store: Store, where: str) -> None:
    saved = store.save("news", numbered(1), provenance(), EFFORT)
    execute(where, "DROP TABLE evaluations")
    execute(where, f"UPDATE {SCHEMA_TABLE.name} SET number = '{engine.EARLIER_SCHEMA}'")
    for _ in range(2):
        with open_store(where) as upgraded:
            assert upgraded.load("news") == replace(saved, new=False)
            assert upgraded.verify() == ()
    with pytest.raises(DatabaseError, match="never change"):
        execute(where, "DELETE FROM versions")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "shared"
    with open_store(folder / "store.db") as store:
        store.save("news", numbered(1), provenance(), EFFORT)
        store.answers.put("sha256:a", {"text": "4"})
    yield folder
    folder.chmod(0o700)


def modes(path: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.iterdir()}


def close_to_writing(folder: Path, what: str) -> list[str]:
    """Take permission to write from the store's file, its folder or both; return what is in the folder."""
    if what != "folder":
        for file in folder.iterdir():
            file.chmod(0o400)
    if what != "file":
        folder.chmod(0o500)
    return sorted(os.listdir(folder))


def read_all(where: str, access: Any, answers: Any) -> None:
    """Read a version and an answer, as somebody who has to obey permissions, and report what was met."""
    give_up()
    try:
        with open_store(where, access=access) as store:
            found = [*store.names(), store.load("news").ref, store.verify(), store.answers.get("sha256:a")]
            answers.send(found)
            for change in (lambda: store.tag("news", "best"), store.answers.check_writable):
                try:
                    answers.send(change())
                except StoreError as error:
                    answers.send(str(error))
    except StoreError as error:
        answers.send(str(error))
    answers.close()


def as_a_user(folder: Path, access: str) -> list[Any]:
    ours, theirs = forking().Pipe()
    process = forking().Process(target=read_all, args=(str(folder / "store.db"), access, theirs))
    process.start()
    theirs.close()
    messages = []
    while True:
        try:
            messages.append(ours.recv())
        except EOFError:
            break
    process.join(60)
    assert process.exitcode == 0
    return messages


FOUND = ["news", "news@1", (), {"text": "4"}]


@pytest.mark.parametrize(("what", "access"), [("file", "read"), ("folder", "write if possible"), ("both", "read")])
def test_a_store_that_may_only_be_read_is_read_and_left_as_it_was(folder: Path, what: str, access: str) -> None:
    before = close_to_writing(folder, what)
    found, tagged, claimed = as_a_user(folder, access)
    assert found == FOUND
    assert "is read-only" in tagged
    assert "is read-only and lacks an answer that is needed; no request was made" in claimed
    assert sorted(os.listdir(folder)) == before == ["store.db"]


def test_what_another_process_has_just_written_is_read_too(folder: Path) -> None:
    with open_store(folder / "store.db") as writing:
        writing.save("other", numbered(2), provenance(), EFFORT)
        before = close_to_writing(folder, "both")
        assert before == ["store.db", "store.db-shm", "store.db-wal"]
        assert as_a_user(folder, "read")[0] == ["news", "other", *FOUND[1:]]
        assert sorted(os.listdir(folder)) == before


def test_reading_a_store_that_may_be_written_changes_and_leaves_nothing(folder: Path) -> None:
    before = (folder / "store.db").read_bytes()
    with open_store(folder / "store.db", access="read") as store:
        assert store.load("news").ref == "news@1"
        with pytest.raises(StoreError, match="is read-only"):
            store.tag("news", "best")
    assert os.listdir(folder) == ["store.db"]
    assert (folder / "store.db").read_bytes() == before


def test_a_database_without_tables_is_an_error_where_it_is_only_read(folder: Path) -> None:
    (folder / "store.db").unlink()
    sqlite3.connect(folder / "store.db").close()
    close_to_writing(folder, "both")
    (error,) = as_a_user(folder, "read")
    assert f"lacks tables of schema '{SCHEMA}' and is opened read-only." in error


@pytest.mark.parametrize("access", ["read", "write if possible", "write"])
def test_a_store_in_a_folder_that_may_not_be_searched_cannot_be_opened(folder: Path, access: str) -> None:
    folder.chmod(0o600)
    (error,) = as_a_user(folder, access)
    folder.chmod(0o700)
    assert "store.db cannot be opened: permission denied." in error


def test_a_role_that_may_only_select_reads_on_postgresql(schema: str) -> None:
    with open_store(schema) as store:
        store.save("news", numbered(1), provenance(), EFFORT)
        store.answers.put("sha256:a", {"text": "4"})
    name = database_url(schema).query["options"].partition("=")[2]
    execute(schema, f"CREATE ROLE reader_{name} LOGIN")
    execute(schema, f"GRANT USAGE ON SCHEMA {name} TO reader_{name}")
    execute(schema, f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO reader_{name}")
    reader = database_url(schema).set(username=f"reader_{name}").render_as_string(hide_password=False)
    with open_store(reader, access="write if possible") as store:
        assert [*store.names(), store.load("news").ref, store.verify(), store.answers.get("sha256:a")] == FOUND
        with pytest.raises(StoreError, match="is read-only and lacks an answer"):
            store.answers.check_writable()


def test_a_new_store_is_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with open_store(tmp_path / "new" / "deeper" / "store.db") as store:
            store.answers.put("sha256:a", {"text": "4"})
            found = modes(tmp_path / "new" / "deeper")
    finally:
        os.umask(before)
    assert found == dict.fromkeys(("store.db", "store.db-shm", "store.db-wal"), 0o600)
    assert modes(tmp_path) == {"new": 0o700}
    assert modes(tmp_path / "new") == {"deeper": 0o700}


REPLY = {"text": "4"}


def drop_all(url: str) -> None:
    """End every other connection of the server."""
    engine = create_engine(database_url(url))
    with engine.connect() as connection:
        others = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        assert connection.execute(text(f"{others} AND backend_type = 'client backend'")).scalar_one() > 0
    engine.dispose()


def test_a_dropped_connection_is_reopened_and_answers_are_committed_on_it(schema: str) -> None:
    with open_store(schema) as store, open_store(schema) as other:
        store.answers.put("sha256:a", REPLY)
        drop_all(schema)
        assert store.answers.get("sha256:a") == REPLY
        drop_all(schema)
        store.answers.put("sha256:b", REPLY)
        drop_all(schema)
        assert other.answers.get("sha256:b") == REPLY
        assert not other.answers.put("sha256:b", REPLY)
        drop_all(schema)
        assert store.save("news", numbered(2), provenance(), EFFORT).ref == "news@1"


def test_a_server_that_is_away_is_a_clear_error_and_loses_nothing_that_was_stored(
    postgresql: PostgreSQL, schema: str
) -> None:
    with open_store(schema) as store:
        assert store.answers.put("sha256:a", REPLY)
        postgresql.stop()
        try:
            with pytest.raises(StoreUnavailable, match="cannot be used: ") as failed:
                store.answers.put("sha256:b", REPLY)
            with pytest.raises(StoreUnavailable):
                store.save("news", numbered(1), provenance(), EFFORT)
        finally:
            postgresql.start()
        assert failed.value.exit_code == 2
        assert store.answers.get("sha256:a") == REPLY
        assert store.answers.put("sha256:b", REPLY)
        assert store.save("news", numbered(1), provenance(), EFFORT).ref == "news@1"
