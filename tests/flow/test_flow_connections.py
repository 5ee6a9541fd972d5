"""Connections at the end of a command: none is left open, however it ends."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import time
from collections import deque

from commands import HELDOUT, PATIENCE, Commands
from server import RunningServer

# Runs the same command once for each line of standard input, and prints its exit code. Where the tests run in the
# background of a shell, Ctrl-C is ignored, and so it would be in what they start.
PROGRAM = """
import gc, signal, sys
from rubriclab.cli.main import main
for line in sys.stdin:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main(sys.argv[1:])
    except SystemExit as ended:
        print(ended.code or 0, flush=True)
    gc.collect()
"""


def test_no_command_ends_with_a_word_about_open_connections(provider: RunningServer, learned: Commands) -> None:
    lines = HELDOUT.read_bytes().splitlines(keepends=True)
    score = ("score", "few.jsonl", "--rubric", "news", "--concurrency", "4", "-o", "scores")
    with started_strictly(learned, *score) as process:
        assert process.stdin
        assert process.stdout
        for number, (ending, code) in enumerate({"done": 0, "refused": 4, "interrupted": 130}.items()):
            (learned.folder / "few.jsonl").write_bytes(b"".join(lines[6 * number : 6 * number + 6]))
            provider.requests.clear()
            provider.script = deque(
                [*[None] * 4, *itertools.repeat("unauthorized", 1000)] if ending == "refused" else []
            )
            provider.latency = 1.0 if ending == "interrupted" else 0.02
            process.stdin.write(f"{ending}\n")
            process.stdin.flush()
            if ending == "interrupted":
                while not provider.requests and process.poll() is None:
                    time.sleep(0.05)
                process.send_signal(signal.SIGINT)
            if ending != "interrupted":
                assert process.stdout.readline() == f"{code}\n"
        _, errors = process.communicate(timeout=PATIENCE)
    # An interrupted command ends the process itself.
    assert process.returncode == 130
    assert "nclosed" not in errors
    assert "never awaited" not in errors
    assert "Traceback" not in errors


def started_strictly(commands: Commands, *arguments: str) -> subprocess.Popen[str]:
    """Return a process that runs a command several times, in an interpreter that tells of everything left open."""
    return subprocess.Popen(
        [sys.executable, "-W", "default::ResourceWarning", "-c", PROGRAM, *arguments],
        cwd=commands.folder,
        env=commands.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
