"""`transfer`: some arms learn on another set than the one that is tested; what does that cost?

HypoEval (section 4, "Out-of-distribution generalizability", table 4) judges by hypotheses that were learned on another
set of the same task. Sets are named in pairs, and of each pair either one is tested with the other as home. What is
learned at home is applied to the aspect that is tested, with that aspect's definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pydantic import Field

from experiments.runner.arms import Trial, course, learning_at_most, scoring_at_most
from experiments.runner.bench import Bench
from experiments.runner.cases import Case, Material
from experiments.runner.designs.attempts import outcome_of, startable, taught, tested
from experiments.runner.designs.design import Design, options_of
from experiments.runner.designs.pairs import Pairs, cases_away
from experiments.runner.results import Outcome
from experiments.runner.sets import Sets
from experiments.runner.study import Arm, Study
from rubriclab import CallEstimate, SettingsError
from rubriclab.research import Progress


class TransferOptions(Pairs):
    """What is learned where.

    Attributes:
        elsewhere: the arms that learn at the home of what is tested; all others learn on the tested set itself.
    """

    elsewhere: tuple[str, ...] = Field(min_length=1)


def cases(study: Study, sets: Sets) -> Iterator[Case]:
    """Yield a case for each set, aspect, number of labels and seed whose home is there and large enough.

    Raises:
        SettingsError: if a set and aspect has no home, or the options name an arm that the study does not have.
    """
    return cases_away(study, sets, _options(study))


async def run(bench: Bench, case: Case) -> Outcome:
    """Return the agreement of the arms that learned elsewhere and of those that learned on the set that is tested."""
    here, away = materials(bench, case)
    elsewhere = _options(bench.study).elsewhere

    async def attempt(arm: Arm, on_progress: Progress) -> Trial:
        home = away if arm.name in elsewhere else here
        training_input = await taught(
            course(arm, home.learned_from, home.home, home.benchmarks), bench.judge, case.seed, on_progress
        )
        return await tested(training_input, here, bench.judge, bench.under_way, on_progress)

    return await outcome_of(bench, case, here, attempt)


def at_most(bench: Bench, case: Case) -> tuple[CallEstimate]:
    """Return the most that all arms ask."""
    here, away = materials(bench, case)
    elsewhere, total = _options(bench.study).elsewhere, CallEstimate()
    for arm in bench.study.arms:
        learned, tested_like = startable(arm, away if arm.name in elsewhere else here), startable(arm, here)
        if learned and tested_like:
            total = sum(learning_at_most(learned), total) + scoring_at_most(tested_like, here.test)
    return (total,)


def materials(bench: Bench, case: Case) -> tuple[Material, Material]:
    """Return the texts of a case with what is learned from on the tested set itself, and with what is at home."""
    here = bench.material(case.model_copy(update={"home": None}))
    return here, replace(bench.material(case), test=here.test)


def _options(study: Study) -> TransferOptions:
    options: TransferOptions = options_of(study, TransferOptions)
    arms = [arm.name for arm in study.arms]
    if unknown := [name for name in options.elsewhere if name not in arms]:
        raise SettingsError(f"{study.name}: options.elsewhere names {unknown[0]!r}; arms are {', '.join(arms)}.")
    return options


TRANSFER = Design(
    name="transfer",
    cases=cases,
    at_most=at_most,
    run=run,
    measures=("spearman", "pearson", "kendall"),
    options=TransferOptions,
)
