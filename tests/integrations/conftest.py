"""The store that tests of other tools score with, and the scores that they must have."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import Commands
from pytest_projects import TEXTS, Parity, Project, brain
from server import RunningServer


@pytest.fixture
async def store(tmp_path: Path, planted_store: Path, server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The planted versions, whose judge is the local server; tools write their results beside them."""
    server.brain = brain
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(planted_store, tmp_path / "store.db"))


@pytest.fixture
async def project(tmp_path: Path, planted_store: Path, server: RunningServer) -> Project:
    """An empty project with the planted versions, whose judge is the local server."""
    server.brain = brain
    shutil.copy(planted_store, tmp_path / "store.db")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    # The server is asked whether it heeds schemas, as the plugin has no option for that.
    found: dict[str, Any] = {"OPENAI_API_BASE": server.url, "OPENAI_API_KEY": "none", "RUBRICLAB_STRUCTURED": "auto"}
    return Project(Commands(tmp_path, RUBRICLAB_STORE="store.db", **found))


@pytest.fixture
async def parity(store: Path, server: RunningServer) -> Parity:
    (store.parent / "texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in TEXTS), "utf-8")
    judge: dict[str, Any] = {"OPENAI_API_BASE": server.url, "OPENAI_API_KEY": "none"}
    commands = Commands(store.parent, RUBRICLAB_STORE="store.db", **judge)
    # In a thread, as its event loop would else take the place of the one that the tools find.
    done = await asyncio.to_thread(commands, "score", "texts.jsonl", "--rubric", "remote@1")
    return Parity({row["id"]: row for row in done.rows}, server)
