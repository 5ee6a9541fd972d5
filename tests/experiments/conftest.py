"""What the tests of studies share: the public sets in little, and the command in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from commands import Commands, Done
from study_rows import write_sets

from experiments.runner.sets import Sets, sets_in


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every public set in little."""
    return write_sets(tmp_path_factory.mktemp("sets"))


@pytest.fixture(scope="session")
def sets(data: Path) -> Sets:
    return sets_in(data)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store for all of them: the offline judge's answers are not kept, so that they leave nothing in it."""
    return str(tmp_path_factory.mktemp("studies") / "store.db")


@pytest.fixture
def experiment(store: str, tmp_path: Path) -> Callable[..., Done]:
    """`python -m experiments` in this process, in an empty folder."""
    return partial(Commands(tmp_path, RUBRICLAB_STORE=store), "experiment")
