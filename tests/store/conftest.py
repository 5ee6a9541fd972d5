"""The two databases that every test of the store's behaviour runs on: SQLite files and a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rubriclab.store.store import Store, open_store


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without tables, of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    return str(request.getfixturevalue("schema"))


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    """An empty store of either kind."""
    with open_store(where) as store:
        yield store


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Store]:
    """An empty store in an SQLite file, for what does not hang on the kind of database."""
    with open_store(tmp_path / "store.db") as store:
        yield store


@pytest.fixture(scope="module")
def memory() -> Iterator[Store]:
    """A store in memory, for the tries of a property."""
    with open_store("sqlite://") as store:
        yield store
