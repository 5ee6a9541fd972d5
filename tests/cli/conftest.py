"""What the tests of single commands share: a store that holds a few rubrics, learned offline from the sample."""

from __future__ import annotations

import shutil

import pytest
import scripted_model
from commands import HELDOUT, LABELLED, Commands
from server import RunningServer

LEARN = ("learn", LABELLED, "--task", "summarization", "--scale", "1:5", "--method", "hypoeval")


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """A store with news@1, news@2 (from more texts) and relevance@1, to be read only."""
    commands = Commands(tmp_path_factory.mktemp("learned"), RUBRICLAB_STORE="store.db")
    for more in (
        ("--aspect", "coherence", "--name", "news"),
        ("--aspect", "coherence", "--name", "news", "--set", "hypoeval.initial_examples=8"),
        ("--aspect", "relevance", "--name", "relevance"),
    ):
        assert commands(*LEARN, *more).code == 0
    return commands


@pytest.fixture(scope="session")
def pack(learned: Commands) -> str:
    return learned("export", "news@1").out


@pytest.fixture
def own(learned: Commands, rubriclab: Commands) -> Commands:
    """The command line with a copy of that store, to be changed."""
    shutil.copy(learned.folder / "store.db", rubriclab.folder)
    return rubriclab


@pytest.fixture
def models(_running_server: RunningServer) -> RunningServer:
    """A server with two models that rank alike, one of them severe."""
    _running_server.reset()
    _running_server.brain = scripted_model.two_minds
    return _running_server


@pytest.fixture
def offline(own: Commands) -> Commands:
    """The command line with a copy of that store and twelve texts."""
    (own.folder / "texts.jsonl").write_bytes(b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:12]))
    return own


@pytest.fixture
def asking(offline: Commands, models: RunningServer) -> Commands:
    """The same beside the server with two models."""
    return Commands(offline.folder, **offline.environment, OPENAI_API_BASE=models.url, OPENAI_API_KEY="none")
