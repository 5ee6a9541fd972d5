"""What the tests of studies share: the public sets in little, and the command in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from study_rows import write_sets

from experiments import commands
from experiments.runner.sets import Sets, sets_in
from rubriclab.cli.main import run


@dataclass(frozen=True)
class Said:
    """How a command ended in this process, and what it wrote."""

    code: int
    out: str
    err: str


Experiment = Callable[..., Said]


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every public set in little."""
    return write_sets(tmp_path_factory.mktemp("sets"))


@pytest.fixture
def sets(data: Path) -> Sets:
    """The sets in that folder."""
    return sets_in(data)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store for all of them: the offline judge's answers are not kept, so that they leave nothing in it."""
    return str(tmp_path_factory.mktemp("studies") / "store.db")


@pytest.fixture
def experiment(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Experiment:
    """`rubriclab experiment` in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUBRICLAB_STORE", store)

    def ask(*arguments: object) -> Said:
        capsys.readouterr()
        code = run(list(map(str, arguments)), commands.experiment, "python -m experiments")
        found = capsys.readouterr()
        return Said(code, found.out, found.err)

    return ask
