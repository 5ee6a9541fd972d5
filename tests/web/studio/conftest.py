"""A learned store, once for all tests of the studio's working pages; each test works on a copy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from working_studio import Client, make_store, served

from rubriclab import Lab


@pytest.fixture(scope="session")
def _learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("studio") / "store.db")


@pytest.fixture
def store(_learned: Path, tmp_path: Path) -> Path:
    """A store with two rubrics, that of the test alone."""
    return shutil.copy(_learned, tmp_path / "store.db")


@pytest.fixture
def twin(_learned: Path, tmp_path: Path) -> Lab:
    """The same store in another file, for what Python makes of the same operation."""
    return Lab(shutil.copy(_learned, tmp_path / "twin.db"), progress=None, notify=lambda _text: None)


@pytest.fixture
def studio(store: Path) -> Iterator[Client]:
    """The studio over `store`."""
    with served(store) as client:
        yield client
