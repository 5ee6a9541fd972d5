"""`rubriclab experiment`: studies are listed, run, stopped, gone on with and shown; what cannot be run is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from study_rows import write_study

from experiments import SETS
from experiments.runner.results import Results, read_stored


@pytest.fixture
def mini(tmp_path: Path) -> Path:
    """A study of one's own: two cases for each of three aspects."""
    return write_study(tmp_path / "mini")


def test_a_study_is_run_stored_and_shown_again(experiment, mini, data, tmp_path) -> None:
    done = experiment("run", mini, "--data", data, "--judge", "embedded", "--only", "hanna:empathy")
    assert done.code == 0, done.err
    results = read_stored(Results, tmp_path / "mini-embedded.json")
    assert len(results.cases) == 2
    assert results.model_versions == ("embedded",)
    assert "stored in mini-embedded.json; to see it again: python -m experiments show mini-embed" in done.err
    assert "Does it go on?" in done.out
    assert "direct - geval" in done.out
    # The study's folder lies in the current one.
    shown = experiment("show", "mini-embedded.json")
    assert shown.code == 0, shown.err
    assert shown.out == done.out
    found = json.loads(experiment("show", "mini-embedded.json", "--json").out)
    assert found["cases"] == 2
    assert next(line for line in found["lines"] if line["published"])["published"] == {"paper": {"spearman": 0.4}}
    missing = experiment("show", mini)
    assert missing.code == 2
    assert "has no results yet" in missing.err


def test_the_study_of_the_readme_runs(experiment, data, tmp_path) -> None:
    (study,) = re.findall(r"```toml\n(.*?)```", (SETS.parent / "README.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "filters").mkdir()
    (tmp_path / "filters" / "study.toml").write_text(study, "utf-8")
    command = ("run", tmp_path / "filters", "--data", data, "--judge", "embedded", "--small")
    done = experiment(*command, "--only", "hanna:empathy", "-o", "r.json")
    assert done.code == 0, done.err
    assert "hanna empathy" in done.out
