"""Stores that may only be read, and what others may do with a store that was created."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from privileges import give_up
from sqlalchemy import create_engine, text
from store_samples import EFFORT, numbered, provenance

from rubriclab.errors import StoreError
from rubriclab.store.store import open_store
from rubriclab.store.tables import SCHEMA, address

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["rubriclab.store", "privileges"])


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a store in it."""
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
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=read_all, args=(str(folder / "store.db"), access, theirs))
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


@pytest.mark.parametrize("access", ["read", "either"])
@pytest.mark.parametrize("what", ["file", "folder", "both"])
def test_a_store_that_may_only_be_read_is_read_and_left_as_it_was(folder: Path, what: str, access: str) -> None:
    before = close_to_writing(folder, what)
    found, tagged, claimed = as_a_user(folder, access)
    assert found == FOUND
    assert "is read-only" in tagged
    assert "is read-only and lacks an answer that is needed; no request was made" in claimed
    assert sorted(os.listdir(folder)) == before == ["store.db"]


@pytest.mark.parametrize("what", ["file", "folder", "both"])
def test_what_another_process_has_just_written_is_read_too(folder: Path, what: str) -> None:
    with open_store(folder / "store.db") as writing:
        writing.save("other", numbered(2), provenance(), EFFORT)
        before = close_to_writing(folder, what)
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


def test_a_database_without_tables_is_an_error_only_where_they_cannot_be_created(folder: Path) -> None:
    (folder / "store.db").unlink()
    sqlite3.connect(folder / "store.db").close()
    close_to_writing(folder, "both")
    (error,) = as_a_user(folder, "read")
    assert f"has no tables; expected schema '{SCHEMA}'. It is read-only here." in error
    folder.chmod(0o700)
    (folder / "store.db").chmod(0o600)
    with open_store(folder / "store.db", access="read") as store:
        assert store.names() == ()


def test_a_role_that_may_only_select_reads_on_postgresql(schema: str) -> None:
    with open_store(schema) as store:
        store.save("news", numbered(1), provenance(), EFFORT)
        store.answers.put("sha256:a", {"text": "4"})
    name = address(schema).query["options"].partition("=")[2]
    engine = create_engine(address(schema))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE ROLE reader_{name} LOGIN"))
        connection.execute(text(f"GRANT USAGE ON SCHEMA {name} TO reader_{name}"))
        connection.execute(text(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO reader_{name}"))
    engine.dispose()
    reader = address(schema).set(username=f"reader_{name}").render_as_string(hide_password=False)
    with open_store(reader, access="either") as store:
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


def test_the_modes_of_a_store_that_is_there_are_left(folder: Path) -> None:
    (folder / "store.db").chmod(0o660)
    folder.chmod(0o750)
    with open_store(folder / "store.db") as store:
        store.answers.put("sha256:b", {"text": "4"})
        assert set(modes(folder).values()) == {0o660}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
