"""`rephrased`: the same rubric, asked in several wordings of the instruction; how far do the figures spread?

HypoEval (section 4, "Prompt robustness", figure 2) evaluates by the same hypotheses under ten variations of the
instruction, and beside it by direct scoring under ten of its own. Here every arm is learned once, in the usual words,
and then asked in each wording: whatever prompt speaks of the texts, the aspect or the scale speaks of them in that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from experiments.runner.arms import Trial, course, learning_at_most, scoring_at_most
from experiments.runner.bench import Bench, no_figure
from experiments.runner.cases import Case, Material, every_case
from experiments.runner.designs.attempts import Taught, evaluator_of, startable, taught, telling, tested
from experiments.runner.designs.design import Design, options_of
from experiments.runner.figures import agreement_row, baseline_evaluators, bases
from experiments.runner.results import Gap, Outcome, Row, Spent
from experiments.runner.sets import Sets
from experiments.runner.study import Study
from experiments.runner.wording import Reworded, Wording, told_as
from rubriclab import CallEstimate, RubriclabError, SettingsError
from rubriclab.research import FrozenModel, Progress
from rubriclab.stats import FloatArray, Interval, Statistic, estimate, rounded

MEASURES = ("spearman", "pearson")
RESAMPLES, CONFIDENCE = 1000, 0.95

Basis = Literal["figures", "ours"]


class RephrasedOptions(FrozenModel):
    """The wordings.

    Attributes:
        wordings: by set and aspect; at least two for each that is tested.
        most: how many of them are tried.
    """

    wordings: Mapping[str, Mapping[str, tuple[Wording, ...]]]
    most: int = Field(10, ge=2)


@dataclass(frozen=True)
class Spread:
    """An evaluator's rows, one for each wording."""

    rows: Sequence[Row]

    def values(self, measure: str, basis: Basis = "figures") -> FloatArray:
        """Return the figure of each wording, NaN where it has none."""
        found = (getattr(row, basis)[measure].value for row in self.rows)
        return np.array([np.nan if value is None else value for value in found], dtype=float)

    def row(self) -> Row:
        """Return one row of them all: how far the figures spread, their means, and each of them by itself."""
        first = self.rows[0]
        sums = {name: sum(row.counts[name] for row in self.rows) for name in ("unscored", "answers", "answers_missing")}
        scoring = [row.scoring for row in self.rows if row.scoring]
        return first.model_copy(
            update={
                "figures": self._figures("figures"),
                "ours": self._figures("ours") if first.ours else None,
                "counts": {**first.counts, **sums},
                "scoring": sum(scoring, Spent()) if scoring else None,
            }
        )

    def _figures(self, basis: Basis) -> dict[str, Interval]:
        single = [getattr(row, basis) for row in self.rows]
        return {
            **{f"{name} spread": spread(self.values(name, basis)) for name in MEASURES},
            **{name: _mean([figures[name] for figures in single]) for name in MEASURES},
            **{f"{name}, wording {n}": each[name] for name in MEASURES for n, each in enumerate(single, 1)},
        }


def cases(study: Study, sets: Sets) -> tuple[Case, ...]:
    """Return a case for each set that is there, with each aspect, number of labels and seed.

    Raises:
        SettingsError: if a set and aspect has fewer than two wordings.
    """
    options: RephrasedOptions = options_of(study, RephrasedOptions)
    for name, aspect in study.qualities:
        if (given := len(options.wordings.get(name, {}).get(aspect, ()))) < 2:
            raise SettingsError(f"{study.name}: options.wordings has {given} for {name} {aspect}; two are the least.")
    return tuple(every_case(study, sets))


async def run(bench: Bench, case: Case) -> Outcome:
    """Return how the agreement of every arm spreads over the wordings, and the differences in that."""
    texts, study, wordings = bench.material(case), bench.study, wordings_of(bench.study, case)
    rows, spreads = list[Row](), dict[str, Spread]()
    for place, arm in enumerate(study.arms):
        on_progress = telling(bench, case, arm, place)
        try:
            given = course(arm, texts.learned_from, texts.home, texts.benchmarks)
            training_input = await taught(given, bench.judge, case.seed, on_progress)
            trials = await _asked(wordings, training_input, texts, bench, on_progress)
        except RubriclabError as error:
            rows.append(Row(arm=arm.name, missing=no_figure(error)))
            continue
        spreads[arm.name] = Spread([_row(study, texts, arm.name, each) for each in trials])
        rows.append(spreads[arm.name].row().model_copy(update={"learning": training_input.spent}))
    for baseline, note in baseline_evaluators(texts):
        # It reads no instruction: every wording finds it where it was.
        spreads[baseline.name] = Spread([agreement_row(study, texts, baseline)] * len(wordings))
        rows.append(spreads[baseline.name].row().model_copy(update={"note": note}))
    pairs = ((names, spreads.get(names[0]), spreads.get(names[1])) for names in study.compare)
    return Outcome(
        case=case,
        split=texts.split,
        basis=bases(study, texts),
        rows=tuple(rows),
        gaps=tuple(_gap(names, one, other) for names, one, other in pairs if one and other),
    )


def at_most(bench: Bench, case: Case) -> tuple[CallEstimate]:
    """Return the most that all arms ask: learning once, and scoring in every wording."""
    texts, total = bench.material(case), CallEstimate()
    for arm in bench.study.arms:
        if usual := startable(arm, texts):
            total = sum(learning_at_most(usual), total)
        for wording in wordings_of(bench.study, case):
            if told := startable(arm, texts, told_as(texts.home, wording)):
                total += scoring_at_most(told, texts.test)
    return (total,)


def wordings_of(study: Study, case: Case) -> tuple[Wording, ...]:
    """Return the wordings that a case is asked in."""
    options: RephrasedOptions = options_of(study, RephrasedOptions)
    return options.wordings[case.set][case.aspect][: options.most]


def spread(values: FloatArray) -> Interval:
    """Return the standard deviation of the figures of several wordings.

    Its interval comes from drawing as many wordings again from these.
    """
    return _estimated(lambda counts: _deviation(counts, values), len(values))


async def _asked(
    wordings: Sequence[Wording], training_input: Taught, texts: Material, bench: Bench, on_progress: Progress
) -> list[Trial]:
    """Return what comes of asking in each of the wordings."""
    trials = []
    for number, wording in enumerate(wordings):

        def further(doing: str, share: float, number: int = number) -> None:
            # A test tells of itself as the second half of an arm; this is one of several tests in that half.
            on_progress(f"wording {number + 1}: {doing}", (1 + (number + 2 * share - 1) / len(wordings)) / 2)

        trials.append(await tested(training_input, texts, Reworded(bench.judge, wording), bench.under_way, further))
    return trials


def _row(study: Study, texts: Material, name: str, done: Trial) -> Row:
    row = agreement_row(study, texts, evaluator_of(name, done))
    return row.model_copy(update={"scoring": done.scored.spent})


def _gap(names: tuple[str, str], one: Spread, other: Spread) -> Gap:
    """Return the difference in the spread of Spearman's correlation, wordings drawn together."""
    first, second = (each.values("spearman") for each in (one, other))
    found = _estimated(lambda counts: _deviation(counts, first) - _deviation(counts, second), len(first))
    return Gap(first=names[0], second=names[1], measure="spearman spread", difference=found)


def _estimated(statistic: Statistic, wordings: int) -> Interval:
    found = estimate(statistic, wordings, resamples=RESAMPLES, confidence=CONFIDENCE, seed=0, batch=RESAMPLES)
    return found.rounded()


def _deviation(counts: FloatArray, values: FloatArray) -> FloatArray:
    """Return the standard deviation of values that are drawn so often, shape (resamples,); NaN if any is NaN."""
    drawn = counts.sum(axis=1)
    around = values - (counts @ values / drawn)[:, np.newaxis]
    return np.asarray(np.sqrt((counts * around**2).sum(axis=1) / (drawn - 1)))


def _mean(found: Sequence[Interval]) -> Interval:
    """Return the mean of figures, and of the ends of their intervals; each is `None` if any of them is."""
    ends = {end: [getattr(each, end) for each in found] for end in ("value", "low", "high")}
    means = {end: None if None in each else rounded(sum(each) / len(each)) for end, each in ends.items()}
    return Interval(**means)


REPHRASED = Design(
    name="rephrased",
    cases=cases,
    at_most=at_most,
    run=run,
    measures=("spearman spread", "spearman", "pearson spread", "pearson"),
    options=RephrasedOptions,
)
