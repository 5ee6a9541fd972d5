"""`agreement`: every arm learns and scores the same texts; how well do its scores agree with people?"""

from __future__ import annotations

import itertools

from experiments.runner.arms import Trial, course, learning_at_most, scoring_at_most, trial
from experiments.runner.bench import Bench
from experiments.runner.cases import Case, every_case
from experiments.runner.designs.attempts import outcome_of
from experiments.runner.designs.design import Design
from experiments.runner.results import Outcome
from experiments.runner.study import Arm
from rubriclab import CallEstimate, ChecklistError
from rubriclab.research import Progress


async def run(bench: Bench, case: Case) -> Outcome:
    """Return the agreement of every arm and baseline, and the differences that the study names."""
    texts = bench.material(case)

    async def attempt(arm: Arm, on_progress: Progress) -> Trial:
        return await trial(arm, texts, bench.judge, seed=case.seed, under_way=bench.under_way, on_progress=on_progress)

    return await outcome_of(bench, case, texts, attempt)


def at_most(bench: Bench, case: Case) -> tuple[CallEstimate]:
    """Return the most that all arms ask; those without the questions that they start from ask nothing."""
    texts, total = bench.material(case), CallEstimate()
    for arm in bench.study.arms:
        try:
            given = course(arm, texts.learned_from, texts.home, texts.benchmarks)
        except ChecklistError:
            continue
        total = sum(itertools.chain(learning_at_most(given), [scoring_at_most(given, texts.test)]), total)
    return (total,)


AGREEMENT = Design(
    name="agreement",
    cases=every_case,
    at_most=at_most,
    run=run,
    measures=("spearman", "pearson", "kendall"),
)
