"""Where a store is found, and what is said of one that cannot be opened."""

from __future__ import annotations

import logging
import os
import sqlite3
import sys
import threading
from pathlib import Path

import platformdirs
import pytest
from sqlalchemy import text
from store_samples import EFFORT, provenance, rubric

from rubriclab.errors import StoreError
from rubriclab.store import tables as engine
from rubriclab.store.store import open_store
from rubriclab.store.tables import (
    address,
    make_engine,
    shown,
    writing,
)


def test_the_folders_above_a_file_are_made(tmp_path: Path) -> None:
    for where in (tmp_path / "a" / "b.db", str(tmp_path / "c" / "d.db"), f"sqlite:///{tmp_path}/e/f.db"):
        with open_store(where) as store:
            assert Path(store.place).is_file()


def test_a_file_is_found_by_path_and_by_url_alike(tmp_path: Path) -> None:
    with open_store(tmp_path / "100%#?.db") as store:
        store.save("news", rubric(), provenance(), EFFORT)
    with open_store(str(tmp_path / "100%#?.db")) as store:
        assert store.names() == ("news",)


def test_sqlite_is_set_up_for_several_processes(tmp_path: Path) -> None:
    engine = make_engine(address(tmp_path / "store.db"))
    with engine.connect() as connection:
        pragmas = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    engine.dispose()
    assert pragmas == {"journal_mode": "wal", "synchronous": 1, "foreign_keys": 1, "busy_timeout": 30_000}


def test_without_an_address_the_store_is_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platformdirs, "user_data_path", lambda name, **_: Path("/data") / name)
    assert shown(address(None)) == str(Path("/data/rubriclab/store.db"))


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_postgresql_is_spoken_to_through_psycopg(scheme: str) -> None:
    assert address(f"{scheme}://me@host/rubrics").drivername == "postgresql+psycopg"


def test_a_password_is_never_shown() -> None:
    url = address("postgresql://me:secret@localhost:1/rubrics")
    assert "secret" not in shown(url)
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


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open database file"):
        open_store(tmp_path)


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
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


def test_a_writer_holds_the_lock_from_its_start(tmp_path: Path) -> None:
    engine = make_engine(address(tmp_path / "store.db"))
    other = sqlite3.connect(tmp_path / "store.db", timeout=0)
    with writing(engine).begin(), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")
    other.close()
    engine.dispose()


def test_a_store_in_memory_works_too() -> None:
    with open_store("sqlite://") as store:
        store.answers.put("sha256:a", {"text": "4"})
        assert store.save("news", rubric(), provenance(), EFFORT).new
        assert store.answers.get("sha256:a") == {"text": "4"}
        assert store.place == ":memory:"
        assert store.verify() == ()


def test_a_wait_for_another_process_that_writes_is_logged_and_the_write_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine, "LONG", 0.05)
    place = tmp_path / "store.db"
    with writing(make_engine(address(place))).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE numbers (number INTEGER)")
    other = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, other.execute, ["COMMIT"]).start()
    with (
        caplog.at_level(logging.INFO, "rubriclab"),
        writing(make_engine(address(place))).begin() as connection,
    ):
        connection.exec_driver_sql("INSERT INTO numbers VALUES (1)")
    assert "another process that writes to the store" in caplog.text
    assert other.execute("SELECT count(*) FROM numbers").fetchone() == (1,)
    other.close()
