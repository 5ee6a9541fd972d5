"""Every study runs from its first case to its tables, in little and offline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments import STUDIES
from experiments.runner.results import Results, read_stored
from experiments.runner.study import load_study, studies

STORED = {name: STUDIES / name / "results" / "embedded.json" for name in studies()}


@pytest.mark.parametrize("name", studies())
def test_every_study_runs_in_little_with_the_offline_judge(name, experiment, data: Path, tmp_path: Path) -> None:
    study = load_study(name)
    few = next(iter(study.sets))
    done = experiment(
        "run", name, "--small", "--only", few, "--judge", "embedded", "--data", data, "-o", "results.json"
    )
    assert done.code == 0, done.err
    assert study.question in done.out
    assert f"python -m experiments run {name} " in (STUDIES / name / "README.md").read_text("utf-8")
    results = read_stored(Results, tmp_path / "results.json")
    assert results.small
    assert {outcome.case.set for outcome in results.cases} <= set(study.sets)
    assert all(row.missing for outcome in results.cases for row in outcome.rows if not row.figures)
    assert {row.arm for outcome in results.cases for row in outcome.rows if row.figures} >= {a.name for a in study.arms}


@pytest.mark.parametrize("name", [name for name, file in STORED.items() if file.exists()])
def test_stored_results_are_of_the_study_as_it_is(name, experiment) -> None:
    done = experiment("show", name, "--json")
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert (summary["study"], summary["small"]) == (name, False)
    assert read_stored(Results, STORED[name]).digest == load_study(name).digest
