"""A few kills at random moments; `experiments/benchmarks/kills.py` does the same two hundred times."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from killing import OPERATIONS, Operation, kill_once, starting_folder, undisturbed
from server import RunningServer

DRAW = random.Random(7)


@pytest.fixture(scope="module")
def start(_running_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return starting_folder(_running_server, tmp_path_factory.mktemp("start"))


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.name != "learn"], ids=lambda each: each.name)
def test_a_command_killed_at_any_moment_ends_as_if_nothing_had_been(
    operation: Operation, start: Path, provider: RunningServer, tmp_path: Path
) -> None:
    expected = undisturbed(provider, operation, start, tmp_path / "expected")
    killed = kill_once(provider, expected, tmp_path / "killed", DRAW)
    assert killed.faults == ()
