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
        ("report", "news", "-o", "/dev/full"),
        ("export", "news", "-o", "/dev/full"),
        ("evaluate", HELDOUT, "--rubric", "news", "--html", "/dev/full"),
    ],
)
def test_an_output_on_a_full_disk_is_named(learned: Commands, command: tuple[object, ...]) -> None:
    done = learned(*command)
    assert (done.code, done.error) == (2, f"/dev/full {NO_SPACE}")


def test_standard_output_on_a_full_disk_is_named(learned: Commands) -> None:
    for command in (("show", "news"), ("score", HELDOUT, "--rubric", "news")):
        done = _printing_to_full_disk(learned, *command)
        assert done.returncode == 2
        assert "error: standard output cannot be written: No space left on device" in done.stderr
        assert "Exception" not in done.stderr


def test_a_store_on_a_full_disk_is_named(tmp_path: Path) -> None:
    little = Commands(tmp_path, before=partial(limit_files, 40_000), RUBRICLAB_STORE="store.db")
    task = ("--task", "summarization", "--aspect", "coherence", "--scale", "1:5", "--name", "news")
    done = little("learn", LABELLED, *task, "--method", "hypoeval")
    assert done.code == 2
    assert done.error.startswith("The store store.db cannot be used: ")


def test_a_recording_on_a_full_disk_is_named(own: Commands) -> None:
    little = Commands(own.folder, before=partial(limit_files, 60_000), RUBRICLAB_STORE="store.db")
    done = little("score", HELDOUT, "--rubric", "news", "--record", "run.jsonl", "-o", "/dev/null")
    assert (done.code, done.error) == (2, "The recording run.jsonl cannot be written: File too large.")


def _printing_to_full_disk(commands: Commands, *command: object) -> subprocess.CompletedProcess[str]:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        return subprocess.run(
            [SCRIPT, *map(str, command)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=commands.folder,
            env=commands.environment,
            check=False,
        )
