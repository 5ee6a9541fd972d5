"""Do held-out figures of labels that say nothing come to nothing?

    python experiments/leaks/leaks.py --data FOLDER --runs 64 --output experiments/leaks/results/shuffled.json

Labels are dealt out anew among 30 texts, so that nothing is left to learn. Whole trainings, criteria and all, are run
on them; every evaluator that the page prints should then agree with held-out labels by 0 on average. Writes every run,
and the figures into README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "agreement"))

from agreement import SEED, Case, plans, split  # noqa: E402

from rubriclab.data import Example  # noqa: E402
from rubriclab.judges import JudgeOptions, Ledger, connect  # noqa: E402
from rubriclab.learning import joint  # noqa: E402

ASPECTS = (
    ("summeval", "summarization", "coherence", "1:5:any"),
    ("summeval", "summarization", "relevance", "1:5:any"),
    ("hanna", "story", "engagement", "1:5:any"),
    ("topical_chat", "dialogue", "naturalness", "1:3:any"),
)
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def main() -> None:
    """Run every training and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with the sets of experiments/agreement/sets.toml; else stored runs")
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path, default=HERE / "results" / "shuffled.json")
    given = parser.parse_args()
    if given.data:
        jobs = [(given.data, given.judge, number) for number in range(given.runs)]
        with ProcessPoolExecutor(given.processes) as pool:
            rows = list(pool.map(run, jobs))
        given.output.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    found = table(json.loads(given.output.read_text()))
    readme = HERE / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    readme.write_text(f"{before}{BEGIN}\n{found}\n{END}{rest.partition(END)[2]}")
    print(found)


def run(job: tuple[str, str, int]) -> dict[str, Any]:
    """Return what one training on shuffled labels says of each evaluator."""
    data, judge_name, number = job
    name, task, aspect, scale = ASPECTS[number % len(ASPECTS)]
    case = Case(data, name, name, task, aspect, scale, f"random {number // len(ASPECTS)}", judge_name, ())
    examples = shuffled(split(case)[0], aspect, random.Random(f"shuffled {number}"))
    judge = connect(judge_name, options=JudgeOptions(), ledger=Ledger())
    chosen, settings = plans(case, ["joint.repeats=1"], examples)
    trained = asyncio.run(joint.train(chosen, settings, judge=judge, generator=judge, seed=SEED + number))
    trust = trained.provenance.trust
    assert trust is not None
    return {
        "set": name,
        "aspect": aspect,
        "run": number,
        "outcome": trust.outcome,
        "pearson": {each.name: each.pearson.value for each in trust.standings},
        "candidates": {point.name: point.pearson for point in trust.frontier},
        "added": {each.method: each.difference.value for each in trust.added},
        "training": trust.training.pearson.value,
    }


def shuffled(examples: Sequence[Example], aspect: str, draw: random.Random) -> list[Example]:
    """Return the texts with each other's labels."""
    labels = [example.scores[aspect] for example in examples]
    draw.shuffle(labels)
    return [
        replace(example, scores={aspect: label}, annotations={})
        for example, label in zip(examples, labels, strict=True)
    ]


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the mean of each evaluator with its standard error, for Markdown."""
    lines = [
        f"{len(rows)} trainings on shuffled labels.",
        "",
        "| evaluator | mean held-out Pearson | standard error | |",
    ]
    lines.append("|---" * 4 + "|")
    for name in dict.fromkeys(name for row in rows for name in row["pearson"]):
        values = np.array([row["pearson"][name] for row in rows if row["pearson"].get(name) is not None], dtype=float)
        error = values.std(ddof=1) / np.sqrt(len(values))
        far = "" if abs(values.mean()) <= 2 * error or error == 0 else "more than two standard errors from 0"
        lines.append(f"| {name} | {values.mean():+.3f} | {error:.3f} | {far} |")
    better = sum(row["outcome"] == "better" for row in rows)
    training = np.mean([row["training"] for row in rows if row["training"] is not None])
    lines += [
        "",
        f"The gate said `better` in {better} of {len(rows)} runs. On the labels that it was fitted to, the rubric",
    ]
    lines[-1] += f" reached {training:.2f} on average: that much is what noise gives."
    return "\n".join(lines)


if __name__ == "__main__":
    main()
