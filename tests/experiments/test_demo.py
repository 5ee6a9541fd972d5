"""The demonstration: its recorded answers fit every prompt, and without them it goes on with the offline judge."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Commands

from experiments.demo import (
    HELDOUT,
    LABELLED,
    NAME,
    RECORDING,
    TASK,
    commands,
    label_command,
    studio_command,
)
from rubriclab.cli.main import every_command

CHECKOUT = Path(__file__).parents[2]


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(not RECORDING.exists(), reason="no answers of a language model ship with this checkout")
def test_the_recorded_answers_fit_every_prompt_of_the_demonstration(tmp_path: Path) -> None:
    """A prompt that has changed makes this fail: record again, as experiments/demo.py says."""
    (tmp_path / "experiments").symlink_to(CHECKOUT / "experiments")
    rubriclab = Commands(tmp_path)
    for line in commands(tmp_path, ("--judge", f"recorded:{RECORDING}")):
        done = rubriclab(*line, "--store", tmp_path / "store.db")
        assert done.code == 0, done.err
    assert (tmp_path / "rubric.html").read_text().count("Offline judge") == 0
    assert (tmp_path / "evaluation.html").exists()


def test_answers_that_do_not_fit_leave_the_offline_part(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text('{"format":"rubriclab-recording","version":1}\n{"judge":"gpt","identity":{}}\n')
    code = (
        "import sys; from pathlib import Path; from experiments.demo import demonstrate; "
        "folder = Path(sys.argv[1]); sys.exit(demonstrate(folder, folder / 'old.jsonl'))"
    )
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "A prompt has changed since the answers were recorded" in done.stdout
    assert "Offline judge" in (tmp_path / "rubric-offline.html").read_text()
    assert (tmp_path / "scores-offline.csv").exists()
    for name, *arguments in (studio_command(tmp_path), label_command(tmp_path)):
        assert f"rubriclab {shlex.join((name, *arguments))}\n" in done.stdout
        every_command()[name].make_context(name, arguments)


def test_the_demonstration_uses_the_sample() -> None:
    assert LABELLED.is_file()
    assert HELDOUT.is_file()
    assert ("learn", str(LABELLED), *TASK, "--name", NAME) == commands(Path("demo"), ())[0]
