"""How often nominal 90 % intervals hold what they are said to hold: of texts, of weights, of the rubric's agreement.

    python -m experiments measure coverage --data FOLDER -o experiments/coverage/results/embedded.json

Each run learns from a set of its own and is held to the population that this was drawn from. In `simulated` runs texts
and criteria come from a model with known strengths; in `resampled` runs the population are real texts that were judged
once, and groups are drawn from it with replacement.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.runner.arms import uncached_judge
from experiments.runner.measurement import Measurement, Options, StoredRow, stored_rows
from experiments.runner.training import LabelledAspect, candidate_values, joint_plans, labelled_aspects, of_other_texts
from experiments.tables import table as markdown
from rubriclab import Example, Scale
from rubriclab.learning.calibration import bounds, conformal
from rubriclab.learning.candidates import find_candidates
from rubriclab.learning.fitting import Fit, HeldOut, JointSettings, cross_validate, fit, refitted_agreement
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.learning.weighting import design, posterior
from rubriclab.stats.agreement import Level, agreement_value
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, pearson, pearson_rows, spearman_rows
from rubriclab.stats.intervals import Interval

CONFIDENCE = 0.9
SEED = 42
# Learning sets: groups, and texts of each.
DESIGNS = ((10, 3), (30, 1), (25, 4))
# The settings that cross-validation would choose between are given: a hundred times as fast.
SETTINGS = JointSettings(repeats=1)
# How many texts of the population get an interval.
INTERVALS = 1000
CRITERIA = 20
THIRDS = [f"{third} {name}" for name in ("score", "label") for third in ("low", "middle", "high")]
# The real ones: groups, and texts of each, that criteria are made from; how often the texts of each other group are
# drawn for groups as small as the learning set's.
MADE_FROM, TIMES = (6, 5), 30


class CoverageOptions(Options):
    """Which texts, and how many learning sets.

    Attributes:
        aspects: of real texts, each SET:ASPECT, separated by commas.
        runs: learning sets of each design.
        population: groups of the simulated population.
    """

    aspects: str = "summeval:coherence,hanna:engagement"
    runs: int = 100
    population: int = 2000


@dataclass(frozen=True)
class Case:
    """Runs of one kind.

    Attributes:
        aspect: of real texts; `None` where they are simulated.
        groups, size: of each learning set.
        population: groups of the simulated population, of as many texts as the learning set's.
    """

    aspect: LabelledAspect | None
    groups: int
    size: int
    runs: int
    judge: str = "embedded"
    population: int = 2000

    def __str__(self) -> str:
        """Return what the case is of."""
        return f"{self.aspect or 'simulated'}, {self.groups} x {self.size}"


def cases(options: CoverageOptions) -> Iterator[Case]:
    """Yield the cases, the slowest first."""
    aspects = labelled_aspects(options.data, options.aspects)
    for groups, size in DESIGNS:
        common = partial(Case, groups=groups, size=size, judge=options.judge, population=options.population)
        for aspect in aspects:
            yield common(aspect=aspect, runs=-(-options.runs // len(aspects)))
        yield common(aspect=None, runs=options.runs)


def run(case: Case) -> list[StoredRow]:
    """Return a row for each run of a case."""
    rng = np.random.default_rng([SEED, case.groups, len(str(case.aspect or ""))])
    if case.aspect is None:
        population = simulated(case.population, case.size, rng)
        return [row(case, simulated(case.groups, case.size, rng), population, population) for _ in range(case.runs)]
    whole = judged(case.aspect, case.judge)
    names = np.unique(whole.groups)
    population = drawn(whole, np.tile(names, TIMES), case.size, rng)
    rows = []
    for _ in range(case.runs):
        chosen = rng.choice(names, case.groups)
        fresh = whole.rows(~np.isin(whole.groups, chosen))
        rows.append(row(case, drawn(whole, chosen, case.size, rng), fresh, population))
    return rows


def row(case: Case, learned_from: RatingMatrix, fresh: RatingMatrix, population: RatingMatrix) -> dict[str, Any]:
    """Return what the intervals learned from one set hold, of fresh texts and of the population that it is from."""
    found, left_out = fit(learned_from, SETTINGS), cross_validate(learned_from, SETTINGS)
    return {
        "aspect": str(case.aspect or "simulated"),
        "groups": case.groups,
        "size": case.size,
        **texts(found, left_out, learned_from, fresh),
        **weighed(found, population),
        **agreed(found, left_out, learned_from, population, level="dataset"),
        **(agreed(found, left_out, learned_from, population, level="group") if case.size > 2 else {}),
    }


def texts(found: Fit, left_out: HeldOut, learned_from: RatingMatrix, fresh: RatingMatrix) -> dict[str, Any]:
    """Return the share of fresh labels that lie in their intervals, of all texts and by thirds of scores and labels."""
    made = conformal(left_out.scores, learned_from.labels, CONFIDENCE)
    some = fresh.rows(np.arange(len(fresh.labels)) < INTERVALS)
    scores = found.scores(some.values, some.scale)
    low, high = (end[~np.isnan(scores)] for end in bounds(scores, made, some.scale))
    scores, labels = scores[~np.isnan(scores)], some.labels[~np.isnan(scores)]
    held = (labels >= low - 1e-9) & (labels <= high + 1e-9)
    shares = {"texts": held, **thirds("score", scores, held), **thirds("label", labels, held)}
    width, error = high - low, np.abs(labels - scores)
    return {
        **{name: round(float(share.mean()), 4) for name, share in shares.items()},
        "width": round(float(width.mean()) / some.scale.width, 4),
        "width and error": None if np.ptp(width) == 0 else round(pearson(width, error), 4),
    }


def thirds(name: str, by: FloatArray, held: BoolArray) -> dict[str, BoolArray]:
    """Return which texts are held among the third with the lowest, middle and highest values."""
    parts = np.array_split(held[np.argsort(by, kind="stable")], 3)
    return dict(zip((each for each in THIRDS if each.endswith(name)), parts, strict=True))


def weighed(found: Fit, population: RatingMatrix) -> dict[str, Any]:
    """Return how many weights of the population lie in their intervals."""
    columns = list(found.columns)
    whole = design(population)
    true = posterior(population, whole.moments(np.ones(len(population.labels), dtype=bool)), columns).mean
    true = true / np.abs(true).sum()
    held = (true >= found.low - 1e-6) & (true <= found.high + 1e-6)
    return {"criteria": len(columns), "weights": int(held.sum())}


def agreed(
    found: Fit, left_out: HeldOut, learned_from: RatingMatrix, population: RatingMatrix, *, level: Level
) -> dict[str, Any]:
    """Return whether the rubric's agreement in the population lies in the interval of its held-out agreement."""
    told = refitted_agreement(learned_from, left_out, level=level, confidence=CONFIDENCE)
    raw, result = found.raw(population.values), dict[str, Any]()
    for name, rows in (("spearman", spearman_rows), ("pearson", pearson_rows)):
        value = agreement_value(raw, population.labels, population.groups, level=level, coefficient=rows)
        result[f"{level} {name}"] = holds(told[name], value)
    return result


def holds(interval: Interval, value: float) -> int | None:
    """Return 1 if the value lies in the interval, else 0; `None` where there is no interval."""
    if interval.low is None or interval.high is None:
        return None
    return int(interval.low <= value <= interval.high)


def simulated(groups: int, size: int, rng: np.random.Generator) -> RatingMatrix:
    """Return texts whose quality some criteria follow more and some less, half of them as yes/no questions.

    A quarter of the quality's variance lies between groups. Three raters see the quality with noise, in whole steps
    from 1 to 5, and the label is their mean. What criteria say beside the quality they share in part with each other,
    and in part with the other texts of the group.
    """
    n, group = groups * size, np.repeat(np.arange(groups), size)
    validity = np.linspace(0, 0.8, CRITERIA)
    quality = 0.5 * rng.normal(size=groups)[group] + np.sqrt(0.75) * rng.normal(size=n)
    labels = np.clip(np.round(3 + quality + 0.7 * rng.normal(size=(3, n))), 1, 5).mean(axis=0)
    shared, local = rng.normal(size=(n, 1)), rng.normal(size=(groups, CRITERIA))[group]
    other = 0.4 * shared + 0.4 * local + np.sqrt(0.68) * rng.normal(size=(n, CRITERIA))
    seen = validity * quality[:, np.newaxis] + np.sqrt(1 - validity**2) * other
    unit = np.arange(CRITERIA) % 2 == 1
    values = np.where(unit, seen > 0, np.clip(np.round(3 + seen), 1, 5))
    values[rng.random(values.shape) < 0.02] = np.nan
    return RatingMatrix(
        values=values,
        labels=labels,
        groups=tuple(f"g{number}" for number in group),
        methods=("hypoeval",) * CRITERIA,
        signed=np.zeros(CRITERIA, dtype=bool),
        unit=unit,
        holistic=np.zeros(CRITERIA, dtype=bool),
        prior_direction=np.ones(CRITERIA),
        places=tuple(range(CRITERIA)),
        seen=np.zeros(values.shape, dtype=bool),
        scale=Scale(low=1, high=5, whole=False),
    )


def drawn(whole: RatingMatrix, names: npt.NDArray[np.str_], size: int, rng: np.random.Generator) -> RatingMatrix:
    """Return some texts of each group named; one that is named twice makes two groups."""
    groups = np.array(whole.groups)
    chosen: list[IntArray] = [rng.permutation(np.flatnonzero(groups == name))[:size] for name in names]
    called = [f"{name} {place}" for place, name in enumerate(names.tolist()) for _ in chosen[place]]
    return replace(whole.rows(np.concatenate(chosen)), groups=tuple(called))


@cache
def judged(aspect: LabelledAspect, judge: str) -> RatingMatrix:
    """Return real texts judged by criteria that were made from other groups' texts."""
    made_from, scored = divided(aspect.examples)
    return asyncio.run(_judged(made_from, scored, aspect, judge))


def divided(rows: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Return texts to make criteria from, and texts of other groups to judge by them."""
    draw = random.Random(SEED)
    by_group: dict[str, list[Example]] = {}
    for each in rows:
        by_group.setdefault(each.group, []).append(each)
    names = sorted(by_group)
    draw.shuffle(names)
    groups, of_each = MADE_FROM
    made_from = [each for name in names[:groups] for each in draw.sample(by_group[name], of_each)]
    return made_from, [each for name in names[groups:] for each in by_group[name]]


async def _judged(
    made_from: Sequence[Example], scored: Sequence[Example], aspect: LabelledAspect, judge_name: str
) -> RatingMatrix:
    judge = uncached_judge(judge_name)
    found = await find_candidates(joint_plans(aspect, made_from), judge=judge, generator=judge, seed=SEED)
    values = await candidate_values(found, scored, aspect.assignment, judge)
    return of_other_texts(found.table(aspect.assignment, "by method"), values, scored, aspect.aspect)


def table(rows: Sequence[StoredRow]) -> str:
    """Return the coverage of each kind of interval by kind of run, for Markdown, in two tables."""
    keys = [
        ("simulated" if each["aspect"] == "simulated" else "resampled", f"{each['groups']} x {each['size']}")
        for each in rows
    ]
    correlations = [f"{level} {name}" for level in ("dataset", "group") for name in ("spearman", "pearson")]
    of_rubric = [["texts", *THIRDS, "weights", "mean width", "width and error"]]
    of_agreement = [correlations]
    runs = [["learning sets", "groups x texts", "n"]]
    for key in sorted({*keys, *((kind, "all") for kind, _ in keys)}):
        own = [
            row for row, each in zip(rows, keys, strict=True) if each == key or (key[1] == "all" and each[0] == key[0])
        ]
        held = sum(each["weights"] for each in own) / sum(each["criteria"] for each in own)
        runs.append([*key, str(len(own))])
        widths = [f"{mean(own, name):.2f}" for name in ("width", "width and error")]
        of_rubric.append([*(percent(mean(own, name)) for name in ("texts", *THIRDS)), percent(held), *widths])
        of_agreement.append([percent(mean(own, name)) for name in correlations])
    whole = ([[*run, *row] for run, row in zip(runs, rows, strict=True)] for rows in (of_rubric, of_agreement))
    return "\n\n".join(markdown(heads, lines) for heads, *lines in whole)


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    return {"coverage": table(stored_rows("coverage"))}


def percent(share: float) -> str:
    """Return a share for the table, nothing where there is none."""
    return "" if np.isnan(share) else f"{share:.1%}"


def mean(rows: Sequence[StoredRow], name: str) -> float:
    """Return the mean of one figure over the runs that have it; NaN if none has."""
    found = [each[name] for each in rows if each.get(name) is not None]
    return float(np.mean(found)) if found else np.nan


MEASUREMENT = Measurement(
    "coverage",
    "How often do 90 % intervals hold the labels, weights and agreement that they are said to hold?",
    CoverageOptions,
    cases,
    run,
    table,
)
