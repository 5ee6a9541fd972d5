"""`crossed`: what one judge learned, scored by another; does it need the judge that it was learned with?

HypoEval (section 4, "Cross-model generalizability", table 5) lets one model propose, rate and select hypotheses, and
another one evaluate by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from experiments.runner.arms import Trial, course, learning_at_most, scoring_at_most
from experiments.runner.bench import Bench
from experiments.runner.cases import Case, every_case
from experiments.runner.designs.attempts import Taught, outcome_of, startable, taught, tested
from experiments.runner.designs.design import Design, options_of
from experiments.runner.results import Outcome
from experiments.runner.sets import Sets
from experiments.runner.study import Arm, Study
from rubriclab import CallEstimate, SettingsError
from rubriclab.research import FrozenModel, Progress

Place = Literal[1, 2]


class CrossedOptions(FrozenModel):
    """Who learns and who scores.

    Attributes:
        judges: for each arm the judge that it learns with and the one that scores by what was learned: 1 or 2, in the
            order in which the user named them.
    """

    judges: Mapping[str, tuple[Place, Place]]


def cases(study: Study, sets: Sets) -> Iterator[Case]:
    """Yield a case for each set that is there, with each aspect, number of labels and seed.

    Raises:
        SettingsError: if the options do not say of exactly the study's arms which judges they have.
    """
    _options(study)
    yield from every_case(study, sets)


async def run(bench: Bench, case: Case) -> Outcome:
    """Return the agreement of every arm; arms that learn the same with the same judge share what was learned.

    Raises:
        SettingsError: if both judges are one and the same.
    """
    _check_identities(bench)
    texts, judges = bench.material(case), _options(bench.study).judges
    training_inputs: dict[str, Taught] = {}

    async def attempt(arm: Arm, on_progress: Progress) -> Trial:
        learner, scorer = judges[arm.name]
        training_input = _lesson(arm, learner)
        if training_input not in training_inputs:
            given = course(arm, texts.learned_from, texts.home, texts.benchmarks)
            training_inputs[training_input] = await taught(given, bench.judges[learner - 1], case.seed, on_progress)
        return await tested(
            training_inputs[training_input], texts, bench.judges[scorer - 1], bench.under_way, on_progress
        )

    return await outcome_of(bench, case, texts, attempt)


def at_most(bench: Bench, case: Case) -> tuple[CallEstimate, CallEstimate]:
    """Return the most that all arms ask of the first judge, and of the second."""
    texts, judges = bench.material(case), _options(bench.study).judges
    totals, training_inputs = {1: CallEstimate(), 2: CallEstimate()}, set[str]()
    for arm in bench.study.arms:
        (learner, scorer), given = judges[arm.name], startable(arm, texts)
        if given is None:
            continue
        if _lesson(arm, learner) not in training_inputs:
            totals[learner] = sum(learning_at_most(given), totals[learner])
            training_inputs.add(_lesson(arm, learner))
        totals[scorer] += scoring_at_most(given, texts.test)
    return totals[1], totals[2]


def _check_identities(bench: Bench) -> None:
    first, second = bench.judges
    if first.identity == second.identity:
        raise SettingsError(
            f"{first.name} and {second.name} are one and the same judge;", "name two that answer differently."
        )


def _lesson(arm: Arm, learner: Place) -> str:
    """Return what tells one thing to learn from another: all of an arm but its name, and who learns it."""
    return f"{learner} {arm.model_dump_json(exclude={'name'})}"


def _options(study: Study) -> CrossedOptions:
    options: CrossedOptions = options_of(study, CrossedOptions)
    arms, named = {arm.name for arm in study.arms}, set(options.judges)
    if arms != named:
        odd = sorted(arms ^ named)[0]
        raise SettingsError(
            f"{study.name}: options.judges names the judges of every arm and of nothing else; see to {odd!r}.",
            "Write the arm's name = [judge that learns, judge that scores], as in [1, 2].",
        )
    return options


CROSSED = Design(
    name="crossed",
    cases=cases,
    at_most=at_most,
    run=run,
    measures=("spearman", "pearson", "kendall"),
    options=CrossedOptions,
    fewest_judges=2,
    most_judges=2,
)
