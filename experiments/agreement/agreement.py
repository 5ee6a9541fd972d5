"""Agreement with people, aspect by aspect and method by method, on groups of texts that learning never saw.

    python -m experiments measure agreement --data FOLDER --set "variants=hypoeval checkeval checkeval:filter=model" \
        --set splits=3 -o experiments/agreement/results/embedded.json

A variant is a method's name, or `joint`, with settings of its own after a colon. Official ids where they are known, and
random splits by group beside them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.agreement.tables import overview
from experiments.runner.measurement import Measurement, Options, Row
from experiments.runner.training import (
    SETS,
    SHOTS,
    LabelledAspect,
    Split,
    candidate_values,
    labelled_aspects,
    plans,
    training_input,
    uncached_judge,
)
from rubriclab import METHODS, Assignment, ChecklistError, Evaluator, Example, Judge, Part, Result
from rubriclab.research import (
    baseline_evaluators,
    best_feature,
    centers_and_spreads,
    evaluate,
    find_candidates,
    fit,
    joint,
    parse_settings,
    resolve_settings,
    score_text,
    standardised,
    train,
)
from rubriclab.stats import FloatArray, Level

SEED = 42


class AgreementOptions(Options):
    """What is compared, on what.

    Attributes:
        sets: each SET or SET:ASPECT, separated by commas.
        variants: METHOD or METHOD:NAME=VALUE,…, separated by spaces.
        together: whether the joint rubric stands beside what its methods learn alone.
        splits: random splits by group, beside the official ids.
        test_groups: at most so many groups to test on, drawn; 0 for all.
        shots: texts to learn from, where there are so many.
    """

    sets: str = SETS
    variants: str = ""
    together: bool = False
    splits: int = 0
    test_groups: int = 0
    shots: int = SHOTS


@dataclass(frozen=True)
class Case:
    """One aspect of one set, learned from one choice of texts."""

    aspect: LabelledAspect
    split: Split
    judge: str
    variants: tuple[str, ...] = ()
    together: bool = False

    def __str__(self) -> str:
        """Return what the case is of."""
        return f"{self.aspect} {self.split.name}"


def cases(options: AgreementOptions) -> Iterator[Case]:
    """Yield the cases of the sets named."""
    for aspect in labelled_aspects(options.data, options.sets):
        for name in ("official", *(f"random {number}" for number in range(options.splits))):
            split = Split(name, options.shots, options.test_groups)
            yield Case(aspect, split, options.judge, tuple(options.variants.split()), options.together)


def run(case: Case) -> list[Row]:
    """Return the agreement of every variant and baseline, one row each."""
    learned_from, test = case.split.of(case.aspect)
    baseline = best_feature(learned_from, case.aspect.aspect)
    evaluators = []
    for variant in case.variants:
        # A method without questions for this aspect has no figure here.
        with contextlib.suppress(ChecklistError):
            evaluators.append(Evaluator(variant, asyncio.run(scores(case, variant, learned_from, test))))
    if case.together:
        evaluators += [
            Evaluator(name, values)
            for name, values in asyncio.run(from_one_matrix(case, learned_from, test)).items()
            # A method that is named by itself as well stands for itself: a joint training leaves steps of it out.
            if name not in case.variants
        ]
    everyone = [*evaluators, *baseline_evaluators(test, {"best": baseline} if baseline else {})]
    # Where every text answers an input of its own, there are no rivals to compare it with.
    level: Level = "group" if len({example.group for example in test}) < len(test) else "dataset"
    results = evaluate(test, everyone, case.aspect.aspect, levels=[level], seed=SEED)
    return [row_of(case, result) for result in results]


async def from_one_matrix(case: Case, learned_from: Sequence[Example], test: Sequence[Example]) -> dict[str, Any]:
    """Return the scores of the joint rubric, of all its candidates with equal weights, and of each method alone.

    All come from one joint training and one round of scoring, so that they differ in nothing else.
    """
    judge = uncached_judge(case.judge)
    chosen, settings = plans(case.aspect, learned_from)
    assignment = case.aspect.assignment
    found = await find_candidates(chosen, judge=judge, generator=judge, seed=SEED)
    table = found.table(assignment, "in one call" if settings.ask == "in one call" else "by method")
    values = await candidate_values(found, test, assignment, judge)
    centers, spreads = centers_and_spreads(table.values)
    joined = {
        "joint": fit(table, settings, seed=SEED).scores(values, table.scale),
        "equal weights": standardised(values, centers, spreads).mean(axis=1),
    }
    return joined | {part.method: await alone(part, test, assignment, judge) for part in found.parts}


async def alone(part: Part, test: Sequence[Example], assignment: Assignment, judge: Judge) -> FloatArray:
    """Return the scores by one method's own rubric."""
    found = [(await METHODS[part.method].score(text, part, assignment, judge))[0] for text in test]
    return np.array([np.nan if score is None else score for score in found], dtype=float)


async def scores(case: Case, variant: str, learned_from: Sequence[Example], test: Sequence[Example]) -> FloatArray:
    """Return the scores that a variant gives the texts of the test, NaN where it gives none."""
    judge = uncached_judge(case.judge)
    name, _, chosen = variant.partition(":")
    pairs = [f"{name}.{pair}" for pair in filter(None, chosen.split(","))]
    if name == "joint":
        chosen_plans, settings = plans(case.aspect, learned_from, pairs)
        trained = await joint.train(chosen_plans, settings, judge=judge, generator=judge, seed=SEED)
    else:
        method = METHODS[name]
        own = resolve_settings([method], joint=False, chosen=parse_settings(pairs)).methods[name]
        given = training_input(case.aspect, method, own, learned_from)
        trained = await train(method, given, own, judge=judge, generator=judge, seed=SEED)
    scored = [await score_text(trained.rubric, example, judge, variant) for example in test]
    return np.array([np.nan if score.score is None else score.score for score in scored], dtype=float)


def row_of(case: Case, result: Result) -> dict[str, Any]:
    """Return one figure with what it is of."""
    found = result.agreement
    return {
        "set": case.aspect.set,
        "aspect": case.aspect.aspect,
        "split": case.split.name,
        "evaluator": "baseline: best text feature" if "best text feature" in result.evaluator else result.evaluator,
        "measure": result.evaluator.split(" ")[1] if "best text feature" in result.evaluator else None,
        "spearman": found.spearman.value,
        "low": found.spearman.low,
        "high": found.spearman.high,
        "level": found.level,
        "groups": found.groups,
        "n": found.n,
        "unscored": result.unscored,
    }


MEASUREMENT = Measurement(
    "agreement",
    "How well do the rubrics of each method agree with people on groups that learning never saw?",
    AgreementOptions,
    cases,
    run,
    overview,
)
