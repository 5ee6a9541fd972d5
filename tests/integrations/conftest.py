"""The store that tests of other tools score with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pytest_projects import brain
from server import RunningServer


@pytest.fixture
async def store(tmp_path: Path, planted_store: Path, server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The planted versions, whose judge is the local server; tools write their results beside them."""
    server.brain = brain
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(planted_store, tmp_path / "store.db"))
