"""How often nominal 90 % intervals hold what they are said to hold: of texts, of weights, of the rubric's agreement.

    python -m experiments.coverage.coverage --data FOLDER --output experiments/coverage/results/embedded.json

Each run learns from a set of its own and is held to the population that this was drawn from. In `simulated` runs texts
and criteria come from a model with known strengths; in `resampled` runs the population are real texts that were judged
once, and groups are drawn from it with replacement. Prints a table, and writes every run as a row of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rubriclab.aggregation import disagreement
from rubriclab.checklist import seed_questions
from rubriclab.data import Assignment, Example, Scale, find_aspect, parse_scale, read, task_words
from rubriclab.errors import ChecklistError
from rubriclab.judges import JudgeOptions, Ledger, connect
from rubriclab.learning.calibration import conformal
from rubriclab.learning.candidates import Plan, find_candidates
from rubriclab.learning.cross_validation import held_out_hardness
from rubriclab.learning.fitting import Fit, HeldOut, fit, held_out
from rubriclab.learning.jackknife import agreement_errors, fisher_interval
from rubriclab.learning.rating_matrix import RatingMatrix, standardised
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.weighting import design, posterior
from rubriclab.literature import load_findings
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import TrainingInput, chosen_settings
from rubriclab.stats import Interval, agreement
from rubriclab.stats.bootstrap import expanded_confidence
from rubriclab.stats.conformal import error_bound, expected_error
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.levels import Level

SETS = Path(__file__).parents[1] / "agreement" / "sets.toml"
ASKED = ("hypoeval", "checkeval", "seeval", "direct")
CONFIDENCE = 0.9
SEED = 42
RESAMPLES = 300
# Learning sets: groups, and texts of each.
DESIGNS = ((10, 3), (30, 1), (25, 4))
# The settings that cross-validation would choose between are given: a hundred times as fast.
GIVEN = JointSettings(calibration="linear", repeats=1)
CHOSEN = JointSettings(repeats=1)
# The simulated population: groups, of as many texts as the learning set's, and how many of its texts get an interval.
POPULATION, INTERVALS = 2000, 1000
CRITERIA = 20
# The real ones: groups, and texts of each, that criteria are made from; how often the texts of each other group are
# drawn for groups as small as the learning set's.
MADE_FROM, TIMES = (6, 5), 30


@dataclass(frozen=True)
class Case:
    """Runs of one kind.

    Attributes:
        aspect: of real texts, as SET ASPECT; `None` where they are simulated.
        groups, size: of each learning set.
        chosen: whether the kind of map onto the scale is chosen in each run.
    """

    data: str
    aspect: str | None
    groups: int
    size: int
    chosen: bool
    runs: int
    judge: str = "embedded"


def main() -> None:
    """Run every case and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with the sets of experiments/agreement/sets.toml")
    parser.add_argument("--aspects", default="summeval coherence,hanna engagement")
    parser.add_argument("--runs", type=int, default=100, help="learning sets of each design")
    parser.add_argument(
        "--chosen", type=int, default=10, help="those of them where the map onto the scale is chosen in each run"
    )
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    began = time.monotonic()
    with ProcessPoolExecutor(given.processes) as pool:
        rows = [row for found in pool.map(run, list(cases(given))) for row in found]
    if given.output:
        given.output.write_text(json.dumps(rows, separators=(",", ":")).replace("},{", "},\n{") + "\n")
    print(table(rows))
    print(f"{time.monotonic() - began:.0f} s")


def cases(given: argparse.Namespace) -> Iterator[Case]:
    """Yield the cases asked for, the slowest first."""
    aspects = list(filter(None, given.aspects.split(",")))
    for groups, size in DESIGNS:
        common = partial(Case, given.data, groups=groups, size=size, judge=given.judge)
        for aspect in aspects:
            yield common(aspect=aspect, chosen=False, runs=-(-given.runs // len(aspects)))
        if size == 3:
            yield common(aspect=None, chosen=True, runs=given.chosen)
        yield common(aspect=None, chosen=False, runs=given.runs)


def run(case: Case) -> list[dict[str, Any]]:
    """Return a row for each run of a case."""
    rng = np.random.default_rng([SEED, case.groups, len(case.aspect or "")])
    if case.aspect is None:
        population = simulated(POPULATION, case.size, rng)
        return [row(case, simulated(case.groups, case.size, rng), population, population) for _ in range(case.runs)]
    whole = judged(case.data, case.aspect, case.judge)
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
    settings = CHOSEN if case.chosen else GIVEN
    found, left_out = fit(learned_from, settings), held_out(learned_from, settings)
    return {
        "aspect": case.aspect or "simulated",
        "groups": case.groups,
        "size": case.size,
        "map": "chosen" if case.chosen else "given",
        **texts(found, left_out, learned_from, fresh),
        **weighed(found, population),
        **agreed(found, left_out, learned_from, population, level="dataset"),
        **(agreed(found, left_out, learned_from, population, level="group") if case.size > 2 else {}),
    }


def texts(found: Fit, left_out: HeldOut, learned_from: RatingMatrix, fresh: RatingMatrix) -> dict[str, Any]:
    """Return the share of fresh labels that lie in their intervals, and how far wide intervals tell of large errors."""
    hardness = held_out_hardness(left_out, learned_from)
    made = conformal(left_out.scores, learned_from.labels, hardness, CONFIDENCE)
    assert made is not None
    some = fresh.rows(np.arange(len(fresh.labels)) < INTERVALS)
    scores, scale = found.scores(some.values, some.scale), some.scale
    half = error_bound(made.errors, CONFIDENCE) * expected_error(hard(found, some.values), made.unrest)
    low, high = np.maximum(scores - half, scale.low), np.minimum(scores + half, scale.high)
    there = ~np.isnan(scores)
    held, width = ((some.labels >= low - 1e-9) & (some.labels <= high + 1e-9))[there], (high - low)[there]
    errors = np.abs(scores - some.labels)[there]
    widest = np.argsort(-width, kind="stable")[: len(width) // 5]
    return {
        "texts": round(float(held.mean()), 4),
        "width": round(float(width.mean()) / scale.width, 4),
        "widest": round(float(errors[widest].mean() / errors.mean()), 4),
    }


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
    """Return whether the rubric's agreement in the population lies in the interval of its held-out agreement.

    Beside it the interval that takes the rubrics of the folds as given, and resamples groups of finished scores.
    """
    true = agreement(found.raw(population.values), population.labels, population.groups, level=level, resamples=0)
    told = agreement(
        left_out.raw,
        learned_from.labels,
        learned_from.groups,
        level=level,
        resamples=RESAMPLES,
        confidence=expanded_confidence(CONFIDENCE, len(set(learned_from.groups))),
    )
    errors = agreement_errors(learned_from, left_out, level=level)
    result: dict[str, Any] = {}
    for name in ("spearman", "pearson"):
        finished, value = getattr(told, name), getattr(true, name).value
        refitted = fisher_interval(finished.value, errors[name], CONFIDENCE)
        result[f"{level} {name}"] = holds(refitted, value)
        result[f"{level} {name}, scores resampled"] = holds(finished, value)
        result[f"{level} {name} off"] = None if finished.value is None else round(finished.value - value, 4)
    return result


def holds(interval: Interval, value: float) -> int | None:
    """Return 1 if the value lies in the interval, else 0; `None` where there is no interval."""
    if interval.low is None or interval.high is None:
        return None
    return int(interval.low <= value <= interval.high)


def hard(found: Fit, values: FloatArray) -> FloatArray:
    """Return what makes each text hard to score."""
    own = values[:, list(found.columns)]
    z = np.where(np.isnan(own), np.nan, standardised(own, found.centers, found.spreads))
    return disagreement(found.weights, z)


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
        whole=np.zeros(CRITERIA, dtype=bool),
        usual=np.ones(CRITERIA),
        places=tuple(range(CRITERIA)),
        bundles=("hypoeval",) * CRITERIA,
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
def judged(data: str, aspect: str, judge: str) -> RatingMatrix:
    """Return real texts judged by criteria that were made from other groups' texts."""
    name, wanted = aspect.split()
    about = tomllib.loads(SETS.read_text())[name]
    rows = [each for each in read(f"{data}/{name}.jsonl.gz") if isinstance(each, Example) and wanted in each.scores]
    made_from, scored = divided(rows)
    assignment = Assignment(
        task_words(about["task"]), find_aspect(about["task"], wanted), parse_scale(about["aspects"][wanted])
    )
    return asyncio.run(_judged(made_from, scored, assignment, about["task"], judge))


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
    made_from: Sequence[Example], scored: Sequence[Example], assignment: Assignment, task: str, judge: str
) -> RatingMatrix:
    asked = connect(judge, options=JudgeOptions(), ledger=Ledger())
    plans = list(_plans(made_from, assignment, task))
    found = await find_candidates(plans, judge=asked, generator=asked, seed=SEED)
    rated: list[Mapping[str, float | None]] = []
    for example in scored:
        parts = found.parts_with(found.ids)
        results = [await METHODS[part.method].score(example, part, assignment, asked) for part in parts]
        rated.append({each.criterion: each.score for _, ratings in results for each in ratings})
    values = [[np.nan if (score := row[name]) is None else score for name in found.ids] for row in rated]
    made = found.table(assignment, "by method")
    return replace(
        made,
        values=np.array(values, dtype=float),
        labels=np.array([example.scores[assignment.aspect.name] for example in scored], dtype=float),
        groups=tuple(example.group for example in scored),
        seen=np.zeros((len(scored), len(found.ids)), dtype=bool),
    )


def _plans(made_from: Sequence[Example], assignment: Assignment, task: str) -> Iterator[Plan]:
    aspect = assignment.aspect.name
    for name in ASKED:
        method = METHODS[name]
        settings = chosen_settings(method.settings, method.presets, METHODS[name].joint_settings)
        try:
            questions = seed_questions(method.checklists, task, aspect, needed=method.needs_checklist(settings))
        except ChecklistError:
            continue
        training_input = TrainingInput(tuple(made_from), assignment, load_findings(task, aspect), questions)
        yield Plan(method, training_input, settings)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the coverage of each kind of interval by kind of run, for Markdown."""
    lines = [
        "| learning sets | groups x texts | map | n | texts | weights | Spearman | Pearson | of rivals: Spearman | "
        "Pearson | scores resampled, all four | mean width | widest |",
        "|---" * 13 + "|",
    ]
    kinds = {
        **dict.fromkeys((kind(each), f"{each['groups']} x {each['size']}", scale_map(each)) for each in rows),
        **dict.fromkeys((kind(each), "all", "all") for each in rows),
    }
    for key in sorted(kinds):
        own = [each for each in rows if (kind(each), f"{each['groups']} x {each['size']}", scale_map(each)) == key]
        own = own or [each for each in rows if kind(each) == key[0]]
        held = sum(each["weights"] for each in own) / sum(each["criteria"] for each in own)
        names = ["dataset spearman", "dataset pearson", "group spearman", "group pearson"]
        resampled = float(np.nanmean([mean(own, f"{name}, scores resampled") for name in names]))
        shares = [mean(own, "texts"), held, *(mean(own, name) for name in names), resampled]
        more = [f"{mean(own, name):.2f}" for name in ("width", "widest")]
        lines.append(f"| {' | '.join((*key, str(len(own)), *(percent(share) for share in shares), *more))} |")
    return "\n".join(lines)


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    return {"coverage": table(json.loads((Path(__file__).parent / "results" / "embedded.json").read_text()))}


def percent(share: float) -> str:
    """Return a share for the table, nothing where there is none."""
    return "" if np.isnan(share) else f"{share:.1%}"


def kind(each: dict[str, Any]) -> str:
    """Return whether a run's texts were simulated."""
    return "simulated" if each["aspect"] == "simulated" else "resampled"


def scale_map(each: dict[str, Any]) -> str:
    """Return whether the kind of map onto the scale was given or chosen."""
    return "given" if each["map"] == "given" else "chosen"


def mean(rows: Sequence[dict[str, Any]], name: str) -> float:
    """Return the mean of one figure over the runs that have it; NaN if none has."""
    found = [each[name] for each in rows if each.get(name) is not None]
    return float(np.mean(found)) if found else np.nan


if __name__ == "__main__":
    main()
