"""The demonstration: its recorded answers fit every prompt, and its files are written nowhere else."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from commands import Commands, Done

from rubriclab.cli.commands import DEMO_ASPECT
from rubriclab.cli.main import every_command
from rubriclab.errors import SettingsError
from rubriclab.ops.check import SAMPLE_FILES, write_sample


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> tuple[Commands, Done]:
    """The demonstration in a folder with a configuration of its own, and how it ended."""
    rubriclab = Commands(tmp_path_factory.mktemp("demonstration"), RUBRICLAB_METHOD="none", RUBRICLAB_STORE="other.db")
    (rubriclab.folder / "rubriclab.toml").write_text("method = 'none'")
    return rubriclab, rubriclab("demo", "tried")


def test_the_recorded_answers_fit_every_prompt_of_the_demonstration_and_it_needs_no_configuration(
    tried: tuple[Commands, Done],
) -> None:
    """A prompt that has changed makes this fail: record again, as the README of the ratings says."""
    rubriclab, done = tried
    assert done.code == 0, done.err
    pages = {path.name for path in (rubriclab.folder / "tried").glob("*.html")}
    assert pages == {"rubric.html", "evaluation.html", "pass-fail.html"}
    assert {path.name for path in rubriclab.folder.iterdir()} == {"rubriclab.toml", "tried"}


def test_the_demonstration_ends_with_commands_that_work(tried: tuple[Commands, Done]) -> None:
    said = tried[1].out
    assert "Open tried/rubric.html, tried/evaluation.html and tried/pass-fail.html in a browser" in said
    shown = re.findall(r"^  .*rubriclab ((?:studio|label) .+)$", said, re.MULTILINE)
    assert len(shown) == 2
    for name, *arguments in map(shlex.split, shown):
        every_command()[name].make_context(name, arguments)


@pytest.mark.parametrize(
    ("line", "code"),
    [("show nothing", 2), (f"score DEMO/heldout.jsonl --rubric {DEMO_ASPECT} -o DEMO/new.csv --fail-under 5 JUDGE", 1)],
)
def test_a_command_that_fails_ends_the_demonstration_with_its_code(
    line: str, code: int, tried: tuple[Commands, Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rubriclab.cli.commands.DEMO_PARTS", {"Part": [line, f"export {DEMO_ASPECT}"]})
    done = tried[0]("demo", "tried")
    assert (done.code, done.out.count("\n$ rubriclab")) == (code, 1)


def test_the_sample_is_written_to_a_new_or_empty_folder_and_accepted_there_again(tmp_path: Path) -> None:
    assert write_sample(tmp_path) == write_sample(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(SAMPLE_FILES)
    (tmp_path / "rated.jsonl").touch()
    assert write_sample(tmp_path / "new" / "folder").heldout.is_file()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("notes.txt", "mine", "has files, but no README.md"),
        ("README.md", "mine", "has files, but its README.md differs"),
    ],
)
def test_a_folder_with_other_files_is_left_as_it_is(tmp_path: Path, name: str, content: str, problem: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SettingsError, match=f"{problem}. Name another folder; nothing was written."):
        write_sample(tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, content)]
