"""The hooks for pre-commit, run by pre-commit on a repository of its own; rubriclab is the installed one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import CHECKOUT, LABELLED, SCRIPT

pytest.importorskip("pre_commit", reason="needs pre-commit: run make test-integrations")

FLUENCY = CHECKOUT / "stores" / "checklists" / "summarization" / "fluency.json"
PAGE = CHECKOUT / "docs" / "integrations" / "pre-commit.md"


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=anna", "-c", "user.email=anna@example.org")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a checklist and labelled texts, which uses the hooks as the documentation shows."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    shutil.copy(CHECKOUT / ".pre-commit-hooks.yaml", hooks)
    git(hooks, "init", "-q")
    git(hooks, "add", ".")
    git(hooks, "commit", "-qm", "Hooks")
    shown = yaml.safe_load(PAGE.read_text("utf-8").partition("```yaml\n")[2].partition("```")[0])
    (repository,) = shown["repos"]
    repository |= {"repo": str(hooks), "rev": git(hooks, "rev-parse", "HEAD")}
    for hook in repository["hooks"]:
        hook["language"] = "system"  # the installed rubriclab, without a network
    folder = tmp_path / "project"
    for name in ("checklists", "labels"):
        (folder / name).mkdir(parents=True)
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(shown), "utf-8")
    shutil.copy(FLUENCY, folder / "checklists" / "fluency.json")
    shutil.copy(LABELLED, folder / "labels" / "labelled.jsonl")
    git(folder, "init", "-q")
    return folder


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    git(folder, "add", ".")
    environment = {
        "PATH": f"{SCRIPT.parent}:{os.environ['PATH']}",
        "HOME": str(folder.parent),
        "PRE_COMMIT_HOME": str(folder.parent / "cache"),
    }
    command = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_sound_files_pass_and_a_repeated_question_and_a_label_off_the_scale_fail(project: Path) -> None:
    done = run(project)
    assert done.returncode == 0, done.stdout + done.stderr
    results = [line.rpartition(".")[2] for line in done.stdout.splitlines() if line.startswith("rubriclab")]
    assert results == ["Passed", "Passed"]
    content: dict[str, Any] = json.loads(FLUENCY.read_text("utf-8"))
    questions = content["sub_dimensions"][0]["questions"]
    questions.append({**questions[0], "id": "again"})
    (project / "checklists" / "second.json").write_text(json.dumps(content), "utf-8")
    row = json.loads(LABELLED.read_text("utf-8").splitlines()[0])
    row["scores"]["coherence"] = 9
    (project / "labels" / "second.jsonl").write_text(json.dumps(row), "utf-8")
    failed = run(project)
    assert failed.returncode == 1
    assert "again" in failed.stdout
    assert "got 9" in failed.stdout
