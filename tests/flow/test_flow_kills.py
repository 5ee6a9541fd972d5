"""A few kills at random moments; `experiments/benchmarks/kills.py` does the same two hundred times."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from flow_server import Run, some_texts
from killing import OPERATIONS, Operation, kill_once, undisturbed
from server import RunningServer

DRAW = random.Random(7)
KILLED = ("score", "import", "create")


@pytest.fixture(scope="module")
def start(runs: Callable[[str], Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    run, folder = runs("direct"), tmp_path_factory.mktemp("start")
    shutil.copy(run.folder / "learned.db", folder / "store.db")
    (folder / "pack.json").write_text(run.pack, "utf-8")
    (folder / "heldout.jsonl").write_bytes(some_texts())
    return folder


# One that asks, one that changes a store and one that creates it.
@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.name in KILLED], ids=lambda each: each.name)
def test_a_command_killed_at_any_moment_ends_as_if_nothing_had_been(
    operation: Operation, start: Path, provider: RunningServer, tmp_path: Path
) -> None:
    expected = undisturbed(provider, operation, start, tmp_path / "expected")
    killed = kill_once(provider, expected, tmp_path / "killed", DRAW)
    assert killed.faults == ()
