"""The composite action for GitHub, whose steps are run with bash as a runner does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import CHECKOUT, HELDOUT, SCRIPT
from pytest_projects import in_full

FOLDER = CHECKOUT / "actions" / "check"
ACTION: dict[str, Any] = yaml.safe_load((FOLDER / "action.yml").read_text("utf-8"))
PAGE = CHECKOUT / "docs" / "integrations" / "github-actions.md"


@dataclass(frozen=True)
class Ended:
    """How the steps ended, and what they wrote for the runner."""

    code: int
    log: str
    summary: str
    output: str


@pytest.fixture
def folder(tmp_path: Path, planted_store: Path) -> Path:
    """A folder with a store, a file of outputs, and a folder for programs that come before the installed ones."""
    shutil.copy(planted_store, tmp_path / "store.db")
    rows = [json.loads(line) for line in HELDOUT.read_text("utf-8").splitlines()[:16]]
    rows = [{name: row[name] for name in ("id", "output", "source", "group")} for row in rows]
    (tmp_path / "old texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    (tmp_path / "bin").mkdir()
    return tmp_path


def replace_program(folder: Path, name: str, script: str) -> None:
    """Have the steps of the action run a shell script in place of a program."""
    program = folder / "bin" / name
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)


def run(folder: Path, *, install: str = "false", **inputs: str) -> Ended:
    """Return how the steps of the action end, with these inputs and the defaults."""
    values = {name: str(each["default"]) for name, each in ACTION["inputs"].items()}
    values |= {name.replace("_", "-"): value for name, value in inputs.items()} | {"install": install}
    assert values.keys() == ACTION["inputs"].keys()

    def expanded(text: str) -> str:
        text = text.replace("${{ github.action_path }}", str(FOLDER))
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: values[match[1]], text)

    summary, output = folder / "summary.md", folder / "output.txt"
    environment = {
        "PATH": f"{folder / 'bin'}:{SCRIPT.parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_OUTPUT": str(output),
    }
    code, log = 0, ""
    for step in ACTION["runs"]["steps"]:
        if step.get("if") == "inputs.install != 'false'" and values["install"] == "false":
            continue
        given = {name: expanded(value) for name, value in step["env"].items()}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            command, cwd=folder, env={**environment, **given}, capture_output=True, text=True, check=False
        )
        code, log = code or done.returncode, log + done.stdout + done.stderr
    return Ended(code, log, *(file.read_text("utf-8") if file.exists() else "" for file in (summary, output)))


@in_full
def test_results_become_an_outcome_and_a_summary(folder: Path) -> None:
    done = run(
        folder,
        store="store.db",
        judge="embedded",
        drift="planted@1 alone@1 'old texts.jsonl' --max-shift 0\n",
        compare="'old texts.jsonl' 'old texts.jsonl' --rubric planted@1\n",
    )
    assert (done.code, done.output) == (1, "outcome=failed\n"), done.log
    lines = done.summary.splitlines()
    assert lines[:4] == [
        "| check | outcome |",
        "| --- | --- |",
        "| `rubriclab drift planted@1 alone@1 'old texts.jsonl' --max-shift 0` | **failed** |",
        "| `rubriclab compare 'old texts.jsonl' 'old texts.jsonl' --rubric planted@1` | passed |",
    ]
    assert done.summary.count("\n## ") == 2  # the result of each command


@pytest.mark.parametrize(
    ("install", "installed"), [("", f"{FOLDER}/../.."), ("rubriclab==0.1.0", "rubriclab==0.1.0"), ("false", None)]
)
def test_the_version_of_the_action_is_installed_unless_another_one_is_named(
    folder: Path, install: str, installed: str | None
) -> None:
    replace_program(folder, "python", 'printf "%s\\n" "$@" > arguments')
    run(folder, install=install)
    arguments = folder / "arguments"
    assert (arguments.read_text("utf-8").splitlines()[-1] if arguments.exists() else None) == installed
    assert (FOLDER / ".." / ".." / "pyproject.toml").exists()


def test_the_runner_takes_no_commands_from_what_is_printed(folder: Path) -> None:
    replace_program(folder, "rubriclab", "echo ::set-output name=outcome::passed; echo ::error::id; exit 1")
    done = run(folder, compare="old new")
    assert done.output == "outcome=failed\n"
    stopped = re.search(r"^::stop-commands::([0-9a-f]{32})\n(.*)\n::\1::$", done.log, re.DOTALL | re.MULTILINE)
    assert stopped
    assert stopped[2].splitlines() == ["::set-output name=outcome::passed", "::error::id"]
    own = (stopped[0], "::group::rubriclab compare old new", "::endgroup::")
    assert "::" not in re.sub("|".join(map(re.escape, own)), "", done.log)


def test_a_command_that_cannot_work_ends_the_check_and_keeps_the_results_before_it(folder: Path) -> None:
    replace_program(folder, "rubriclab", "case $2 in nothing@1) exit 2;; esac")
    done = run(folder, gate="planted@1\nnothing@1\nremote@1")
    assert (done.code, done.output) == (2, "outcome=error\n")
    assert "::error::rubriclab gate nothing@1: exit code 2" in done.log
    assert "`rubriclab gate planted@1` | passed" in done.summary
    assert "remote@1`" not in done.summary


def test_faulty_inputs_are_named_before_anything_runs(folder: Path) -> None:
    for inputs, message in (
        ({}, "nothing to check"),
        ({"gate": "planted@1", "inconclusive": "maybe"}, "expected fail or pass, got maybe"),
        ({"gate": "'planted@1"}, "the quotation marks do not match"),
    ):
        done = run(folder, **inputs)
        assert (done.code, f"::error::{message}" in done.log or message in done.log) == (2, True), done.log


def test_no_input_is_pasted_into_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_the_workflow_in_the_documentation_gives_inputs_that_exist() -> None:
    (shown,) = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    workflow = yaml.safe_load(shown)
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    (check,) = (step for step in steps if "/actions/check@" in step.get("uses", ""))
    assert check["with"].keys() <= ACTION["inputs"].keys()
