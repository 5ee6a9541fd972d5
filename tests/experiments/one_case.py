"""Studies by their fields, and one case of a study, run in this process."""

from __future__ import annotations

from typing import Any

from experiments.runner.cases import Case, Material, material
from experiments.runner.run import Bench, schedule
from experiments.runner.sets import Sets
from experiments.runner.study import Study
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import Judge

RAW: dict[str, Any] = {
    "name": "some",
    "question": "What?",
    "sets": {"summeval": ["coherence"]},
    "labels": [12],
    "test_texts": 24,
    "arms": [{"name": "direct", "method": "direct", "labels": False}],
}


def study(**fields: Any) -> Study:
    """Return a study with these fields, the others those of a small one."""
    return Study.model_validate({**RAW, **fields})


def bench_of(some: Study, sets: Sets, judge: Judge | None = None) -> tuple[Bench, Case, Material]:
    """Return a study with its texts and judge, the first of its cases and the texts of that."""
    case = schedule(some, sets).cases[0]
    return Bench(some, sets, judge or EmbeddedJudge()), case, material(case, some, sets)
