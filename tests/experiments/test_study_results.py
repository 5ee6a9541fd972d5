"""Results as a file: complete at any moment, continued, and never mixed with those of something else."""

from __future__ import annotations

from experiments.runner.cases import Case
from experiments.runner.results import Outcome, Results, Row
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
