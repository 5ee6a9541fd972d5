"""The page with the parity table names every integration that is tested, and the versions that the tests install."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import CHECKOUT
from parity_table import PACKAGE, PAGE, VARIABLE, page_rows, same_scores

ROWS = page_rows(PAGE.read_text("utf-8"))
PINNED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


def pins() -> dict[str, set[str]]:
    """Return the versions of each package in the constraints, and that of promptfoo in its script."""
    found: dict[str, set[str]] = {}
    for file in sorted(CHECKOUT.glob("constraints*.txt")):
        for name, version in PINNED.findall(file.read_text("utf-8")):
            found.setdefault(name, set()).add(version)
    script = Path(__file__).with_name("install_promptfoo.sh").read_text("utf-8")
    return {**found, "promptfoo": set(re.findall(r"^version=(\S+)", script, re.MULTILINE))}


@pytest.mark.parametrize("name", ROWS)
def test_the_version_in_the_table_is_that_of_the_constraints(name: str) -> None:
    (package,) = PACKAGE.findall(name)
    assert ROWS[name][1] in pins()[package]


def test_every_integration_that_compares_scores_is_in_the_table() -> None:
    compared = [
        f"{name} (`{package}`)"
        for file in Path(__file__).parent.glob("test_*.py")
        if file != Path(__file__)
        for name, package in re.findall(
            r"(?:same_scores|parity\.check)\(\s*\"(.+?)\", \"(.+?)\"", file.read_text("utf-8")
        )
    ]
    assert sorted(compared) == sorted(ROWS)


def shown(file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Return how the command ended."""
    program = Path(__file__).with_name("parity_table.py")
    return subprocess.run([sys.executable, program, file, *options], capture_output=True, text=True, check=False)


def test_a_difference_is_noted_and_fails_and_the_command_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "new" / "parity.jsonl"
    monkeypatch.setenv(VARIABLE, str(file))
    same_scores("pytest", "pytest", {"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0})
    with pytest.raises(AssertionError):
        same_scores("scikit-learn", "scikit-learn", {"a": 1.0, "b": 2.25}, {"a": 1.0, "b": 2.0})
    assert [json.loads(line)[2:] for line in file.read_text("utf-8").splitlines()] == [["2", "0"], ["2", "0.25"]]
    done = shown(file)
    assert done.returncode == 1
    assert "| 2 | 0.25 |" in done.stdout
    assert "has another table" in done.stdout
