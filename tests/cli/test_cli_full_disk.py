"""A disk that is full: the error says which file could not be written."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

import pytest
from commands import HELDOUT, LABELLED, SCRIPT, Commands
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
    task = ("--task", "summarization", "--aspect", "coherence", "--scale", "1:5", "--name", "news")
    done = little("learn", LABELLED, *task, "--method", "hypoeval")
    assert done.code == 2
    assert done.error.startswith("The store store.db cannot be used: ")


def test_a_recording_on_a_full_disk_is_named(own: Commands) -> None:
    little = Commands(own.folder, before=partial(limit_files, 60_000), RUBRICLAB_STORE="store.db")
    done = little("score", HELDOUT, "--rubric", "news", "--record", "run.jsonl", "-o", "/dev/null")
    assert (done.code, done.error) == (2, "run.jsonl cannot be written: File too large.")
