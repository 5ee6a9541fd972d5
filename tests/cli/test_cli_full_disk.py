"""A disk that is full: the error says which file could not be written."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

import pytest
from commands import HELDOUT, LABELLED, SCRIPT, TASK, Commands
from privileges import limit_files

NO_SPACE = "cannot be written: No space left on device."


@pytest.mark.parametrize(
    "command",
    [
        ("score", HELDOUT, "--rubric", "news", "-o", "/dev/full"),
        ("export", "news", "-o", "/dev/full"),
        ("evaluate", HELDOUT, "--rubric", "news", "--html", "/dev/full"),
    ],
)
def test_an_output_on_a_full_disk_is_named(learned: Commands, command: tuple[object, ...]) -> None:
    done = learned(*command)
    assert (done.code, done.error) == (2, f"/dev/full {NO_SPACE}")
    assert "written" not in done.err.replace(done.error, "")


def test_standard_output_on_a_full_disk_is_named(learned: Commands) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [SCRIPT, "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=learned.folder,
            env=learned.environment,
            check=False,
        )
    assert done.returncode == 2
    assert b"error: standard output cannot be written: No space left on device" in done.stderr
    assert b"Exception" not in done.stderr


def test_a_store_on_a_full_disk_is_named(tmp_path: Path) -> None:
    little = Commands(tmp_path, before=partial(limit_files, 40_000), RUBRICLAB_STORE="store.db")
    done = little("learn", LABELLED, *TASK, "--name", "news", "--method", "hypoeval")
    assert done.code == 2
    assert done.error.startswith("The store store.db cannot be used: ")


def test_a_recording_on_a_full_disk_is_named(own: Commands) -> None:
    little = Commands(own.folder, before=partial(limit_files, 60_000), RUBRICLAB_STORE="store.db")
    done = little("score", HELDOUT, "--rubric", "news", "--record", "run.jsonl", "-o", "/dev/null")
    assert (done.code, done.error) == (2, "run.jsonl cannot be written: File too large.")
    assert (own.folder / "run.jsonl").read_bytes().endswith(b"\n")


def test_a_full_disk_leaves_an_earlier_file_unchanged(own: Commands) -> None:
    (own.folder / "store.db").chmod(0o400)
    (own.folder / "x-train.jsonl").write_text("earlier")
    little = Commands(own.folder, before=partial(limit_files, 500), RUBRICLAB_STORE="store.db")
    for command in (("export", "news", "x-train"), ("report", "news", "x-train"), ("split", HELDOUT, "x")):
        done = little(*command[:2], "-o", f"{command[2]}.jsonl")
        assert (done.code, done.error) == (2, "x-train.jsonl cannot be written: File too large.")
        assert (own.folder / "x-train.jsonl").read_text() == "earlier"
    assert not list(own.folder.glob(".x*"))
