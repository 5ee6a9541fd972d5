"""What tests share: the local OpenAI-compatible server, a PostgreSQL server, and the command line."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from batch_server import BatchServer
from commands import Commands
from edit_samples import save_versions
from postgresql import PostgreSQL, empty_schema, running_postgresql
from server import RunningServer

from rubriclab import Lab
from rubriclab.judges.limits import Retried
from rubriclab.judges.llm import SchemaProbed, close_connections
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.replies import Reply
from rubriclab.prompts.prompt import Prompt
from rubriclab.store.store import open_store

# A run of the tests says the same about the same code every time; a test that has need of more examples says so.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=20)
hypothesis.settings.load_profile("repeatable")


class Unprobed(SchemaProbed):
    """A judge that sends no probe, and no schemas to a server of the user's own."""

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        return await self.judge.reply(prompt)


# Servers are not asked whether they heed schemas, so that a test counts its own requests only.
sys.modules["rubriclab.judges.connect"].SchemaProbed = Unprobed  # type: ignore[attr-defined]
# As `Commands` sets it for its processes: answers that a command has kept are those that a test in Python asks for.
JudgeOptions.model_fields["structured"].default = "text"
JudgeOptions.model_rebuild(force=True)


@pytest.fixture(scope="session")
def _running_server() -> Iterator[RunningServer]:
    with RunningServer() as server:
        yield server
    assert not server.defects


@pytest.fixture
async def server(_running_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RunningServer]:
    """A server that answers well until told otherwise, and the environment in which `openai/fake` is asked there.

    After a failure it is asked again at once, unless it asks for a pause.
    """
    _running_server.reset()
    monkeypatch.setattr(Retried.__init__, "__kwdefaults__", {**Retried.__init__.__kwdefaults__, "base": 0.001})
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_API_BASE", _running_server.url)
    yield _running_server
    await close_connections()


@pytest.fixture(scope="session")
def _running_batch_server() -> Iterator[BatchServer]:
    with BatchServer() as server:
        yield server


@pytest.fixture
async def batch_server(
    _running_batch_server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[BatchServer]:
    _running_batch_server.reset()
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_API_BASE", _running_batch_server.url)
    yield _running_batch_server
    from rubriclab.running import end_other_tasks

    await end_other_tasks()  # a batch that is still followed would open connections again
    await close_connections()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    with running_postgresql() as server:
        yield server


@pytest.fixture
def schema(postgresql: PostgreSQL) -> str:
    return empty_schema(postgresql.url)


@pytest.fixture(scope="session")
def planted_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the versions of `edit_samples`, to be read only."""
    file = tmp_path_factory.mktemp("planted") / "store.db"
    with open_store(file) as store:
        save_versions(store)
    return file


@pytest.fixture
def planted(planted_store: Path, rubriclab: Commands) -> Commands:
    """The command line with a copy of that store, to be changed."""
    shutil.copy(planted_store, rubriclab.folder / "store.db")
    return rubriclab


@pytest.fixture
def planted_lab(planted: Commands) -> Lab:
    return Lab(planted.folder / "store.db", progress=None)


@pytest.fixture
def rubriclab(tmp_path: Path) -> Commands:
    """The command line, run in an empty folder with a store of its own."""
    return Commands(tmp_path, RUBRICLAB_STORE="store.db")
