"""A bug of rubriclab's own: its exit code, and what is said of it."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rubriclab.cli.main import run, stop_logging
from rubriclab.cli.store import list_names


def broken(_call: object) -> None:
    raise ZeroDivisionError("\x1b[31m never\nto be seen")


@pytest.fixture(autouse=True)
def _broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(list_names, "callback", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield
    stop_logging()


def test_a_bug_exits_with_70_and_one_line_that_names_the_file_of_its_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["list"]) == 70
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "has a bug: ZeroDivisionError: \\x1b[31m never to be seen. Please report it" in said
    found = re.search(r"the traceback is in (\S+\.txt)\.", said)
    file = Path(found[1])
    assert "in broken" in file.read_text("utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(("name", "package"), [("sklearn", "scikit-learn"), ("pyarrow", ""), ("sqlalchemy.x", "")])
def test_a_missing_dependency_is_an_incomplete_installation_and_no_bug(capsys, monkeypatch, name, package) -> None:
    def failing(_call: object) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(list_names, "callback", failing)
    assert run(["list"]) == (2 if package else 70)
    repair = f"incomplete: {package} is missing. To repair it: pip install '{package}>="
    assert (repair in capsys.readouterr().err) == bool(package)


@pytest.mark.parametrize("shown", ["0", "1"])
def test_no_key_is_in_what_a_bug_leaves(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shown: str
) -> None:
    def failing(_call: object) -> None:
        raise ZeroDivisionError("live-0123456789abcdef, ?sig=another-secret, http://me:hunter2@host")

    monkeypatch.setattr(list_names, "callback", failing)
    monkeypatch.setenv("OPENAI_API_KEY", "live-0123456789abcdef")
    monkeypatch.setenv("RUBRICLAB_TRACEBACK", shown)
    assert run(["list"]) == 70
    said = capsys.readouterr().err + "".join(file.read_text("utf-8") for file in tmp_path.iterdir())
    assert said.count("ZeroDivisionError: ***") == 2
    assert not any(secret in said for secret in ("0123456789", "another-secret", "hunter2"))


def test_a_traceback_is_shown_where_that_is_asked_for_and_a_bug_is_told_where_no_file_can_be_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert run(["list"]) == 70
    assert "the traceback could not be written, RUBRICLAB_TRACEBACK=1 shows it." in capsys.readouterr().err
    monkeypatch.setenv("RUBRICLAB_TRACEBACK", "1")
    assert run(["list"]) == 70
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "the traceback is above" in said
    assert not list(tmp_path.iterdir())
