"""What the flows of CheckEval, SEEval and the baselines share: a server that answers them, and undisturbed runs."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable

import pytest
import scripted_model
from commands import Commands
from flow_server import commands_at
from method_flows import Run, undisturbed
from server import RunningServer


def well_disposed(server: RunningServer) -> RunningServer:
    server.reset()
    server.brain = scripted_model.reply
    return server


@pytest.fixture
def provider(_running_server: RunningServer) -> RunningServer:
    """A server that answers the methods' prompts well until told otherwise."""
    return well_disposed(_running_server)


@pytest.fixture(scope="session")
def runs(_running_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """What each method comes to undisturbed; learned when it is first asked for."""

    @functools.cache
    def run(method: str) -> Run:
        commands = commands_at(well_disposed(_running_server), tmp_path_factory.mktemp(method))
        found = undisturbed(method, commands, _running_server)
        well_disposed(_running_server)
        return found

    return run


@pytest.fixture
def run(method: str, runs: Callable[[str], Run]) -> Run:
    """The undisturbed run of the method that a test is about."""
    return runs(method)


@pytest.fixture
def learned(run: Run, asking: Commands) -> Commands:
    """The command line with a copy of that run's store."""
    shutil.copy(run.folder / "store.db", asking.folder)
    return asking
