"""What a release needs: a section in the changelog, workflows that run what the Makefile offers, and known Pythons."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from typing import Any

import try_release
import yaml
from commands import CHECKOUT

import rubriclab

WORKFLOWS = CHECKOUT / ".github" / "workflows"
CI, RELEASE = (yaml.safe_load((WORKFLOWS / name).read_text("utf-8")) for name in ("ci.yml", "release.yml"))


def test_the_version_has_a_section_in_the_changelog_and_is_that_of_the_citation() -> None:
    command = [sys.executable, str(CHECKOUT / ".ci" / "release_notes"), f"v{rubriclab.__version__}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not re.search(r"^## ", done.stdout, re.MULTILINE)
    assert yaml.safe_load((CHECKOUT / "CITATION.cff").read_text("utf-8"))["version"] == rubriclab.__version__


def steps(workflow: dict[str, Any]) -> list[str]:
    found = [step.get("run", "") for job in workflow["jobs"].values() for step in job.get("steps", ())]
    return [line.strip() for run in found for line in run.splitlines()]


def test_the_workflow_runs_on_every_python_that_the_package_names_and_a_release_is_tried_on() -> None:
    for job in ("test", "release"):
        assert tuple(CI["jobs"][job]["strategy"]["matrix"]["python-version"]) == try_release.PYTHONS
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == f">={try_release.PYTHONS[0]}"
    named = {line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3." in line}
    assert named == {*try_release.PYTHONS}


def test_a_release_is_published_without_a_password_after_all_checks() -> None:
    jobs = RELEASE["jobs"]
    assert [jobs[name].get("needs") for name in ("ci", "build", "publish", "page")] == [None, "ci", "build", "publish"]
    assert jobs["ci"]["uses"] == "./.github/workflows/ci.yml"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    (publish,) = (step for step in jobs["publish"]["steps"] if "pypi-publish" in step.get("uses", ""))
    assert publish["with"] == {"attestations": True}
    assert "secrets." not in str(RELEASE)


def test_actions_of_others_are_pinned_by_commit() -> None:
    uses = [
        step["uses"]
        for each in (CI, RELEASE)
        for job in each["jobs"].values()
        for step in job.get("steps", ())
        if "uses" in step
    ]
    assert uses
    assert [use for use in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", use)] == []


def test_the_oldest_python_is_tried_with_the_lowest_versions_and_all_with_the_newest() -> None:
    tried = list(try_release.trials(try_release.PYTHONS))
    assert {trial.python for trial in tried if trial.versions == "lowest"} == {try_release.PYTHONS[0]}
    assert {trial.python for trial in tried if trial.versions == "newest"} == {*try_release.PYTHONS}
    assert {trial.archive for trial in tried} == {"wheel", "sdist"}
    assert all((CHECKOUT / test).is_file() for test in try_release.TESTS)
