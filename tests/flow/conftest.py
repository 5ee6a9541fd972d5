"""What whole flows share: a server with a brain, the command line that asks it, and runs that went well."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Commands
from flow_server import Run, commands_at, undisturbed
from server import RunningServer


@pytest.fixture
def provider(_running_server: RunningServer) -> RunningServer:
    """A server that answers the prompts of all methods well until told otherwise."""
    _running_server.reset()
    return _running_server


@pytest.fixture
def asking(provider: RunningServer, tmp_path: Path) -> Commands:
    """The command line, with that server as its judge and an empty store."""
    return commands_at(provider, tmp_path)


@pytest.fixture(scope="session")
def runs(_running_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """What each method comes to undisturbed; learned when it is first asked for."""

    @functools.cache
    def run(method: str) -> Run:
        _running_server.reset()
        found = undisturbed(method, commands_at(_running_server, tmp_path_factory.mktemp(method)), _running_server)
        _running_server.reset()
        return found

    return run


@pytest.fixture
def method() -> str:
    """What a rubric is learned by unless a test says otherwise: what takes the fewest requests."""
    return "direct"


@pytest.fixture
def run(method: str, runs: Callable[[str], Run]) -> Run:
    return runs(method)


@pytest.fixture
def learned(run: Run, asking: Commands) -> Commands:
    """The command line with a copy of that run's store, in which no text is scored."""
    shutil.copy(run.folder / "learned.db", asking.folder / "store.db")
    return asking
