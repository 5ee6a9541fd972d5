"""Results as a file: whole at any moment, gone on from, never mixed with those of something else."""

import json
import os

import pytest

from experiments.runner.cases import Case
from experiments.runner.results import Outcome, Results, Row, Spent, begun, merged, read_results, write_results
from rubriclab.errors import DataError
from rubriclab.stats.interval import Interval

BASE = Results(study="some", digest="sha256:1", judges=("embedded",), data={"hanna": "sha256:a"})


def outcome(seed: int, value: float | None = 0.5, **row: object) -> Outcome:
    figures = {"spearman": Interval(value, 0.1, 0.9)} if value is not None else {}
    case = Case(set="hanna", aspect="empathy", labels=30, seed=seed)
    return Outcome(case=case, split="drawn", rows=(Row(arm="direct", figures=figures, **row),))


def test_results_read_back_as_they_were_written(tmp_path) -> None:
    path = tmp_path / "r.json"
    some = BASE.with_case(outcome(1), ["model-b"]).with_case(outcome(2, learning=Spent(calls=3)), ["model-a"])
    write_results(some, path)
    assert read_results(path) == some
    assert some.model_versions == ("model-a", "model-b")
    assert len(path.read_text().split('"case"')) == 3
    write_results(BASE, path)
    assert read_results(path) == BASE
    assert os.listdir(tmp_path) == ["r.json"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch) -> None:
    path = tmp_path / "r.json"
    write_results(BASE, path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(DataError, match="cannot be written: No space left on device"):
        write_results(BASE.with_case(outcome(1), ()), path)
    assert read_results(path) == BASE
    assert os.listdir(tmp_path) == ["r.json"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"study": "other"}, "the study differs: some, not other"),
        ({"judges": ("gpt", "claude")}, "the judge differs: embedded, not gpt, claude"),
        ({"small": True}, "a run in little (--small) differs"),
        ({"digest": "sha256:2"}, "the study's configuration differs"),
        ({"data": {"hanna": "sha256:b"}}, "on other texts: hanna has changed since"),
    ],
)
def test_results_of_something_else_are_refused_and_left_alone(tmp_path, other, said) -> None:
    path = tmp_path / "r.json"
    write_results(BASE.with_case(outcome(1), ()), path)
    before = path.read_bytes()
    with pytest.raises(DataError) as error:
        begun(path, BASE.model_copy(update=other))
    assert said in str(error.value)
    assert "Give another file" in str(error.value)
    assert path.read_bytes() == before


def test_a_study_goes_on_with_sets_that_came_later(tmp_path) -> None:
    path = tmp_path / "r.json"
    assert begun(path, BASE) is BASE
    write_results(BASE.with_case(outcome(1), ()), path)
    found = begun(path, BASE.model_copy(update={"data": {"hanna": "sha256:a", "qags_xsum": "sha256:q"}}))
    assert found.done == {"hanna empathy, 30 labels, seed 1"}
    assert found.data == {"hanna": "sha256:a", "qags_xsum": "sha256:q"}


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": "rubriclab-study-results/9"}'])
def test_a_file_that_holds_no_results_is_refused(tmp_path, content) -> None:
    path = tmp_path / "r.json"
    path.write_text(content)
    with pytest.raises(DataError, match="holds no results of a study"):
        read_results(path)


def test_several_files_make_one_study_with_each_case_once() -> None:
    one = BASE.with_case(outcome(1), ["a"]).with_case(outcome(2), ["a"])
    other = BASE.with_case(outcome(2, 0.9), ["b"]).with_case(outcome(3), ["b"])
    whole = merged({"one.json": one, "other.json": other})
    assert [each.case.seed for each in whole.cases] == [1, 2, 3]
    assert whole.cases[1] == outcome(2)
    assert whole.model_versions == ("a", "b")
    with pytest.raises(DataError, match=r"other.json holds results of something else: the judge"):
        merged({"one.json": one, "other.json": other.model_copy(update={"judges": ("gpt",)})})


def test_cases_in_which_something_is_missing_can_be_run_again() -> None:
    failed = outcome(2, None, missing="no reply")
    unscored = outcome(3, counts={"unscored": 1})
    some = BASE.with_case(outcome(1), ()).with_case(failed, ()).with_case(unscored, ())
    assert [each.case.seed for each in some.without_failures().cases] == [1]


def test_what_was_spent_adds_up() -> None:
    one = Spent(calls=1, prompt_tokens=2, completion_tokens=3, cost_usd=0.5, seconds=1.5)
    assert one + one == Spent(calls=2, prompt_tokens=4, completion_tokens=6, cost_usd=1.0, seconds=3.0)
    assert (one + Spent(cost_usd=None)).cost_usd is None


def test_a_file_has_a_line_for_each_case(tmp_path) -> None:
    write_results(BASE.with_case(outcome(1), ()).with_case(outcome(2), ()), tmp_path / "r.json")
    lines = (tmp_path / "r.json").read_text().splitlines()
    assert sum(line.startswith('{"case"') for line in lines) == 2
    assert json.loads(lines[-4].rstrip(","))["case"]["seed"] == 1
