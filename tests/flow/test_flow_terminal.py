"""What a person at a terminal sees, and what a pipe gets."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from functools import partial

from commands import HELDOUT, SCRIPT, Commands, Done
from flow_server import HYPOEVAL, ONE_ROUND, TASK, texts

OFFLINE = ("--judge", "embedded")


def attach(terminal: str) -> None:
    """Have this process write its errors to a terminal."""
    os.dup2(os.open(terminal, os.O_WRONLY | os.O_NOCTTY), 2)
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115


def on_a_terminal(commands: Commands, *command: object) -> tuple[Done, str]:
    """Return how a command ended, and what a terminal got from standard error."""
    ours, theirs = pty.openpty()
    seen: list[bytes] = []

    def read() -> None:
        try:
            while content := os.read(ours, 4096):
                seen.append(content)
        except OSError:  # the other side is closed
            os.close(ours)

    reader = threading.Thread(target=read)
    reader.start()
    attached = Commands(commands.folder, before=partial(attach, os.ttyname(theirs)), **commands.environment)
    done = attached(*command, TERM="xterm", COLUMNS="120")
    os.close(theirs)
    reader.join()
    return done, b"".join(seen).decode()


def test_a_bar_with_calls_and_money_is_shown_on_a_terminal_only(rubriclab: Commands) -> None:
    learn = ("learn", texts(rubriclab.folder, 12), *HYPOEVAL, *ONE_ROUND, *OFFLINE)
    done, seen = on_a_terminal(rubriclab, *learn)
    assert done.code == 0, seen
    assert done.out.startswith("news@1: 1 criterion\n")
    assert "calls" in seen
    assert "$0.0000" in seen
    assert "labelled texts seen" in seen or "texts rated by" in seen
    assert "\x1b[" in seen
    assert "Saved in store.db" in seen
    without = rubriclab(*learn, "--store", "other.db")
    assert "\x1b[" not in without.err
    assert [line.split()[0] for line in without.err.splitlines()] == ["2", "judge:", "Learning", "Saved"]


def test_a_reader_that_leaves_early_is_no_error(rubriclab: Commands) -> None:
    assert rubriclab("learn", texts(rubriclab.folder, 12), *TASK, "--method", "direct", *OFFLINE).code == 0
    # More texts than a pipe holds scores of.
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; '{SCRIPT}' score '{HELDOUT}' --rubric news | head -1"],
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
