"""How often the gate lets a rubric through that deserves it, and one that cannot.

    python -m experiments.gate.gate --data FOLDER --runs 6 --whole 4 --output experiments/gate/results/embedded.json

A run learns from labels that say nothing about their texts, as they were dealt out anew, and asks the gate. In a
`whole` run they were dealt before anything was learned, so that criteria are made from them; in a `matrix` run before
criteria are chosen and weighed. Runs with the labels as they are show the power. Prints a table, and writes every run
as a row of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rubriclab.checklist import seed_questions
from rubriclab.data import Assignment, Example, find_aspect, parse_scale, read, task_words
from rubriclab.errors import ChecklistError
from rubriclab.judges import JudgeOptions, Ledger, connect
from rubriclab.learning.baselines import SURFACE, measure_values
from rubriclab.learning.candidates import Candidates, Plan, find_candidates
from rubriclab.learning.fitting import fit, held_out
from rubriclab.learning.gate import validation
from rubriclab.learning.rating_matrix import RatingMatrix
from rubriclab.learning.settings import JointSettings
from rubriclab.literature import load_findings
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import TrainingInput, chosen_settings
from rubriclab.methods.names import JOINT
from rubriclab.stats.correlation import FloatArray
from rubriclab.validation import Validation

SETS = Path(__file__).parents[1] / "agreement" / "sets.toml"
ASKED: tuple[str, ...] = ("hypoeval", "checkeval", "seeval", "direct")
SEED = 42
# The learning sets: texts wherever they fall, which are compared over the whole set; and rivals, compared in groups.
TEXTS = 30
GROUPS, RIVALS = 12, 4
# In a matrix run the settings that cross-validation would choose between are given: a hundred times as fast.
GIVEN = JointSettings(calibration="linear", repeats=1)


@dataclass(frozen=True)
class Case:
    """One aspect of one set, and how texts are drawn from it."""

    data: str
    name: str
    file: str
    task: str
    aspect: str
    scale: str
    design: str
    judge: str
    runs: int
    whole: int


def main() -> None:
    """Run every case and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with the sets of experiments/agreement/sets.toml")
    parser.add_argument("--sets", default="summeval,newsroom,hanna,topical_chat,qags_cnndm")
    parser.add_argument("--runs", type=int, default=6, help="matrix runs of each kind a case")
    parser.add_argument("--whole", type=int, default=4, help="whole runs a case")
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    began = time.monotonic()
    with ProcessPoolExecutor(given.processes) as pool:
        rows = [row for found in pool.map(run, list(cases(given))) for row in found]
    if given.output:
        given.output.write_text(json.dumps(rows, indent=None, separators=(",", ":")).replace("},", "},\n") + "\n")
    print(table(rows))
    print(f"{time.monotonic() - began:.0f} s")


def cases(given: argparse.Namespace) -> Iterator[Case]:
    """Yield the cases asked for."""
    for name, about in tomllib.loads(SETS.read_text()).items():
        for aspect, scale in about["aspects"].items() if name in given.sets.split(",") else ():
            for design in ("texts", "rivals"):
                file = about.get("file", name)
                yield Case(
                    given.data, name, file, about["task"], aspect, scale, design, given.judge, given.runs, given.whole
                )


def run(case: Case) -> list[dict[str, Any]]:
    """Return a row for each run of a case; none where its groups hold too few rivals."""
    rows = []
    examples = drawn(case, random.Random(f"{case.name} {case.aspect} {case.design}"))
    if not examples:
        return []
    surface = measure_values(examples, SURFACE)
    found = asyncio.run(candidates(case, examples))
    judged = found.table(assignment(case), "by method")
    rows.append(row(case, "as they are", "whole", asked(judged, surface, JointSettings())))
    for kind in kinds(case):
        rng = np.random.default_rng([SEED, len(kind), len(case.aspect)])
        for number in range(case.runs):
            shuffled = replace(judged, labels=dealt(judged, kind, rng))
            rows.append(row(case, kind, "matrix", asked(shuffled, surface, GIVEN, number)))
        for number in range(case.whole):
            labels = dealt(judged, kind, rng)
            relabelled = [
                replace(example, scores={case.aspect: float(label)})
                for example, label in zip(examples, labels, strict=True)
            ]
            made = asyncio.run(candidates(case, relabelled)).table(assignment(case), "by method")
            rows.append(row(case, kind, "whole", asked(made, surface, JointSettings(), number)))
    return rows


def kinds(case: Case) -> tuple[str, ...]:
    """Return how labels are dealt: `within` groups where rivals are compared, as what differs between groups then stays
    and has no part in the figures; else and also `among` them, so that rivals' labels stay as alike as they are."""
    return ("within", "among") if case.design == "rivals" else ("among",)


def dealt(judged: RatingMatrix, kind: str, rng: np.random.Generator) -> FloatArray:
    """Return the labels shuffled within groups, and for `among` the groups' labels exchanged before that."""
    groups = np.array(judged.groups)
    names = sorted(set(judged.groups))
    order = rng.permutation(names) if kind == "among" else names
    labels = np.concatenate([rng.permutation(judged.labels[groups == name]) for name in order])
    given = np.empty(len(labels))
    given[np.concatenate([np.flatnonzero(groups == name) for name in names])] = labels
    return given


def asked(judged: RatingMatrix, surface: FloatArray, settings: JointSettings, seed: int = 0) -> Validation:
    """Return what the gate says of the rubric that is learned from a table."""
    found = held_out(judged, settings, seed=seed)
    fitted = fit(judged, settings, seed=seed).raw(judged.values)
    return validation(judged, surface, found.raw, fitted, found.folds[0], alone={}, calls={JOINT: 0.0}, seed=seed)


def row(case: Case, labels: str, run: str, said: Validation) -> dict[str, Any]:
    """Return one run with what the gate said."""
    first, evaluator_agreement = said.verdicts[0], {each.name: each.pearson.value for each in said.evaluators}
    return {
        "set": case.name,
        "aspect": case.aspect,
        "design": case.design,
        "labels": labels,
        "run": run,
        "level": said.level,
        "n": said.n,
        "groups": said.groups,
        "outcome": said.outcome,
        "against": first.against,
        "difference": asdict(first.difference),
        "more_labels": first.more_labels,
        "own": asdict(said.evaluators[0].pearson),
        "training": said.training.pearson.value,
        "evaluators": evaluator_agreement,
        "verdicts": {verdict.against: verdict.outcome for verdict in said.verdicts},
    }


async def candidates(case: Case, examples: Sequence[Example]) -> Candidates:
    """Return what the methods find on these texts."""
    judge = connect(case.judge, options=JudgeOptions(), ledger=Ledger())
    findings = load_findings(case.task, case.aspect)
    plans = []
    for name in ASKED:
        method = METHODS[name]
        settings = chosen_settings(method.settings, method.presets, METHODS[name].joint_settings)
        needed = method.needs_checklist(settings)
        try:
            questions = seed_questions(method.checklists, case.task, case.aspect, needed=needed)
        except ChecklistError:
            continue
        training_input = TrainingInput(tuple(examples), assignment(case), findings, questions)
        plans.append(Plan(method, training_input, settings))
    return await find_candidates(plans, judge=judge, generator=judge, seed=SEED)


def assignment(case: Case) -> Assignment:
    """Return what is judged."""
    return Assignment(task_words(case.task), find_aspect(case.task, case.aspect), parse_scale(case.scale))


def drawn(case: Case, draw: random.Random) -> list[Example]:
    """Return the texts to learn from, by id: `TEXTS` of half of the groups, or `RIVALS` texts of `GROUPS` groups each,
    groups with more labels that differ first."""
    rows = load(f"{case.data}/{case.file}.jsonl.gz", case.aspect)
    groups = sorted({each.group for each in rows})
    draw.shuffle(groups)
    if case.design == "texts":
        some = set(groups[: len(groups) // 2])
        return sorted(draw.sample([each for each in rows if each.group in some], TEXTS), key=lambda each: each.id)
    chosen = [draw.sample(own, RIVALS) for own in members(rows, groups) if len(own) >= RIVALS]
    chosen.sort(key=lambda own: len({each.scores[case.aspect] for each in own}) < 2)
    return sorted((each for own in chosen[:GROUPS] for each in own), key=lambda each: each.id)


def members(rows: Sequence[Example], groups: Sequence[str]) -> list[list[Example]]:
    """Return the texts of each group."""
    by_group: dict[str, list[Example]] = {group: [] for group in groups}
    for each in rows:
        by_group[each.group].append(each)
    return list(by_group.values())


@lru_cache(maxsize=1)
def load(path: str, aspect: str) -> tuple[Example, ...]:
    """Return the texts with a score for the aspect."""
    return tuple(each for each in read(path) if isinstance(each, Example) and aspect in each.scores)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the outcomes by design, labels and run, for Markdown."""
    lines = [
        "| learning set | level | labels | run | runs | better | not better | inconclusive | own above 0 | "
        "mean held out | mean training |",
        "|---" * 11 + "|",
    ]
    keys = dict.fromkeys((each["design"], each["level"], each["labels"], each["run"]) for each in rows)
    for key in sorted(keys):
        own = [each for each in rows if (each["design"], each["level"], each["labels"], each["run"]) == key]
        counts = Counter(each["outcome"] for each in own)
        shares = [f"{counts[outcome] / len(own):.1%}" for outcome in ("better", "not better", "inconclusive")]
        above = sum((each["own"]["low"] or 0) > 0 for each in own) / len(own)
        means = [np.mean([each["own"]["value"] or 0 for each in own]), np.mean([each["training"] or 0 for each in own])]
        figures = [str(len(own)), *shares, f"{above:.1%}", *(f"{mean:.3f}" for mean in means)]
        lines.append(f"| {' | '.join((*key, *figures))} |")
    return "\n".join(lines)


def alarms(rows: Sequence[dict[str, Any]]) -> str:
    """Return in a sentence how often the gate passed labels that say nothing, and what it said of the true ones."""
    dealt_out = [each for each in rows if each["labels"] != "as they are"]
    true = Counter(each["outcome"] for each in rows if each["labels"] == "as they are")
    whole = [each for each in dealt_out if each["run"] == "whole"]
    passed, of_whole = (sum(each["outcome"] == "better" for each in own) for own in (dealt_out, whole))
    return (
        f"The gate said `better` in {passed} of {len(dealt_out)} runs with labels dealt out anew ({of_whole} of the "
        f"{len(whole)} whole ones).\nWith the labels as they are it said `better` in {true['better']}, `not better` in "
        f"{true['not better']} and `inconclusive` in {true['inconclusive']} of {true.total()} runs."
    )


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    rows = json.loads((Path(__file__).parent / "results" / "embedded.json").read_text())
    return {"offline": f"{table(rows)}\n\n{alarms(rows)}"}


if __name__ == "__main__":
    main()
