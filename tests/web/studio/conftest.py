"""A learned store, once for all tests of the studio; a test that changes it works on a copy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest
from studio_samples import JUDGE, Client, PaidJudge, make_store, served

from rubriclab import Lab
from rubriclab.judges import plug_ins


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that no test changes."""
    return make_store(tmp_path_factory.mktemp("studio") / "store.db")


@pytest.fixture
def store(learned: Path, tmp_path: Path) -> Path:
    """A copy of it, that of the test alone."""
    return Path(shutil.copy(learned, tmp_path / "store.db"))


@pytest.fixture
def twin(learned: Path, tmp_path: Path) -> Lab:
    """The same store in another file, for what Python makes of the same operation."""
    return Lab(shutil.copy(learned, tmp_path / "twin.db"), progress=None, notify=lambda _text: None)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[PaidJudge]]:
    """The judge of `PAID`, installed; it has not been asked yet."""
    point = EntryPoint(JUDGE, "studio_samples:PaidJudge", "rubriclab.judges")
    found = point._for(SimpleNamespace(name="counting-judge", version="1.0"))  # type: ignore[attr-defined]
    monkeypatch.setattr(plug_ins, "entry_points", lambda **_group: [found])
    plug_ins.judge_entry_points.cache_clear()
    for name, value in (("asked", 0), ("seconds", 0.0), ("refuses", False)):
        monkeypatch.setattr(PaidJudge, name, value)
    yield PaidJudge
    plug_ins.judge_entry_points.cache_clear()


@pytest.fixture
def studio(store: Path) -> Iterator[Client]:
    with served(store) as client:
        yield client


@pytest.fixture(scope="module")
def reader(learned: Path) -> Iterator[Client]:
    """The studio over the store that no test changes, for pages that only read it."""
    with served(learned) as client:
        yield client
