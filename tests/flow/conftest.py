"""What whole flows share: the server with a brain, the command line that asks it, and a little run that went well."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import scripted_model
from commands import Commands
from flow_server import Little, commands_at, learn_little
from server import RunningServer


@pytest.fixture
def provider(_running_server: RunningServer) -> RunningServer:
    """A server that answers HypoEval's prompts well until told otherwise."""
    _running_server.reset()
    _running_server.brain = scripted_model.reply
    return _running_server


@pytest.fixture
def asking(provider: RunningServer, tmp_path: Path) -> Commands:
    """The command line, with that server as its judge and an empty store."""
    return commands_at(provider, tmp_path)


@pytest.fixture(scope="session")
def little(_running_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Little:
    """A run of HypoEval in little that nothing disturbed."""
    _running_server.reset()
    _running_server.brain = scripted_model.reply
    commands = commands_at(_running_server, tmp_path_factory.mktemp("little"))
    done = learn_little(commands)
    assert done.code == 0, done.err
    return Little(commands.folder / "store.db", done.json)


@pytest.fixture
def learned(little: Little, asking: Commands) -> Commands:
    """The command line with a copy of that run's store."""
    shutil.copy(little.store, asking.folder)
    return asking
