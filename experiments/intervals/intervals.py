"""How often 95 % intervals of agreement and of differences hold the true value, with few groups.

    python -m experiments measure intervals --data FOLDER -o experiments/intervals/results/embedded.json

A population has many groups of texts, from a normal model or drawn from human-scored texts, with judges that are the
human scores with noise. Samples of a few groups are held to the population.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from experiments.runner.measurement import Measurement, Options, StoredRow, holds, percent, stored_rows
from experiments.runner.training import LabelledAspect, labelled_aspects
from experiments.tables import table as markdown
from rubriclab.stats.correlation import FloatArray, pearson_rows, spearman_rows
from rubriclab.stats.intervals import Interval, Statistic, estimate
from rubriclab.stats.score_agreement import Level, ScoredTexts, level_statistic, scored_texts

GROUPS, SIZES = (5, 6, 8, 10, 15, 20), (4, 6, 16)
LEVELS: dict[Level, str] = {"group": "within groups", "dataset": "over all texts"}
COEFFICIENTS = {"Spearman": spearman_rows, "Pearson": pearson_rows}
POPULATION = 2000
# Noise of texts and of groups, in standard deviations of the human scores.
JUDGES = {
    "equal judge": (1.0, 0.5),
    "other equal judge": (1.0, 0.5),
    "worse judge": (1.6, 0.3),
    "close judge": (0.5, 0.2),
}


class IntervalOptions(Options):
    """Which human-scored texts, each SET:ASPECT, and how many samples of each number of groups."""

    aspects: str = "summeval:coherence,newsroom:coherence,hanna:engagement,topical_chat:naturalness"
    runs: int = 400


class Case(NamedTuple):
    """Samples of one population, which is simulated without an `aspect`."""

    aspect: LabelledAspect | None
    size: int
    runs: int

    def __str__(self) -> str:
        """Return what the case is of."""
        return f"{self.aspect or 'simulated'}, groups of {self.size}"


def cases(options: IntervalOptions) -> Iterator[Case]:
    """Yield the cases; those of texts that lack groups of the size are left out."""
    for aspect in (None, *labelled_aspects(options.data, options.aspects)):
        sizes = [size for size in SIZES if aspect is None or len(human_groups(aspect, size)) >= GROUPS[-1]]
        yield from (Case(aspect, size, options.runs) for size in sizes)


def run(case: Case) -> list[StoredRow]:
    """Return for each number of groups, level and coefficient how often intervals hold the population's figure."""
    rng, rows = np.random.default_rng([case.size, len(str(case))]), list[StoredRow]()
    human = population(case, rng)
    errors = (
        noise * rng.normal(size=human.shape) + of_group * rng.normal(size=(len(human), 1))
        for noise, of_group in JUDGES.values()
    )
    judges = human + np.stack(list(errors))
    for level, coefficient in product(LEVELS, COEFFICIENTS):
        # Only the values: intervals of the whole population would take most of the time.
        known, texts = statistics(human, judges, level, coefficient)
        true = {name: float(each(np.ones((1, texts.cluster_count)))[0]) for name, each in known.items()}
        for groups in GROUPS:
            held: dict[str, list[int | None]] = {name: [] for name in true}
            for _ in range(case.runs):
                drawn = rng.integers(len(human), size=groups)
                for name, interval in intervals(human[drawn], judges[:, drawn], level, coefficient).items():
                    held[name].append(holds(interval, true[name]))
            shares = {name: round(float(np.mean([h for h in each if h is not None])), 4) for name, each in held.items()}
            about = {"population": str(case.aspect or "simulated"), "size": case.size, "groups": groups}
            rows.append({**about, "level": level, "coefficient": coefficient, **shares})
    return rows


def statistics(
    human: FloatArray, judges: FloatArray, level: Level, coefficient: str
) -> tuple[dict[str, Statistic], ScoredTexts]:
    """Return the agreement of each judge, and the first one's less the second's and the third's, of these texts."""
    names = [f"{place:04}" for place in np.repeat(np.arange(len(human)), human.shape[1])]
    used = scored_texts(list(judges.reshape(len(judges), -1)), human.ravel(), names).at_level(level)
    alone = [level_statistic(used, row, COEFFICIENTS[coefficient]) for row in range(len(judges))]

    differences = {
        "equal judges": lambda counts: alone[0](counts) - alone[1](counts),
        "other judges": lambda counts: alone[0](counts) - alone[2](counts),
    }
    return {**dict(zip(JUDGES, alone, strict=True)), **differences}, used


def intervals(human: FloatArray, judges: FloatArray, level: Level, coefficient: str) -> dict[str, Interval]:
    """Return the same with intervals."""
    every, texts = statistics(human, judges, level, coefficient)
    return {
        name: estimate(each, texts.cluster_count, n_values=len(texts.human), is_correlation=name in JUDGES)
        for name, each in every.items()
    }


def human_groups(aspect: LabelledAspect, size: int) -> list[FloatArray]:
    """Return the human scores of each group of at least this size."""
    by_group: dict[str, list[float]] = {}
    for text in aspect.examples:
        by_group.setdefault(text.group, []).append(text.scores[aspect.aspect])
    return [np.array(scores) for scores in by_group.values() if len(scores) >= size]


def population(case: Case, rng: np.random.Generator) -> FloatArray:
    """Return human scores, with standard deviation 1, shape (groups, size)."""
    if case.aspect is None:
        return 0.5 * rng.normal(size=(POPULATION, 1)) + math.sqrt(0.75) * rng.normal(size=(POPULATION, case.size))
    groups = human_groups(case.aspect, case.size)
    drawn = rng.integers(len(groups), size=POPULATION).tolist()
    human = np.array([rng.choice(groups[place], case.size, replace=False) for place in drawn])
    return np.asarray(human / human.std())


def table(rows: Sequence[StoredRow]) -> str:
    """Return how often intervals hold what they should, by population, level and number of groups."""
    lines = []
    for real, level, groups in product((False, True), LEVELS, GROUPS):
        key = (real, level, groups)
        own = [row for row in rows if (row["population"] != "simulated", row["level"], row["groups"]) == key]
        if not own:
            continue
        held = {name: float(np.mean([row[name] for row in own])) for name in (*JUDGES, "other judges", "equal judges")}
        shares = [*(held[name] for name in (*JUDGES, "other judges")), 1 - held["equal judges"]]
        lines.append(["human" if real else "simulated", LEVELS[level], str(groups), *map(percent, shares)])
    return markdown(["scores", "correlations", "groups", *JUDGES, "difference", "equal judges told apart"], lines)


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    return {"intervals": table(stored_rows("intervals"))}


MEASUREMENT = Measurement(
    "intervals",
    "How often do 95 % intervals of agreement and of differences hold the true value?",
    IntervalOptions,
    cases,
    run,
    table,
    judged=False,
)
