"""Designs that ask the same several times and measure how far the figures spread.

- `repeats`: every arm is run several times from the beginning (SEAL, table 11). Each run asks for an independent answer
  to every question. A judge that always gives the same answer has no spread.
- `rephrased`: what an arm learned is asked in several wordings of the instruction (HypoEval, figure 2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from experiments.runner.arms import Trial, test
from experiments.runner.cases import Case, every_case
from experiments.runner.designs.design import Bench, Design, options_of, with_baselines
from experiments.runner.figures import COEFFICIENTS, agreement_row, mean_interval
from experiments.runner.results import Gap, Outcome, Row, Spent
from experiments.runner.sets import Sets
from experiments.runner.study import Arm, Study
from rubriclab import Judge, Prompt, Reply, SettingsError
from rubriclab.models.base import FrozenModel
from rubriclab.models.text import Words, format_score
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.intervals import CONFIDENCE, Interval, Statistic, estimate, rounded

# Larger than the sample number of any prompt of a method.
STRIDE = 10_000


class RepeatsOptions(FrozenModel):
    """What is repeated.

    Attributes:
        temperatures: each is a case; prompts with a higher temperature keep it.
    """

    runs: int = Field(3, ge=2, le=100)
    temperatures: tuple[Annotated[float, Field(ge=0, le=2)], ...] = Field((0.0,), min_length=1)


class Wording(FrozenModel):
    """Other words for what is judged; `None` leaves them as they are.

    Attributes:
        source, context, output: the names of the texts.
        scale: the scale in words, with `{low}` and `{high}`; prompts put it after the word "from".
    """

    source: Words | None = None
    context: Words | None = None
    output: Words | None = None
    aspect: Words | None = None
    definition: Words | None = None
    scale: Annotated[Words, Field(pattern=r"(?s)\{low\}.*\{high\}|\{high\}.*\{low\}")] | None = None

    def of(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a prompt in this wording."""
        others: dict[str, dict[str, str | None]] = {
            "words": {"source": self.source, "context": self.context, "output": self.output},
            "aspect": {"name": self.aspect, "definition": self.definition},
        }
        if self.scale and "scale" in fields:
            # Not `format`: there may be other braces.
            low, high = (format_score(fields["scale"][end]) for end in ("low", "high"))
            others["scale"] = {"text": self.scale.replace("{low}", low).replace("{high}", high)}
        changed = {
            name: {**fields[name], **{key: value for key, value in words.items() if value is not None}}
            for name, words in others.items()
            if name in fields
        }
        return {**fields, **changed}


class RephrasedOptions(FrozenModel):
    """The wordings by set and aspect, and how many of them are used."""

    wordings: Mapping[str, Mapping[str, tuple[Wording, ...]]]
    most: int = Field(10, ge=2)


@dataclass(frozen=True)
class Altered:
    """A judge that gets every prompt in a wording, or as one of several runs."""

    judge: Judge
    wording: Wording | None = None
    run: int = 0
    temperature: float = 0.0

    @property
    def name(self) -> str:
        """The name of the judge that is asked."""
        return self.judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the judge that is asked."""
        return self.judge.identity

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply to the altered prompt."""
        altered = replace(
            prompt,
            fields=self.wording.of(prompt.fields) if self.wording else prompt.fields,
            sample=prompt.sample + STRIDE * self.run,
            temperature=max(prompt.temperature, self.temperature),
        )
        return await self.judge.reply(altered)


def repeats_cases(study: Study, sets: Sets) -> Iterator[Case]:
    """Yield the cases of a study, one for each temperature."""
    options: RepeatsOptions = options_of(study, RepeatsOptions)
    for case in every_case(study, sets):
        for temperature in options.temperatures:
            yield case.model_copy(update={"variant": f"temperature {temperature:g}"})


async def run_repeats(bench: Bench, case: Case) -> Outcome:
    """Return the mean figures of the runs of every arm, and their spread."""
    texts, options = bench.material(case), options_of(bench.study, RepeatsOptions)
    temperature = float(case.variant.removeprefix("temperature "))
    rows, runs = dict[str, list[Row]](), dict[str, list[FloatArray]]()
    missing = dict[str, Row]()
    for number in range(options.runs):
        judge = Altered(bench.judge, run=number, temperature=temperature)
        trials, failed = await bench.trials(case, texts, judge)
        missing |= {row.arm: row for row in failed}
        for evaluator, about in with_baselines(trials, texts):
            row = agreement_row(bench.study, texts, evaluator, **about)
            rows.setdefault(evaluator.name, []).append(row)
            runs.setdefault(evaluator.name, []).append(evaluator.scores)
    width = texts.assignment.scale.width
    together = [
        _together(rows[name], "run", COEFFICIENTS, _deviation_of_runs, {"score spread": _moved(runs[name], width)})
        for name in rows
        if name not in missing
    ]
    return bench.outcome(case, texts, [*together, *missing.values()])


def rephrased_cases(study: Study, sets: Sets) -> Iterator[Case]:
    """Yield the cases of a study."""
    options: RephrasedOptions = options_of(study, RephrasedOptions)
    for name, aspect in study.qualities:
        if (given := len(options.wordings.get(name, {}).get(aspect, ()))) < 2:
            raise SettingsError(
                f"{study.name}: options.wordings has {given} for {name} {aspect}, expected two or more."
            )
    yield from every_case(study, sets)


async def run_rephrased(bench: Bench, case: Case) -> Outcome:
    """Return the mean figures of the wordings for every arm, their spread, and differences in that."""
    texts, study = bench.material(case), bench.study
    options: RephrasedOptions = options_of(study, RephrasedOptions)
    wordings = options.wordings[case.set][case.aspect][: options.most]

    async def attempt(arm: Arm) -> list[Trial]:
        learned = await bench.learned(arm, texts, case.seed)
        judges = [Altered(bench.judge, wording) for wording in wordings]
        return [await test(arm, learned, texts, judge, bench.under_way) for judge in judges]

    trials, missing = await bench.of_arms(case, attempt)
    rows = {
        name: [agreement_row(study, texts, each.evaluator, scoring=each.scoring) for each in found]
        for name, found in trials.items()
    }
    for evaluator, about in with_baselines({}, texts):
        # They read no instruction.
        rows[evaluator.name] = [agreement_row(study, texts, evaluator, **about)] * len(wordings)
    together = [_together(each, "wording", ("spearman", "pearson"), _deviation_of_wordings) for each in rows.values()]
    learning = {name: found[0].learning for name, found in trials.items()}
    together = [row.model_copy(update={"learning": learning.get(row.arm)}) for row in together]
    pairs = bench.pairs({name: (name, _values(each, "spearman")) for name, each in rows.items()})
    gaps = [_gap(*one, *other) for one, other in pairs]
    return bench.outcome(case, texts, [*together, *missing], gaps)


def _together(rows: Sequence[Row], what: str, measures: Sequence[str], spread: Any, more: Any = None) -> Row:
    """Return one row of several: the spread of each measure, its mean, and each figure by itself."""

    def figures(single: Sequence[Mapping[str, Interval]]) -> dict[str, Interval]:
        return {
            **{f"{name} spread": spread([each[name].value for each in single]) for name in measures},
            **{name: mean_interval([each[name] for each in single]) for name in measures},
            **{f"{name}, {what} {n}": each[name] for name in measures for n, each in enumerate(single, 1)},
            **(more or {}),
        }

    first = rows[0]
    ours = [row.ours for row in rows if row.ours]
    sums = {name: sum(row.counts[name] for row in rows) for name in ("unscored", "answers", "answers_missing")}
    spent = {
        name: sum(known, Spent()) if (known := [each for row in rows if (each := getattr(row, name))]) else None
        for name in ("learning", "scoring")
    }
    update = {"figures": figures([row.figures for row in rows]), "ours": figures(ours) if ours else None, **spent}
    return first.model_copy(update={**update, "counts": {**first.counts, **sums}})


def _deviation_of_runs(values: Sequence[float | None]) -> Interval:
    """Return the standard deviation with its interval if figures vary normally; `None` if a run has no figure."""
    from scipy.stats import chi2

    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return Interval(None)
    free, found = len(known) - 1, float(np.std(known, ddof=1))
    ends = ((1 + CONFIDENCE) / 2, (1 - CONFIDENCE) / 2)
    return Interval(rounded(found), *(rounded(found * math.sqrt(free / chi2.ppf(end, free))) for end in ends))


def _moved(runs: Sequence[FloatArray], width: float) -> Interval:
    """Return the mean standard deviation of a text's scores, as a share of the scale, over texts scored in each run."""
    scores = np.array(runs)
    known = scores[:, ~np.isnan(scores).any(axis=0)]
    return Interval(rounded(float(np.std(known, axis=0, ddof=1).mean()) / width) if known.size else None)


def _values(rows: Sequence[Row], measure: str) -> FloatArray:
    return np.array([row.figures[measure].value for row in rows], dtype=float)


def _deviation_of_wordings(values: Sequence[float | None]) -> Interval:
    """Return the standard deviation with an interval over wordings."""
    figures = np.array(values, dtype=float)
    return _estimated(lambda counts: _deviation(counts, figures), len(figures))


def _gap(first: str, ours: FloatArray, second: str, theirs: FloatArray) -> Gap:
    """Return the difference in the spread of Spearman's correlation, paired by wording."""
    found = _estimated(lambda counts: _deviation(counts, ours) - _deviation(counts, theirs), len(ours))
    return Gap(first=first, second=second, measure="spearman spread", difference=found)


def _estimated(statistic: Statistic, wordings: int) -> Interval:
    return estimate(statistic, wordings, elements=wordings).rounded()


def _deviation(counts: FloatArray, values: FloatArray) -> FloatArray:
    """Return the standard deviation of values that count so often, shape (resamples,); NaN if any is NaN."""
    drawn = counts.sum(axis=1)
    around = values - (counts @ values / drawn)[:, np.newaxis]
    return np.asarray(np.sqrt((counts * around**2).sum(axis=1) / (drawn - 1)))


REPEATS = Design(
    run_repeats,
    ("spearman spread", "spearman", "kendall spread", "kendall", "pearson spread", "pearson", "score spread"),
    RepeatsOptions,
    repeats_cases,
)
REPHRASED = Design(
    run_rephrased,
    ("spearman spread", "spearman", "pearson spread", "pearson"),
    RephrasedOptions,
    rephrased_cases,
)
