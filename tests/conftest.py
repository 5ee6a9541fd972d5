"""What tests share: the local OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from server import RunningServer

from rubriclab.judges import close_connections


@pytest.fixture(scope="session")
def _running_server() -> Iterator[RunningServer]:
    with RunningServer() as server:
        yield server


@pytest.fixture
async def server(_running_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RunningServer]:
    """A server that answers well until told otherwise, and the environment in which `openai/fake` is asked there."""
    _running_server.reset()
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_API_BASE", _running_server.url)
    yield _running_server
    await close_connections()
