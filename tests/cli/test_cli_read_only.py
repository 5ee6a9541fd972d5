"""A store that may only be read: commands that read it work, others say what they lack before anything is paid for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import HELDOUT, LABELLED, TASK, Commands
from privileges import give_up


@pytest.fixture
def shared(learned: Commands, tmp_path: Path) -> Iterator[Commands]:
    """The command line as somebody who may read the store and its folder, and write neither."""
    folder = tmp_path / "shared"
    folder.mkdir()
    shutil.copy(learned.folder / "store.db", folder)
    (tmp_path / "few.jsonl").write_bytes(b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:12]))
    (folder / "store.db").chmod(0o400)
    folder.chmod(0o500)
    yield Commands(tmp_path, before=give_up, RUBRICLAB_STORE="shared/store.db")
    folder.chmod(0o700)


@pytest.mark.parametrize(
    "command",
    [
        ("verify",),
        ("report", "news"),
        ("score", "few.jsonl", "--rubric", "news"),
        ("evaluate", "few.jsonl", "--rubric", "news", "--json"),
    ],
)
def test_reading_commands_work_and_leave_nothing_behind(shared: Commands, command: tuple[object, ...]) -> None:
    done = shared(*command)
    assert done.code == 0, done.err
    assert done.out
    assert os.listdir(shared.folder / "shared") == ["store.db"]


def test_commands_that_write_say_that_the_store_may_only_be_read(shared: Commands) -> None:
    for command in (
        ("tag", "news@1", "best"),
        ("verify", "--repair"),
        ("learn", LABELLED, *TASK, "--name", "news", "--method", "hypoeval"),
        ("serve", "news", "--judge", "openai/fake", "--price", "1:1", "--port", "0"),
    ):
        done = shared(*command)
        assert (done.code, done.out) == (2, "")
        assert done.error.startswith("The store shared/store.db is read-only")
