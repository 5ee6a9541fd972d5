"""`repeats`: everything asked several times over; how far do the figures differ from run to run?

SEAL (section 4.3, table 11) gives means and standard deviations over three independent runs. A run is an arm from the
beginning, learning included: each question asks for one more of its independent answers, which are kept apart from
those of other runs. A judge that always gives the same answer has no spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from experiments.runner.arms import Trial, trial
from experiments.runner.bench import Bench, no_figure
from experiments.runner.cases import Case, Material, every_case
from experiments.runner.designs.agreement import AGREEMENT
from experiments.runner.designs.attempts import evaluator_of, telling
from experiments.runner.designs.design import Design, options_of
from experiments.runner.figures import COEFFICIENTS, agreement_row, baseline_evaluators, bases
from experiments.runner.results import Outcome, Row, Spent
from experiments.runner.sets import Sets
from experiments.runner.study import Arm, Study
from rubriclab import CallEstimate, Evaluator, Judge, Prompt, Reply, RubriclabError
from rubriclab.research import FrozenModel, Progress
from rubriclab.stats import Interval, rounded

# No method numbers its samples as high.
STRIDE = 10_000
CONFIDENCE = 0.95

Temperature = Annotated[float, Field(ge=0, le=2)]


class RepeatsOptions(FrozenModel):
    """What is repeated.

    Attributes:
        runs: how often.
        temperatures: each is a case of its own. Questions that a method asks at a lower temperature are asked at this
            one; those that it samples at a higher one keep their own.
    """

    runs: int = Field(3, ge=2, le=100)
    temperatures: tuple[Temperature, ...] = Field((0.0,), min_length=1)


@dataclass(frozen=True)
class Again:
    """A judge in one of several runs: it is asked for an answer to each question that no other run has."""

    judge: Judge
    run: int
    temperature: float

    @property
    def name(self) -> str:
        """The name of the judge that is asked."""
        return self.judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the judge that is asked."""
        return self.judge.identity

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply to the question, as of this run."""
        temperature = max(prompt.temperature, self.temperature)
        return await self.judge.reply(
            replace(prompt, sample=prompt.sample + STRIDE * self.run, temperature=temperature)
        )


def cases(study: Study, sets: Sets) -> Iterator[Case]:
    """Yield a case for each set that is there, with each aspect, number of labels, seed and temperature."""
    for case in every_case(study, sets):
        yield from (case.model_copy(update={"variant": name}) for name in _by_name(study))


async def run(bench: Bench, case: Case) -> Outcome:
    """Return what the runs of every arm come to on average, and how far they lie apart."""
    texts, study = bench.material(case), bench.study
    rows = list[Row]()
    for place, arm in enumerate(study.arms):
        try:
            trials = await _trials(bench, case, arm, texts, telling(bench, case, arm, place))
        except RubriclabError as error:
            rows.append(Row(arm=arm.name, missing=no_figure(error)))
            continue
        rows.append(_row(study, texts, arm, trials))
    for baseline, note in baseline_evaluators(texts):
        rows.append(_together(study, texts, [baseline] * _options(study).runs).model_copy(update={"note": note}))
    return Outcome(case=case, split=texts.split, basis=bases(study, texts), rows=tuple(rows))


def at_most(bench: Bench, case: Case) -> tuple[CallEstimate]:
    """Return the most that all arms ask in all runs."""
    (once,) = AGREEMENT.at_most(bench, case)
    return (once * _options(bench.study).runs,)


def spread(values: Sequence[float | None]) -> Interval:
    """Return the standard deviation of some runs' figures, with the interval that it has if they vary normally.

    With three runs it reaches from half of what was found to six times as much. `None` where a run has no figure.
    """
    from scipy.stats import chi2

    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return Interval(None)
    free = len(known) - 1
    found = float(np.std(known, ddof=1))
    low, high = (
        found * math.sqrt(free / chi2.ppf(share, free)) for share in ((1 + CONFIDENCE) / 2, (1 - CONFIDENCE) / 2)
    )
    return Interval(rounded(found), rounded(low), rounded(high))


async def _trials(bench: Bench, case: Case, arm: Arm, texts: Material, on_progress: Progress) -> list[Trial]:
    runs, found = _options(bench.study).runs, list[Trial]()
    for number in range(runs):

        def further(doing: str, share: float, number: int = number) -> None:
            on_progress(f"run {number + 1}: {doing}", (number + share) / runs)

        judge = Again(bench.judge, number, _by_name(bench.study)[case.variant])
        found.append(await trial(arm, texts, judge, seed=case.seed, under_way=bench.under_way, on_progress=further))
    return found


def _row(study: Study, texts: Material, arm: Arm, trials: Sequence[Trial]) -> Row:
    row = _together(study, texts, [evaluator_of(arm.name, each) for each in trials])
    learning = sum((each.learning for each in trials), Spent())
    return row.model_copy(
        update={"learning": learning, "scoring": sum((each.scored.spent for each in trials), Spent())}
    )


def _together(study: Study, texts: Material, runs: Sequence[Evaluator]) -> Row:
    """Return one row of an evaluator's runs: spreads, means, and each run by itself."""
    rows = [agreement_row(study, texts, each) for each in runs]
    moved = {"score spread": _moved(texts, runs)}
    sums = {name: sum(row.counts[name] for row in rows) for name in ("unscored", "answers", "answers_missing")}
    ours = [row.ours for row in rows if row.ours]
    return Row(
        arm=runs[0].name,
        figures={**_figures([row.figures for row in rows]), **moved},
        ours={**_figures(ours), **moved} if ours else None,
        counts={**rows[0].counts, **sums},
    )


def _figures(runs: Sequence[Mapping[str, Interval]]) -> dict[str, Interval]:
    return {
        **{f"{name} spread": spread([each[name].value for each in runs]) for name in COEFFICIENTS},
        **{name: _mean([each[name] for each in runs]) for name in COEFFICIENTS},
        **{f"{name}, run {number}": each[name] for name in COEFFICIENTS for number, each in enumerate(runs, 1)},
    }


def _moved(texts: Material, runs: Sequence[Evaluator]) -> Interval:
    """Return the mean standard deviation of a text's scores, as a share of the scale, over texts scored in each run."""
    scores = np.array([each.scores for each in runs])
    known = scores[:, ~np.isnan(scores).any(axis=0)]
    if not known.size:
        return Interval(None)
    return Interval(rounded(float(np.std(known, axis=0, ddof=1).mean()) / texts.assignment.scale.width))


def _mean(found: Sequence[Interval]) -> Interval:
    """Return the mean of the figures and of their intervals' ends; each is `None` if any of them is."""
    ends = {end: [getattr(each, end) for each in found] for end in ("value", "low", "high")}
    return Interval(**{end: None if None in each else rounded(sum(each) / len(each)) for end, each in ends.items()})


def _by_name(study: Study) -> dict[str, float]:
    """Return the temperatures by the names of the variants."""
    return {f"temperature {temperature:g}": temperature for temperature in _options(study).temperatures}


def _options(study: Study) -> RepeatsOptions:
    options: RepeatsOptions = options_of(study, RepeatsOptions)
    return options


REPEATS = Design(
    name="repeats",
    cases=cases,
    at_most=at_most,
    run=run,
    measures=("spearman spread", "spearman", "kendall spread", "kendall", "pearson spread", "pearson", "score spread"),
    options=RepeatsOptions,
)
