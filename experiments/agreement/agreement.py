"""Agreement with people, aspect by aspect and method by method, on groups of texts that learning never saw.

    python -m experiments.agreement.agreement --data FOLDER --variant hypoeval --variant checkeval --variant \
        "checkeval:filter=model" --splits 3 --output results/embedded.json

A variant is a method's name, or `joint`, with settings of its own after a colon. Official ids where they are known, and
random splits by group beside them. Prints a table, and writes every figure as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.agreement.tables import means, table
from rubriclab.checklist import seed_questions
from rubriclab.data import Assignment, Example, find_aspect, parse_scale, read, task_words
from rubriclab.errors import ChecklistError
from rubriclab.evaluation import Evaluator, Result, baseline_evaluators, evaluate
from rubriclab.judges import Judge, JudgeOptions, Ledger, connect
from rubriclab.learning import best_measure, joint, train
from rubriclab.learning.candidates import Plan, find_candidates
from rubriclab.learning.fitting import fit
from rubriclab.learning.rating_matrix import centers_and_spreads, standardised
from rubriclab.learning.settings import JointSettings
from rubriclab.literature import load_findings
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import Method, TrainingInput
from rubriclab.methods.names import DEFAULT_METHODS
from rubriclab.rubric import Part
from rubriclab.scoring import score_text
from rubriclab.services.settings import parse_settings, resolve_settings
from rubriclab.stats.levels import Level

HERE = Path(__file__).parent
SHOTS = 30
SEED = 42


@dataclass(frozen=True)
class Case:
    """One aspect of one set, learned from one choice of texts."""

    data: str
    name: str
    file: str
    task: str
    aspect: str
    scale: str
    split: str
    judge: str
    variants: tuple[str, ...] = ()
    test_groups: int = 0
    together: bool = False
    shots: int = SHOTS


def main() -> None:
    """Run every case and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with the sets of sets.toml")
    parser.add_argument("--variant", action="append", default=[], help="METHOD or METHOD:NAME=VALUE,…")
    parser.add_argument("--together", action="store_true", help="the joint rubric beside what its methods make alone")
    parser.add_argument("--sets", default="", help="only these sets, separated by commas")
    parser.add_argument("--splits", type=int, default=0, help="random splits by group beside the official ids")
    parser.add_argument("--test-groups", type=int, default=0, help="at most so many groups to test on, drawn")
    parser.add_argument("--shots", type=int, default=SHOTS, help="texts to learn from, where there are so many")
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    began = time.monotonic()
    more = {"test_groups": given.test_groups, "together": given.together, "shots": given.shots}
    every = list(cases(given.data, given.sets, given.splits, given.judge, variants=tuple(given.variant), **more))
    with ProcessPoolExecutor(given.processes) as pool:
        rows = [row for found in pool.map(run, every) for row in found]
    columns = list(dict.fromkeys(row["evaluator"] for row in rows if not row["evaluator"].startswith("floor")))
    print(table([row for row in rows if row["split"] == "official"], columns))
    print(means(rows, columns))
    print(f"{time.monotonic() - began:.0f} s")
    if given.output:
        given.output.write_text(json.dumps(rows, indent=1) + "\n")


def cases(data: str, sets: str = "", splits: int = 0, judge: str = "embedded", **more: Any) -> Iterator[Case]:
    """Yield the cases of the sets named, separated by commas; of all where none is. `more` are fields of `Case`."""
    wanted = set(filter(None, sets.split(",")))
    for name, about in tomllib.loads((HERE / "sets.toml").read_text()).items():
        if wanted and name not in wanted:
            continue
        for aspect, scale in about["aspects"].items():
            for split in ("official", *(f"random {number}" for number in range(splits))):
                yield Case(
                    data=data,
                    name=name,
                    file=about.get("file", name),
                    task=about["task"],
                    aspect=aspect,
                    scale=scale,
                    split=split,
                    judge=judge,
                    **more,
                )


def run(case: Case) -> list[dict[str, Any]]:
    """Return the agreement of every variant and floor, one row each."""
    learned_from, test = split(case)
    floor = best_measure(learned_from, case.aspect)
    evaluators = []
    for variant in case.variants:
        # A method without questions for this aspect has no figure here.
        with contextlib.suppress(ChecklistError):
            evaluators.append(Evaluator(variant, asyncio.run(scores(case, variant, learned_from, test))))
    if case.together:
        evaluators += [
            Evaluator(name, own)
            for name, own in asyncio.run(from_one_matrix(case, learned_from, test)).items()
            # A method that is asked for by itself as well stands for itself: a joint training leaves steps of it out.
            if name not in case.variants
        ]
    everyone = [*evaluators, *baseline_evaluators(test, {"best": floor} if floor else {})]
    # Where every text answers an input of its own, there are no rivals to compare it with.
    level: Level = "group" if len({example.group for example in test}) < len(test) else "dataset"
    results = evaluate(test, everyone, case.aspect, levels=[level], seed=SEED)
    return [row_of(case, result) for result in results]


async def from_one_matrix(
    case: Case, learned_from: Sequence[Example], test: Sequence[Example]
) -> dict[str, np.ndarray]:
    """Return the scores of the joint rubric, of all its candidates with equal weights, and of each method alone.

    All come from one joint training and one round of scoring, so that they differ in nothing else.
    """
    judge = connect(case.judge, options=JudgeOptions(), ledger=Ledger())
    chosen, settings = plans(case, (), learned_from)
    assignment = chosen[0].training_input.assignment
    found = await find_candidates(chosen, judge=judge, generator=judge, seed=SEED)
    table = found.table(assignment, "in one call" if settings.ask == "in one call" else "by method")
    parts = found.parts_with(found.ids)
    rows = [await rated(text, parts, assignment, judge) for text in test]
    values = np.array([[row[name] for name in found.ids] for row in rows], dtype=float)
    centers, spreads = centers_and_spreads(table.values)
    joined = {
        "joint": fit(table, settings, seed=SEED).scores(values, table.scale),
        "equal weights": standardised(values, centers, spreads).mean(axis=1),
    }
    return joined | {part.method: await alone(part, test, assignment, judge) for part in found.parts}


async def rated(text: Example, parts: Sequence[Part], assignment: Assignment, judge: Judge) -> dict[str, float]:
    """Return a text's score by every criterion, NaN where there is none."""
    ratings = [
        rating for part in parts for rating in (await METHODS[part.method].score(text, part, assignment, judge))[1]
    ]
    return {rating.criterion: np.nan if rating.score is None else rating.score for rating in ratings}


async def alone(part: Part, test: Sequence[Example], assignment: Assignment, judge: Judge) -> np.ndarray:
    """Return the scores by one method's own rubric."""
    found = [(await METHODS[part.method].score(text, part, assignment, judge))[0] for text in test]
    return np.array([np.nan if score is None else score for score in found], dtype=float)


async def scores(case: Case, variant: str, learned_from: Sequence[Example], test: Sequence[Example]) -> np.ndarray:
    """Return the scores that a variant gives the texts of the test, NaN where it gives none."""
    judge = connect(case.judge, options=JudgeOptions(), ledger=Ledger())
    name, _, chosen = variant.partition(":")
    pairs = [f"{name}.{pair}" for pair in filter(None, chosen.split(","))]
    if name == "joint":
        trained = await joint.train(*plans(case, pairs, learned_from), judge=judge, generator=judge, seed=SEED)
    else:
        method = METHODS[name]
        settings = resolve_settings([method], joint=False, chosen=parse_settings(pairs)).methods[name]
        trained = await train(
            method,
            training_input(case, method, settings, learned_from),
            settings,
            judge=judge,
            generator=judge,
            seed=SEED,
        )
    scored = [await score_text(trained.rubric, example, judge, variant) for example in test]
    return np.array([np.nan if score.score is None else score.score for score in scored], dtype=float)


def training_input(case: Case, method: Method, settings: Any, learned_from: Sequence[Example]) -> TrainingInput:
    """Return what a method with these settings learns from.

    Raises:
        ChecklistError: if it starts from questions, and none ship for this aspect.
    """
    return TrainingInput(
        tuple(learned_from),
        Assignment(task_words(case.task), find_aspect(case.task, case.aspect), parse_scale(case.scale)),
        load_findings(case.task, case.aspect),
        seed_questions(method.checklists, case.task, case.aspect, needed=method.needs_checklist(settings)),
    )


def plans(case: Case, pairs: Sequence[str], learned_from: Sequence[Example]) -> tuple[list[Plan], JointSettings]:
    """Return the plans of a joint training, of those methods that have questions for this aspect, and its settings."""
    methods = [METHODS[name] for name in DEFAULT_METHODS]
    resolved = resolve_settings(methods, joint=True, chosen=parse_settings(pairs))
    assert resolved.joint
    method_plans = []
    for method in methods:
        settings = resolved.methods[method.name]
        with contextlib.suppress(ChecklistError):
            method_plans.append(Plan(method, training_input(case, method, settings, learned_from), settings))
    return method_plans, resolved.joint


def split(case: Case) -> tuple[list[Example], list[Example]]:
    """Return the texts to learn from, and those of groups that these do not touch.

    Where the official ids touch every group, the other texts of the same groups are tested; the row says so.
    """
    rows = load(f"{case.data}/{case.file}.jsonl.gz", case.aspect)
    official = json.loads(Path(f"{case.data}/hypoeval_train_ids.json").read_text()).get(case.file)
    if case.split == "official" and official and case.shots == SHOTS:
        ids = set(official)
    else:
        draw = random.Random(case.split)
        groups = sorted({row.group for row in rows})
        # QAGS has one text a group: half of the groups, else all learning texts would be of two or three groups.
        drawn = set(draw.sample(groups, len(groups) // 2))
        allowed = sorted(row.id for row in rows if row.group in drawn)
        ids = set(draw.sample(allowed, min(case.shots, len(allowed))))
    learned_from = [row for row in rows if row.id in ids]
    seen = {row.group for row in learned_from}
    test = [row for row in rows if row.group not in seen] or [row for row in rows if row.id not in ids]
    return learned_from, some_groups(test, case)


def some_groups(test: list[Example], case: Case) -> list[Example]:
    """Return the texts of as many groups as are to be tested on."""
    groups = sorted({row.group for row in test})
    if not 0 < case.test_groups < len(groups):
        return test
    drawn = set(random.Random(f"test {case.split}").sample(groups, case.test_groups))
    return [row for row in test if row.group in drawn]


@lru_cache(maxsize=1)
def load(path: str, aspect: str) -> tuple[Example, ...]:
    """Return the texts with a score for the aspect."""
    return tuple(row for row in read(path) if isinstance(row, Example) and aspect in row.scores)


def row_of(case: Case, result: Result) -> dict[str, Any]:
    """Return one figure with what it is of."""
    found = result.agreement
    return {
        "set": case.name,
        "aspect": case.aspect,
        "split": case.split,
        "evaluator": "baseline: best measure" if "best measure" in result.evaluator else result.evaluator,
        "measure": result.evaluator.split(" ")[1] if "best measure" in result.evaluator else None,
        "spearman": found.spearman.value,
        "low": found.spearman.low,
        "high": found.spearman.high,
        "level": found.level,
        "groups": found.groups,
        "n": found.n,
        "unscored": result.unscored,
    }


if __name__ == "__main__":
    main()
