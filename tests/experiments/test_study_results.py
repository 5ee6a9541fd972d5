"""Results as a file: complete at any moment, continued, and never mixed with those of something else."""

from __future__ import annotations

import os

import pytest

from experiments.runner.cases import Case
from experiments.runner.results import Outcome, Results, Row, Spent, read_stored, write_stored
from rubriclab.errors import DataError
from rubriclab.stats.intervals import Interval

BASE = Results(
    format="rubriclab-study-results/1",
    study="some",
    digest="sha256:1",
    judge="embedded",
    prompts="sha256:p",
    data={"hanna": "sha256:a"},
)


def outcome(seed: int, value: float | None = 0.5, **row: object) -> Outcome:
    figures = {"spearman": Interval(value, 0.1, 0.9)} if value is not None else {}
    case = Case(set="hanna", aspect="empathy", labels=30, seed=seed)
    return Outcome(case=case, split="drawn", rows=(Row(arm="direct", figures=figures, **row),), version="1")


def test_results_read_back_as_they_were_written_with_a_line_for_each_case(tmp_path) -> None:
    path = tmp_path / "r.json"
    unknown = Spent(calls=3, cost_usd=None)
    some = BASE.with_case(outcome(1), ["model-b"]).with_case(outcome(2, learning=unknown), ["model-a"])
    write_stored(some, path)
    assert read_stored(Results, path) == some
    assert some.model_versions == ("model-a", "model-b")
    assert sum(line.startswith('{"case"') for line in path.read_text().splitlines()) == 2
    write_stored(BASE, path)
    assert read_stored(Results, path) == BASE
    assert os.listdir(tmp_path) == ["r.json"]


def test_a_write_that_fails_leaves_the_earlier_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "r.json"
    write_stored(BASE, path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(DataError, match="cannot be written: No space left on device"):
        write_stored(BASE.with_case(outcome(1), ()), path)
    assert read_stored(Results, path) == BASE
    assert os.listdir(tmp_path) == ["r.json"]
