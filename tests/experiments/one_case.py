"""A study of one case, run in this process."""

from __future__ import annotations

from typing import Any

from experiments.runner.designs.design import Bench

from experiments.runner.cases import Case, Material
from experiments.runner.results import Outcome
from experiments.runner.run import schedule
from experiments.runner.sets import Sets
from experiments.runner.study import Study
from rubriclab.judges.judge import Judge

RAW: dict[str, Any] = {
    "name": "some",
    "question": "What?",
    "sets": {"summeval": ["coherence"]},
    "labels": [12],
    "test_texts": 24,
    "arms": [{"name": "direct", "method": "direct", "labels": False}],
}
NEEDS_LABELS = {"name": "needs labels", "method": "few_shot", "labels": False}


def study(**fields: Any) -> Study:
    return Study.model_validate({**RAW, **fields})


def bench_of(some: Study, sets: Sets, *judges: Judge, place: int = 0) -> tuple[Bench, Case, Material]:
    """Return a study with its texts and judges, one of its cases and the texts of that."""
    case = schedule(some, sets, len(judges) or 1).cases[place]
    bench = Bench(some, sets, judges)
    return bench, case, bench.material(case)


async def outcome_of(some: Study, sets: Sets, *judges: Judge, place: int = 0) -> tuple[Outcome, Material]:
    """Return a finished case of a study, and its texts."""
    found = schedule(some, sets, len(judges))
    bench, case, texts = bench_of(some, sets, *judges, place=place)
    return await found.design.run(bench, case), texts
