"""Connections at the end of a command: none is left open, however it ends."""

from __future__ import annotations

import gc
import itertools
import signal
import subprocess
import sys
import time
from collections import deque

import pytest
from commands import HELDOUT, PATIENCE, Commands
from server import RunningServer

from rubriclab.judges import LanguageModel, close_connections
from rubriclab.methods.dcr.evaluate import convert_prompt

# Where the tests run in the background of a shell, Ctrl-C is ignored, and so it would be in what they start.
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from rubriclab.cli.main import main; main()"
)


async def test_a_client_that_litellm_has_forgotten_is_closed_too(
    server: RunningServer, recwarn: pytest.WarningsRecorder
) -> None:
    await LanguageModel("openai/fake").reply(convert_prompt({1: "It says so."}))
    import litellm  # not before rubriclab has: it would fetch a price table from the network

    litellm.in_memory_llm_clients_cache.cache_dict.clear()  # as it does after an hour
    await close_connections()
    gc.collect()
    assert [str(warning.message) for warning in recwarn if "nclosed" in str(warning.message)] == []


@pytest.mark.parametrize("ending", ["done", "refused", "interrupted"])
def test_no_command_ends_with_a_word_about_open_connections(
    provider: RunningServer, learned: Commands, ending: str
) -> None:
    if ending == "refused":
        provider.script = deque([*[None] * 4, *itertools.repeat("unauthorized", 1000)])
    provider.latency = 1.0 if ending == "interrupted" else 0.02
    (learned.folder / "few.jsonl").write_bytes(b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:6]))
    process = started_strictly(learned, "score", "few.jsonl", "--rubric", "news", "--concurrency", "4", "-o", "scores")
    if ending == "interrupted":
        while not provider.requests and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == {"done": 0, "refused": 4, "interrupted": 130}[ending]
    assert "nclosed" not in errors
    assert "never awaited" not in errors
    assert "Traceback" not in errors


def started_strictly(commands: Commands, *arguments: str) -> subprocess.Popen[str]:
    """Return the command under way in an interpreter that tells of everything left open."""
    command = [sys.executable, "-W", "default::ResourceWarning", "-c", PROGRAM, *arguments]
    return subprocess.Popen(
        command,
        cwd=commands.folder,
        env=commands.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
