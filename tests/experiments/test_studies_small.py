"""Every study that ships runs from its first case to its table, in little and offline."""

import json
from pathlib import Path

import pytest
from second_judge import recorded_second

from experiments.runner.designs import design_named
from experiments.runner.results import read_results
from experiments.runner.sets import Sets
from experiments.runner.study import Study, load_study, shipped_results, studies, study_folder


def some_set(study: Study) -> str:
    """Return one of a study's sets: studies that only compare arms do the same on each, so that these take turns."""
    names = list(study.sets)
    return names[studies().index(study.name) % len(names) if study.design == "agreement" else 0]


@pytest.mark.parametrize("name", studies())
def test_every_study_runs_in_little_with_the_offline_judge(
    name, experiment, data: Path, sets: Sets, tmp_path: Path
) -> None:
    study = load_study(name)
    only = () if study.design == "transfer" else (some_set(study),)
    judges = ["--judge", "embedded"]
    if design_named(study.design).judges[0] > 1:
        judges += ["--judge", recorded_second(study.only(only).small(), sets, tmp_path / "second.jsonl")]
    few = [word for each in only for word in ("--only", each)]
    done = experiment("run", name, "--small", *few, *judges, "--data", data, "-o", "results.json")
    assert done.code == 0, done.err
    assert study.question[:40] in done.out.replace("\n", " ")
    results = read_results(tmp_path / "results.json")
    assert results.small
    assert {outcome.case.set for outcome in results.cases} <= set(study.sets)
    assert all(row.missing for outcome in results.cases for row in outcome.rows if not row.figures)
    arms = {arm.name for arm in study.arms}
    with_figures = {row.arm for outcome in results.cases for row in outcome.rows if row.figures}
    # A design that compares what is done with one arm's rubric names its rows by that.
    assert with_figures
    assert with_figures >= arms or not with_figures & arms


@pytest.mark.parametrize("name", studies())
def test_every_study_says_what_it_asks_and_how_to_run_it(name) -> None:
    readme = (study_folder(name) / "README.md").read_text("utf-8")
    assert f"python -m experiments run {name} " in readme
    assert load_study(name).question.endswith("?")


@pytest.mark.parametrize("name", [name for name in studies() if shipped_results(name)])
def test_results_that_ship_are_of_the_study_as_it_is(name, experiment) -> None:
    done = experiment("show", name, "--json")
    assert done.code == 0, done.err
    summary = json.loads(done.out)
        assert (summary["study"], summary["small"]) == (name, False)
        assert read_results(file).digest == load_study(name).digest
