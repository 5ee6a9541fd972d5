"""What a change of judge costs a rubric: a large language model's recorded answers against the offline judge's.

    python -m experiments.judges.judges --judgments FOLDER --data FOLDER --output results/recorded.json

From the same criteria and the same 30 labelled texts one rubric is fitted to the answers of each judge. Each is carried
over to the test texts, asked of its own judge and of the other one, by `rubriclab transfer`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.judges.answers import Recorded, recorded, row
from rubriclab import (
    METHODS,
    CallEstimate,
    Effort,
    Judge,
    JudgeOptions,
    Learned,
    Method,
    Part,
    Rubric,
    TrainingInput,
    stats,
)
from rubriclab.research import JointSettings, Ledger, Plan, Recording, Trained, connect, joint, open_store, rate_parts

RUBRICLAB = str(Path(sys.executable).parent / "rubriclab")
# By whose answers a rubric was fitted to, what its version is called.
NAMES = {"language model": "by-language-model", "embedded": "by-embedded"}
ACTIONS = ("reuse", "recalibrate", "reweight", "reselect")
LEVELS: tuple[stats.Level, ...] = ("group", "dataset")
LABELS = 30
SEED = 0
RESAMPLES = 2000


def main() -> None:
    """Run every set and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=Path, required=True, help="folder with recordings, NAME.json.gz")
    parser.add_argument("--data", type=Path, required=True, help="folder with the same sets' rows, NAME.jsonl.gz")
    parser.add_argument("--seeds", type=int, default=3, help="draws of the labels that may be used")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    began = time.monotonic()
    found = []
    for path in sorted(given.judgments.glob("*.json.gz")):
        with tempfile.TemporaryDirectory() as folder:
            found.append(about(recorded(path, given.data), Path(folder), given.seeds))
    content = {"labels": LABELS, "seeds": given.seeds, "seconds": round(time.monotonic() - began), "sets": found}
    if given.output:
        given.output.write_text(json.dumps(content, indent=1) + "\n")
    print(shown(found))


def about(one: Recorded, folder: Path, seeds: int) -> dict[str, Any]:
    """Return everything that is found on one set; its texts stay in `folder`."""
    judges = prepare(one, folder)
    rubrics = {made: carried(one, made, judges, folder, seeds) for made in NAMES}
    groups = len({text.group for text in one.test})
    return {"set": one.name, "texts": len(one.test), "groups": groups, "twins": one.twins, "rubrics": rubrics}


def prepare(one: Recorded, folder: Path) -> dict[str, str]:
    """Return what the judges are called, once there are a recording of the model, and a store with a rubric of each."""
    tape, assignment = folder / "model.jsonl", one.assignment
    judges = {"language model": f"recorded:{tape}", "embedded": "embedded"}
    every = Rubric(task=assignment.words.task, aspect=assignment.aspect, scale=assignment.scale, parts=one.parts)
    asyncio.run(rate_parts(one.parts, every, (*one.train, *one.test), Recording(one.judge, tape)))
    with open_store(folder / "store.db") as store:
        for made, spec in judges.items():
            trained = asyncio.run(fitted(one, connect(spec, options=JudgeOptions(), ledger=Ledger())))
            store.save(NAMES[made], trained.rubric, trained.provenance, Effort(), training=trained.record)
    lines = (json.dumps(row(text, assignment.aspect.name)) + "\n" for text in one.test)
    (folder / "test.jsonl").write_text("".join(lines))
    return judges


async def fitted(one: Recorded, judge: Judge) -> Trained:
    """Return a rubric of the recorded criteria, chosen and weighed by a judge's answers about the training texts."""
    training_input = TrainingInput(one.train, one.assignment)
    plans = [Plan(given(part), training_input, METHODS[part.method].settings(**part.settings)) for part in one.parts]
    return await joint.train(plans, JointSettings(), judge=judge, generator=judge, seed=SEED)


def given(part: Part) -> Method:
    """Return a method that proposes nothing: it has the labelled texts rated by the criteria that it is given."""

    async def learn(training_input: TrainingInput, *_: Any, judge: Judge, **_unused: Any) -> Learned:
        texts = sorted(training_input.examples, key=lambda text: text.id)
        score = METHODS[part.method].score
        said = await asyncio.gather(*(score(text, part, training_input.assignment, judge) for text in texts))
        scores = np.array([np.nan if value is None else value for value, _ in said], dtype=float)
        names, ids = tuple(text.id for text in texts), tuple(each.id for each in part.criteria)
        return Learned(part, names, ids, tuple(ratings for _, ratings in said), scores, scores)

    return replace(METHODS[part.method], learn=learn, learning_at_most=lambda *_: (CallEstimate(), CallEstimate()))


def carried(one: Recorded, made: str, judges: Mapping[str, str], folder: Path, seeds: int) -> dict[str, Any]:
    """Return what a rubric is worth asked of its own judge and of the other one."""
    ref, other = NAMES[made], next(name for name in judges if name != made)
    asked = {"own": judges[made], "other": judges[other]}
    scores = {who: scored(ref, spec, folder, one) for who, spec in asked.items()}
    return {
        "agreement": {who: agrees(own, one) for who, own in scores.items()},
        "other less own": {level: less(scores["other"], scores["own"], one, level) for level in LEVELS},
        "all labels": {who: with_all(transferred(ref, spec, folder)) for who, spec in asked.items()},
        "some labels": {
            who: [with_some(transferred(ref, spec, folder, LABELS, seed), seed) for seed in range(seeds)]
            for who, spec in asked.items()
        },
    }


def scored(ref: str, judge: str, folder: Path, one: Recorded) -> list[float]:
    """Return the test texts' scores, NaN where there is none."""
    lines = command("score", "test.jsonl", "--rubric", ref, "--judge", judge, folder=folder).splitlines()
    found = {each["id"]: each["score"] for each in map(json.loads, lines)}
    return [float("nan") if found[text.id] is None else found[text.id] for text in one.test]


def transferred(ref: str, judge: str, folder: Path, labels: int | None = None, seed: int = SEED) -> dict[str, Any]:
    """Return what `rubriclab transfer` finds on the test texts."""
    some = ["--labels", str(labels)] if labels else []
    options = ["--to", "test.jsonl", "--judge", judge, "--scale", "1:5:any", *some, "--seed", str(seed)]
    found: dict[str, Any] = json.loads(command("transfer", ref, *options, "--no-relearn", "--json", folder=folder))
    return found


def command(*arguments: str, folder: Path) -> str:
    """Return what a command of rubriclab prints."""
    done = subprocess.run([RUBRICLAB, *arguments, "--store", "store.db"], cwd=folder, capture_output=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.decode())
    return done.stdout.decode()


def agrees(scores: Sequence[float], one: Recorded) -> dict[str, Any]:
    """Return the agreement of scores with people, at each level."""
    labels, groups = people(one)
    found: dict[str, Any] = {}
    for level in LEVELS:
        told = stats.agreement(scores, labels, groups, level=level, resamples=RESAMPLES, seed=SEED)
        found[level] = {"spearman": interval(told.spearman), "pearson": interval(told.pearson), "n": told.n}
    return found


def less(first: Sequence[float], second: Sequence[float], one: Recorded, level: stats.Level) -> list[float | None]:
    """Return the agreement of the first scores less that of the second, in Spearman correlation, paired."""
    labels, groups = people(one)
    told = stats.difference(first, second, labels, groups, level=level, resamples=RESAMPLES, seed=SEED)
    return interval(told.spearman)


def people(one: Recorded) -> tuple[list[float], list[str]]:
    """Return the test texts' human scores and groups."""
    return [text.scores[one.assignment.aspect.name] for text in one.test], [text.group for text in one.test]


def interval(found: Any) -> list[float | None]:
    """Return a figure with the ends of its interval."""
    ends = (
        (found["value"], found["low"], found["high"])
        if isinstance(found, dict)
        else (found.value, found.low, found.high)
    )
    return [None if end is None else round(end, 4) for end in ends]


def with_all(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said with all labels at hand: advice, and what each action gives on groups that had no part."""
    gains = {each["action"]: interval(each["gain"]) for each in found["advice"]["compared"]}
    return {
        "calibrated for another": found["calibrated_for"] != found["judge"],
        "home": interval(found["source"]["spearman"]),
        "there": interval(found["agreement"]["spearman"]),
        "level": found["agreement"]["level"],
        "drop": interval(found["drop"]),
        "advice": found["advice"]["action"],
        "few": found["advice"]["too_few_groups"],
        "actions": {
            each["action"]: {**figures(each["cross_validated"]), "gain": gains[each["action"]]} for each in tried(found)
        },
    }


def with_some(found: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return what is said with some labels, what each action then gives on the other texts, and if the advice is right.

    It is right if no other action is better on these texts by a whole interval.
    """
    behind = {each["action"]: interval(each["excess_error"]) for each in tried(found)}
    return {
        "seed": seed,
        "labels": found["labels"],
        "checked": found["held_out_labels"],
        "groups": {name: found["actions"][0][name]["groups"] for name in ("cross_validated", "held_out")},
        "advice": found["advice"]["action"],
        "few": found["advice"]["too_few_groups"],
        "right": all(high is None or high >= 0 for _, _, high in behind.values()),
        "actions": {
            each["action"]: {**figures(each["held_out"]), "behind": behind[each["action"]]} for each in tried(found)
        },
    }


def tried(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the actions that were tried."""
    return (each for each in found["actions"] if each["skipped"] is None)


def figures(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures that are kept of an action."""
    return {name: interval(found[name]) for name in ("error", "spearman")}


def shown(sets: Sequence[Mapping[str, Any]]) -> str:
    """Return all tables, for Markdown."""
    return "\n\n".join(tables(sets).values())


def tables(sets: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the figures as tables for Markdown, by name."""
    first = ["| set | fitted to | own judge | the other judge | other less own | drop from home |", "|---" * 6 + "|"]
    second = ["| set | fitted to | asked of | " + " | ".join(ACTIONS) + " | advice | right |", "|---" * 9 + "|"]
    third = ["| set | fitted to | asked of | " + " | ".join(ACTIONS) + " | advice |", "|---" * 8 + "|"]
    for one in sets:
        for made, found in one["rubrics"].items():
            start = f"| {one['set']} | {made} |"
            own, other = (found["agreement"][who]["group"]["spearman"] for who in ("own", "other"))
            rest = (own, other, found["other less own"]["group"], found["all labels"]["other"]["drop"])
            first.append(f"{start} {' | '.join(map(written, rest))} |")
            for who in ("own", "other"):
                second.append(f"{start} {who} | {_checked(found['some labels'][who])} |")
                third.append(f"{start} {who} | {_held_out(found['all labels'][who])} |")
    found = {"agreement": first, "some labels": second, "all labels": third}
    return {name: "\n".join(lines) for name, lines in found.items()}


def advice(sets: Sequence[Mapping[str, Any]]) -> str:
    """Return in a sentence how often the advice from some labels is right."""
    said = []
    for who in ("own", "other"):
        runs = [run for one in sets for found in one["rubrics"].values() for run in found["some labels"][who]]
        said.append(f"{sum(run['right'] for run in runs)} of {len(runs)} draws with the {who} judge")
    return f"With {LABELS} labels the advice is right in {' and in '.join(said)}."


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    sets = json.loads((Path(__file__).parent / "results" / "recorded.json").read_text())["sets"]
    sizes = [f"{one['texts']} texts in {one['groups']} groups ({one['set']})" for one in sets]
    twins = ", ".join(f"{one['twins']} of {one['set']}" for one in sets if one["twins"])
    told = f"95 % intervals, of {', '.join(sizes)}. Shown exactly as another text: {twins or 'none'}."
    return {"sizes": told, "advice": advice(sets), **tables(sets)}


def _checked(runs: Sequence[Mapping[str, Any]]) -> str:
    errors = [[run["actions"][name]["error"][0] for run in runs if name in run["actions"]] for name in ACTIONS]
    cells = [f"{np.mean(each):.2f}" if each else "" for each in errors]
    said = ", ".join(f"{name} {count}" for name, count in Counter(run["advice"] for run in runs).items())
    return " | ".join([*cells, said, f"{sum(run['right'] for run in runs)} of {len(runs)}"])


def _held_out(found: Mapping[str, Any]) -> str:
    actions = found["actions"]
    cells = [written(actions[name]["error"]) if name in actions else "" for name in ACTIONS]
    return " | ".join([*cells, found["advice"]])


def written(interval: Sequence[float | None]) -> str:
    """Return a figure with its interval."""
    value, low, high = interval
    return f"{value:.2f}" + ("" if low is None else f" [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
