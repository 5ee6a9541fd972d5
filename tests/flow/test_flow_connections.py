"""Connections at the end of a command: none is left open, however it ends."""

from __future__ import annotations

import itertools
import os
import signal
from collections import deque

import pytest
from commands import Commands
from flow_server import some_texts
from server import RunningServer
from waiting import until

# Runs a command in an interpreter that tells of everything left open.
PROGRAM = """
import gc, sys, warnings
from rubriclab.cli.main import run
warnings.simplefilter("default", ResourceWarning)
code = run({arguments})
gc.collect()
sys.exit(code)
"""


@pytest.mark.parametrize(("ending", "code"), [("done", 0), ("refused", 4), ("interrupted", 130)])
def test_no_command_ends_with_a_word_about_open_connections(
    ending: str, code: int, provider: RunningServer, learned: Commands
) -> None:
    (learned.folder / "few.jsonl").write_bytes(some_texts())
    provider.script = deque([*[None] * 4, *itertools.repeat("unauthorized", 1000)] if ending == "refused" else [])
    provider.held = ending == "interrupted"
    arguments = ["score", "few.jsonl", "--rubric", "news", "--concurrency", "4", "-o", "scores"]
    started = learned.start("-c", PROGRAM.format(arguments=arguments))
    if ending == "interrupted":
        until(lambda: provider.requests.total() > 0)
        os.kill(started.pid, signal.SIGINT)
    done = started.wait()
    provider.held = False
    assert done.code == code
    assert "nclosed" not in done.err
    assert "never awaited" not in done.err
