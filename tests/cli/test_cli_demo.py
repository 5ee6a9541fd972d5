"""The demonstration: its recorded answers fit every prompt, and its files are written nowhere else."""

from __future__ import annotations

import re
import shlex
import sys
from itertools import chain
from pathlib import Path

import pytest
from commands import Commands

from rubriclab.cli.commands import NAME, PARTS, STORE, demo_parts, run_in
from rubriclab.cli.main import every_command
from rubriclab.errors import SettingsError
from rubriclab.ops.check import FILES, RECORDING, write_ratings, write_sample


def test_the_recorded_answers_fit_every_prompt_of_the_demonstration(tmp_path: Path) -> None:
    """A prompt that has changed makes this fail: record again, as the README of the ratings says."""
    write_ratings(tmp_path)
    rubriclab = Commands(tmp_path)
    judge = ("--judge", f"recorded:{RECORDING}")
    for line in chain(*demo_parts(judge).values()):
        done = rubriclab(*line, "--store", STORE)
        assert done.code == 0, done.err
    assert {path.name for path in tmp_path.glob("*.html")} == {"rubric.html", "evaluation.html", "pass-fail.html"}


def test_the_demonstration_ends_with_commands_that_work_and_needs_no_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    title, (first, *_) = next(iter(PARTS.items()))
    monkeypatch.setattr("rubriclab.cli.commands.PARTS", {title: [f"{first} --dry-run"]})
    monkeypatch.setenv("RUBRICLAB_METHOD", "none")
    (tmp_path / "rubriclab.toml").write_text("method = 'none'")
    monkeypatch.chdir(tmp_path)
    every_command()["demo"].main(["tried"], standalone_mode=False)
    said = capfd.readouterr().out
    assert "Open tried/rubric.html, tried/evaluation.html and tried/pass-fail.html in a browser" in said
    shown = re.findall(r"^  .*rubriclab ((?:studio|label) .+)$", said, re.MULTILINE)
    assert len(shown) == 2
    for name, *arguments in map(shlex.split, shown):
        every_command()[name].make_context(name, arguments)


def test_a_command_that_fails_ends_the_demonstration_with_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "false")  # a program that does nothing and ends with 1
    assert run_in(tmp_path, [("show", NAME), ("export", NAME)]) == 1
    assert capfd.readouterr().out == f"$ rubriclab show {NAME} --store {STORE}\n"


def test_the_sample_is_written_to_a_new_or_empty_folder_and_accepted_there_again(tmp_path: Path) -> None:
    assert write_sample(tmp_path) == write_sample(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    (tmp_path / "rated.jsonl").touch()
    assert write_sample(tmp_path / "new" / "folder").heldout.is_file()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("notes.txt", "mine", "its README.md is missing"),
        ("README.md", "mine", "its README.md differs from that of the sample"),
    ],
)
def test_a_folder_with_other_files_is_left_as_it_is(tmp_path: Path, name: str, content: str, problem: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SettingsError, match=f"{problem}. Name another folder; nothing was written."):
        write_sample(tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, content)]
