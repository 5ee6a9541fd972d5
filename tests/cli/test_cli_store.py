"""`rubriclab store`: size, prune and vacuum, with answers of a real server."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import scripted_model
from commands import LABELLED, Commands
from server import RunningServer

from rubriclab import Lab

TASK: dict[str, Any] = {
    "task": "summarization",
    "aspect": "coherence",
    "scale": "1:5",
    "methods": "direct",
    "name": "direct",
}
ROWS = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()[:12]]


@pytest.fixture(scope="module")
def learned_online(tmp_path_factory: pytest.TempPathFactory, _running_server: RunningServer) -> Path:
    """A folder with a store that holds direct@1, learned from the server's answers."""
    folder = tmp_path_factory.mktemp("storage")
    with pytest.MonkeyPatch.context() as patch:
        lab = lab_in(folder, patch, _running_server)
        lab.learn(ROWS, **TASK)
    return folder


def lab_in(folder: Path, patch: pytest.MonkeyPatch, server: RunningServer) -> Lab:
    """Return a `Lab` with the store in a folder, whose judge is the server."""
    server.reset()
    server.brain = scripted_model.reply
    patch.setenv("OPENAI_API_BASE", server.url)
    patch.setenv("OPENAI_API_KEY", "none")
    return Lab(folder / "store.db", judge="openai/fake", progress=None)


@pytest.fixture
def lab(learned_online: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _running_server: RunningServer) -> Lab:
    """A `Lab` with a copy of that store."""
    shutil.copytree(learned_online, tmp_path / "own")
    return lab_in(tmp_path / "own", monkeypatch, _running_server)


@pytest.fixture
def online(lab: Lab, tmp_path: Path) -> Commands:
    """The command line with the same copy."""
    return Commands(tmp_path / "own", RUBRICLAB_STORE="store.db")


def answers(lab: Lab) -> int:
    return sum(kind.rows for kind in lab.store_size().kinds if kind.kind == "cached answers")


def test_removed_answers_are_asked_again_and_versions_stay(online: Commands, lab: Lab) -> None:
    assert online("store", "prune", "--older-than", "0d").code == 0
    assert answers(lab) == 0
    vacuumed = online("store", "vacuum", "--json").json
    assert vacuumed["after"] < vacuumed["before"]
    assert lab.verify().problems == ()
    lab.learn(ROWS, **TASK)
    assert answers(lab) == len(ROWS)
