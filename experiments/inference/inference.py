"""How often 95 % intervals of the mean human score, and of the difference of two systems, hold people's.

    python -m experiments measure inference --data FOLDER -o experiments/inference/results/embedded.json

A rubric is learned from 30 texts of half of the groups, and scores the texts of the others; or both are simulated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from experiments.coverage.coverage import holds, percent
from experiments.gate.gate import GIVEN
from experiments.runner.arms import uncached_judge
from experiments.runner.measurement import Measurement, Options, StoredRow, stored_rows
from experiments.runner.training import SETS, LabelledAspect, candidate_values, joint_plans, labelled_aspects
from experiments.tables import table as markdown
from rubriclab.learning.candidates import find_candidates
from rubriclab.learning.fitting import cross_validate, fit
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.intervals import Interval, paired_mean, renumber
from rubriclab.stats.prediction_powered import (
    LabelledScores,
    ScoredSet,
    corrected_mean,
    difference_by_other_labels,
    difference_by_own_labels,
    mean_by_own_labels,
)

SEED, LEARNED, PAIRS = 42, 30, 10
# The share of the groups that have labels of their own.
OWN = 0.4
TARGETS = {"mean": "mean", "difference": "difference of two systems"}
METHODS = ("scores alone", "labels of learning", "own labels")


class InferenceOptions(Options):
    """Which human-scored texts, and how many learning sets of each aspect and of the simulation."""

    sets: str = SETS
    runs: int = 10
    simulated: int = 300


class Case(NamedTuple):
    """Learning sets of one aspect, or simulated ones without it."""

    aspect: LabelledAspect | None
    runs: int
    judge: str

    def __str__(self) -> str:
        """Return what the case is of."""
        return str(self.aspect or "simulated")


class Texts(NamedTuple):
    """Labels and scores of texts, with the numbers of their groups and systems.

    Attributes:
        expected: the mean label of each text's system in all groups that there could be, if known.
    """

    labels: FloatArray
    scores: FloatArray
    unit: IntArray
    system: IntArray
    expected: FloatArray | None = None


def cases(options: InferenceOptions) -> Iterator[Case]:
    """Yield the cases."""
    yield Case(None, options.simulated, options.judge)
    for aspect in labelled_aspects(options.data, options.sets):
        yield Case(aspect, options.runs, options.judge)


def run(case: Case) -> list[StoredRow]:
    """Return for each learning set how often each interval holds what it should, and its mean width."""
    rng = np.random.default_rng([SEED, *str(case).encode()])
    drawn = (simulated(rng) if case.aspect is None else learned(case.aspect, case.judge, rng) for _ in range(case.runs))
    return [{"case": str(case), "run": number, **row(*texts, rng)} for number, texts in enumerate(drawn)]


def row(learned_from: Texts, texts: Texts, rng: np.random.Generator) -> dict[str, Any]:
    """Return the shares and widths, by target and method."""
    labelled, found = LabelledScores(*learned_from[:4]), dict[str, list[tuple[Interval, float]]]()
    own = _labelled(texts, rng)
    mean = float(texts.labels.mean())
    intervals = (
        paired_mean(texts.scores, texts.unit).interval,
        corrected_mean(float(texts.scores.mean()), len(texts.unit), int(texts.unit.max()) + 1, labelled),
        mean_by_own_labels(ScoredSet(texts.scores, own, texts.unit, np.ones(len(own))), np.zeros_like(texts.unit)),
    )
    found |= {f"mean {method}": [(each, mean)] for method, each in zip(METHODS, intervals, strict=True)}
    pairs = list(combinations(np.unique(texts.system).tolist(), 2))
    for place in rng.permutation(len(pairs))[:PAIRS].tolist():
        for method, each, true in difference(pairs[place], texts, own, labelled):
            found.setdefault(f"difference {method}", []).append((each, true))
    shares: dict[str, Any] = {}
    for name, pairs_found in found.items():
        held = [hold for interval, true in pairs_found if (hold := holds(interval, true)) is not None]
        widths = [(one.high or 0.0) - (one.low or 0.0) for one, _ in pairs_found if one.low is not None]
        if held:
            shares |= {name: float(np.mean(held)), f"{name} width": float(np.mean(widths) / np.std(texts.labels))}
    return {name: round(value, 4) for name, value in shares.items()}


def difference(
    pair: tuple[int, int], texts: Texts, own: FloatArray, labelled: LabelledScores
) -> Iterator[tuple[str, Interval, float]]:
    """Yield the interval of two systems' difference by each method, with the true one; for groups that both have."""
    first, second = ({int(texts.unit[n]): n for n in np.flatnonzero(texts.system == system)} for system in pair)
    shared = sorted(first.keys() & second.keys())
    if len(shared) < 5:
        return
    unit = np.arange(len(shared))
    places = [np.array([side[group] for group in shared]) for side in (first, second)]
    one, other = (ScoredSet(texts.scores[at], own[at], unit, np.full(len(at), 1 / len(at))) for at in places)
    before, after = places
    people = texts.labels if texts.expected is None else texts.expected
    true = float((people[after] - people[before]).mean())
    found = (
        paired_mean(texts.scores[after] - texts.scores[before], unit),
        difference_by_other_labels(one, other, labelled),
        difference_by_own_labels(one, other),
    )
    yield from ((method, each.interval, true) for method, each in zip(METHODS, found, strict=True))


def _labelled(texts: Texts, rng: np.random.Generator) -> FloatArray:
    """Return the labels of a share of the groups, NaN for others."""
    groups = int(texts.unit.max()) + 1
    chosen = rng.permutation(groups)[: max(5, round(OWN * groups))]
    return np.where(np.isin(texts.unit, chosen), texts.labels, np.nan)


def learned(aspect: LabelledAspect, judge_name: str, rng: np.random.Generator) -> tuple[Texts, Texts]:
    """Return the texts that a rubric was learned from with their held-out scores, and those of the other groups."""
    groups = rng.permutation(sorted({each.group for each in aspect.examples}))
    half = set(groups[: len(groups) // 2].tolist())
    pool = [each for each in aspect.examples if each.group in half]
    chosen = [pool[place] for place in sorted(rng.permutation(len(pool))[:LEARNED].tolist())]
    others = [each for each in aspect.examples if each.group not in half]
    judge = uncached_judge(judge_name)
    found = asyncio.run(find_candidates(joint_plans(aspect, chosen), judge=judge, generator=judge, seed=SEED))
    table = found.table(aspect.assignment, "by method")
    values = asyncio.run(candidate_values(found, others, aspect.assignment, judge))
    sides = (
        (found.examples, cross_validate(table, GIVEN).scores),
        (others, fit(table, GIVEN).scores(values, table.scale)),
    )
    first, second = (
        Texts(
            np.array([each.scores[aspect.aspect] for each in texts]),
            scores,
            _numbers([each.group for each in texts]),
            _numbers([each.system or each.id for each in texts]),
        )
        for texts, scores in sides
    )
    return first, second


def _numbers(names: Sequence[str]) -> IntArray:
    return renumber(np.array(names))


def simulated(rng: np.random.Generator) -> tuple[Texts, Texts]:
    """Return texts of eight systems in 25 groups, which a judge favours to different degrees: 30 others, and all."""
    system, unit = np.tile(np.arange(8), 50), np.repeat(np.arange(50), 8)
    expected = rng.normal(0, 0.5, 8)[system]
    quality = expected + rng.normal(0, 0.5, 50)[unit] + rng.normal(0, 0.7, 400)
    favour = rng.normal(0, 0.4, 8)[system] + rng.normal(0, 0.3, 50)[unit]
    scores = 0.8 * quality + favour + rng.normal(0, 0.4, 400)
    some: list[npt.NDArray[np.int64]] = [np.sort(rng.permutation(200)[:LEARNED]), np.arange(200, 400)]
    first, second = (
        Texts(quality[at], scores[at], renumber(unit[at]), renumber(system[at]), expected[at]) for at in some
    )
    return first, second


def table(rows: Sequence[StoredRow]) -> str:
    """Return how often intervals hold people's figure and their width, by target, texts and method."""
    lines = []
    for target, words in TARGETS.items():
        for real in (False, True):
            own = [each for each in rows if (each["case"] != "simulated") == real]
            cells = []
            for name in (f"{target} {method}" for method in METHODS):
                shares, widths = ([each[key] for each in own if key in each] for key in (name, f"{name} width"))
                cells += [percent(float(np.mean(shares))), f"{np.mean(widths):.2f}"] if shares else ["", ""]
            lines.append([words, "human" if real else "simulated", str(len(own)), *cells])
    return markdown(["of", "texts", "sets", *(part for name in METHODS for part in (name, "width"))], lines)


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    return {"inference": table(stored_rows("inference"))}


MEASUREMENT = Measurement(
    "inference",
    "How often do intervals of the mean human score and of differences hold people's?",
    InferenceOptions,
    cases,
    run,
    table,
)
