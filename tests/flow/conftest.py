"""What whole flows share: the server with a brain, and the command line that asks it."""

from __future__ import annotations

from pathlib import Path

import hypoeval_brain
import pytest
from commands import Commands
from flow_server import commands_at
from server import RunningServer


@pytest.fixture
def provider(_running_server: RunningServer) -> RunningServer:
    """A server that answers HypoEval's prompts well until told otherwise."""
    _running_server.reset()
    _running_server.brain = hypoeval_brain.reply
    return _running_server


@pytest.fixture
def asking(provider: RunningServer, tmp_path: Path) -> Commands:
    """The command line, with that server as its judge."""
    return commands_at(provider, tmp_path)
