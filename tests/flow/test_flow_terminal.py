"""What a person at a terminal sees, and what a pipe gets."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest
from commands import HELDOUT, SCRIPT, Commands
from flow_server import HYPOEVAL, LITTLE, texts

LEARN = (*HYPOEVAL, "--judge", "embedded")


def on_a_terminal(commands: Commands, *command: object) -> tuple[str, str]:
    """Return standard output, and what a terminal got from standard error."""
    ours, theirs = pty.openpty()
    environment = {**commands.environment, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=theirs, cwd=commands.folder, env=environment
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                seen += os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
        os.close(ours)
        out = process.communicate()[0]
    assert process.returncode == 0, seen
    return out.decode(), seen.decode()


def test_a_bar_with_calls_and_money_is_shown_on_a_terminal_only(rubriclab: Commands) -> None:
    out, seen = on_a_terminal(rubriclab, SCRIPT, "learn", texts(rubriclab.folder, 12), *LEARN, *LITTLE)
    assert out.startswith("news@1: 3 criteria\n")
    assert "calls" in seen
    assert "$0.0000" in seen
    assert "labelled texts seen" in seen or "texts rated by" in seen
    assert "\x1b[" in seen
    assert "Saved in store.db" in seen
    without = rubriclab("learn", texts(rubriclab.folder, 13), *LEARN, *LITTLE)
    assert "\x1b[" not in without.err
    assert [line.split()[0] for line in without.err.splitlines()] == ["3", "judge:", "Learning", "Saved"]


@pytest.fixture
def long(rubriclab: Commands) -> Path:
    """A rubric in the store, and more texts than a pipe holds scores of."""
    assert rubriclab("learn", texts(rubriclab.folder, 12), *LEARN, *LITTLE).code == 0
    file = rubriclab.folder / "texts.jsonl"
    file.write_bytes(HELDOUT.read_bytes())
    return file


def test_a_reader_that_leaves_early_is_no_error(rubriclab: Commands, long: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; '{SCRIPT}' score '{long}' --rubric news | head -1"],
        capture_output=True,
        text=True,
        cwd=rubriclab.folder,
        env=rubriclab.environment,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("judge: embedded")
