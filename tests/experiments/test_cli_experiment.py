"""`rubriclab experiment`: studies are listed, run, stopped, gone on with and shown; what cannot be run is refused."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from study_rows import write_study

from experiments import SETS
from experiments.runner.results import Results, read_stored
from experiments.runner.study import studies


@pytest.fixture
def mini(tmp_path: Path) -> Path:
    """A study of one's own: two cases for each of three aspects."""
    return write_study(tmp_path / "mini")


def test_studies_are_listed_with_their_questions(experiment) -> None:
    done = experiment("list")
    assert done.code == 0
    assert all(name in done.out for name in studies())
    rows = json.loads(experiment("list", "--json").out)["studies"]
    assert [row["name"] for row in rows] == list(studies())
    assert all(row["question"].endswith("?") for row in rows)


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


def test_sets_that_are_absent_are_said_and_the_others_run(experiment, mini, data, tmp_path) -> None:
    (tmp_path / "few").mkdir()
    shutil.copy(data / "hanna.jsonl", tmp_path / "few")
    done = experiment("run", mini, "--data", "few", "--judge", "embedded", "-o", "r.json")
    assert done.code == 0
    assert "left out: writingprompts_a (writingprompts_a.jsonl" in done.err
    assert len(read_stored(Results, tmp_path / "r.json").cases) == 4
    (tmp_path / "none").mkdir()
    refused = experiment("run", mini, "--data", "none", "--judge", "embedded", "-o", "r.json")
    assert refused.code == 2
    assert "It runs on any of: hanna.jsonl, writingprompts_a.jsonl" in refused.err


@pytest.mark.parametrize(
    "refused",
    [
        (["MINI", "--only", "newsroom"], "mini has no 'newsroom'. It has hanna: empathy, surprise"),
        (["MINI", "--set", "direct.colour=red"], "Arm direct: direct.colour: unknown name, got the text 'red'"),
        (["MINI", "--data", "nowhere"], "There is no folder nowhere with the public sets"),
        (["MINI", "-o", "taken.json"], "taken.json holds no results"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(experiment, mini, data, tmp_path, refused) -> None:
    arguments, said = refused
    (tmp_path / "taken.json").write_text("[]")
    given = [str(mini) if each == "MINI" else each for each in arguments]
    done = experiment("run", "--data", data, "--judge", "embedded", *given)
    assert done.code == 2
    (line,) = (line for line in done.err.splitlines() if line.startswith("error: "))
    assert said in line
    assert done.out == ""
    assert (tmp_path / "taken.json").read_text() == "[]"


def test_the_study_of_the_readme_runs(experiment, data, tmp_path) -> None:
    (study,) = re.findall(r"```toml\n(.*?)```", (SETS.parent / "README.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "filters").mkdir()
    (tmp_path / "filters" / "study.toml").write_text(study, "utf-8")
    command = ("run", tmp_path / "filters", "--data", data, "--judge", "embedded", "--small")
    done = experiment(*command, "--only", "hanna:empathy", "-o", "r.json")
    assert done.code == 0, done.err
    assert "hanna empathy" in done.out
