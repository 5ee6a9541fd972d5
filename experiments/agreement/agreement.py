"""Agreement with people by aspect and method, on groups of texts that learning never saw.

    python -m experiments measure agreement --data FOLDER --set "variants=hypoeval checkeval checkeval:filter=model" \
        -o experiments/agreement/results/embedded.json

A variant is a method's name, or `joint`, with settings after a colon. The official training texts are learned from if
they are known, else drawn ones.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.runner.arms import course, learn, score, uncached_judge
from experiments.runner.measurement import Measurement, Options, StoredRow, stored_rows
from experiments.runner.study import BASELINES, Arm
from experiments.runner.training import SETS, LabelledAspect, labelled_aspects
from experiments.tables import table
from rubriclab import Example
from rubriclab.errors import ChecklistError
from rubriclab.learning.baselines import best_feature
from rubriclab.ops.evaluate import Evaluator, Result, baseline_evaluators, measure_agreement
from rubriclab.ops.learn import parse_settings
from rubriclab.stats.agreement import Level
from rubriclab.stats.correlation import FloatArray

SEED = 42
BESIDE_SEAL = ("seal", "checkeval", "hypoeval", "direct")


class AgreementOptions(Options):
    """What is compared, on what.

    Attributes:
        sets: each SET or SET:ASPECT, separated by commas.
        variants: METHOD or METHOD:NAME=VALUE,…, separated by spaces.
        test_groups: the largest number of groups to test on; 0 for all.
    """

    sets: str = SETS
    variants: str = ""
    test_groups: int = 0


@dataclass(frozen=True)
class Case:
    """One aspect of one set, learned from one choice of texts."""

    aspect: LabelledAspect
    test_groups: int
    judge: str
    variants: tuple[str, ...]

    def __str__(self) -> str:
        """Return the name of the case."""
        return f"{self.aspect} official"


def cases(options: AgreementOptions) -> Iterator[Case]:
    """Yield the cases of the sets named."""
    for aspect in labelled_aspects(options.data, options.sets):
        yield Case(aspect, options.test_groups, options.judge, tuple(options.variants.split()))


def run(case: Case) -> list[StoredRow]:
    """Return the agreement of every variant and baseline, one row each."""
    learned_from, test = case.aspect.split(case.test_groups)
    baseline = best_feature(learned_from, case.aspect.aspect)
    evaluators = []
    for variant in case.variants:
        # A method without questions for this aspect has no figure.
        with contextlib.suppress(ChecklistError):
            evaluators.append(asyncio.run(scores(case, variant, learned_from, test)))
    everyone = [*evaluators, *baseline_evaluators(test, {"best": baseline} if baseline else {})]
    # If every text has an input of its own, there are no rivals to compare it with.
    level: Level = "group" if len({example.group for example in test}) < len(test) else "dataset"
    results = measure_agreement(test, everyone, case.aspect.aspect, levels=[level])
    return [row_of(case, result) for result in results]


async def scores(case: Case, variant: str, learned_from: Sequence[Example], test: Sequence[Example]) -> Evaluator:
    """Return the scores of the texts tested by a variant, NaN if there is none."""
    judge = uncached_judge(case.judge)
    name, _, chosen = variant.partition(":")
    settings = parse_settings([f"{name}.{pair}" for pair in filter(None, chosen.split(","))])
    arm = Arm(name=variant, method=name, settings=settings)
    learned = await learn(course(arm, learned_from, case.aspect.assignment), judge, seed=SEED)
    return (await score(variant, learned.trained.rubric, test, judge, 1))[0]


def row_of(case: Case, result: Result) -> dict[str, Any]:
    """Return one figure with what it is of."""
    found, is_feature = result.agreement, " (text feature" in result.evaluator
    return {
        "set": case.aspect.set,
        "aspect": case.aspect.aspect,
        "evaluator": BASELINES[1] if is_feature else result.evaluator,
        "measure": result.evaluator.split(" ")[1] if is_feature else None,
        "spearman": found.spearman.value,
        "low": found.spearman.low,
        "high": found.spearman.high,
        "level": found.level,
        "groups": found.groups,
        "n": found.n,
        "unscored": result.unscored,
    }


def overview(rows: Sequence[StoredRow]) -> str:
    """Return all figures, and the means of each evaluator."""
    names = [name for name in dict.fromkeys(row["evaluator"] for row in rows) if name not in BASELINES]
    columns, lines = [*names, *BASELINES], []
    for aspect in dict.fromkeys(map(_aspect, rows)):
        found = {row["evaluator"]: row for row in rows if _aspect(row) == aspect}
        figures = [_shown(found[column]) if column in found else "" for column in columns]
        lines.append([" ".join(aspect), str(next(iter(found.values()))["groups"]), *figures])
    note = "" if names else '\n\nNo method was measured: name some, as in --set "variants=joint checkeval direct".'
    return f"{table(['aspect', 'groups', *columns], lines)}\n\n{means(rows, names)}{note}"


def means(rows: Sequence[StoredRow], evaluators: Sequence[str]) -> str:
    """Return each evaluator's mean over its aspects, as Markdown."""
    lines = []
    for name in (*evaluators, *BASELINES):
        found = _over_aspects([row for row in rows if row["evaluator"] == name])
        lines.append([name, f"{found.mean():.3f}", str(len(found))])
    return table(["evaluator", "official", "aspects"], lines)


def _over_aspects(rows: Sequence[StoredRow]) -> FloatArray:
    """Return an evaluator's correlation on each aspect; if all texts got one score, it is 0."""
    return np.array([row["spearman"] or 0.0 for row in rows])


def _shown(row: StoredRow) -> str:
    if row["spearman"] is None:
        return "undefined"
    interval = "" if row["low"] is None else f"[{row['low']:.2f}, {row['high']:.2f}] "
    return f"{row['spearman']:.2f} {interval}{row['measure'] or ''}".rstrip()


def _aspect(row: StoredRow) -> tuple[str, str]:
    return row["set"], row["aspect"]


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    rows = stored_rows("agreement")

    def aspects(evaluator: str) -> set[tuple[str, str]]:
        return {_aspect(row) for row in rows if row["evaluator"] == evaluator}

    def shared(evaluator: str) -> list[StoredRow]:
        return [row for row in rows if _aspect(row) in aspects(evaluator)]

    names = [name for name in dict.fromkeys(row["evaluator"] for row in rows) if name not in BASELINES]
    general = [name for name in names if aspects(name) == set(map(_aspect, rows))]
    compared = [name for name in names if name.startswith("dcr")]
    return {
        "methods": means(rows, general),
        "unit packs": means(shared("seal:preset=published"), ["seal:preset=published", *BESIDE_SEAL]),
        "comparisons": means(shared("dcr"), [*compared, *BESIDE_SEAL]),
        "default": overview(stored_rows("agreement", "default")),
    }


MEASUREMENT = Measurement(
    "agreement",
    "How well do the rubrics of each method agree with people on groups that learning never saw?",
    AgreementOptions,
    cases,
    run,
    overview,
)
