"""Do held-out figures of labels that say nothing come to nothing?

    python -m experiments.leaks.leaks --data FOLDER --runs 256

Each of 30 texts gets a label drawn with replacement from all labels of its set, so that nothing is left to learn and no
label says anything about another one. Whole trainings, criteria and all, are run on them; every evaluator that the page
prints should then agree with held-out labels by 0 on average. With `--labels shuffled` the 30 labels are dealt out anew
instead. Writes every run into results, and prints the figures.

The mean of Pearson correlations is not the right measure of a leak: where training labels correlate with nothing by
chance, weights are small, held-out scores differ little, and their covariance with the labels is below zero, all at
once; dividing each covariance by its own small spread gives these runs too much weight. So the covariances themselves
are averaged too, and divided by the mean product of the spreads.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.agreement.agreement import SEED, Case, plans, split
from rubriclab.data import Example
from rubriclab.judges import JudgeOptions, Ledger, connect
from rubriclab.learning import gate, joint
from rubriclab.validation import EvaluatorAgreement

HERE = Path(__file__).parent

ASPECTS = (
    ("summeval", "summarization", "coherence", "1:5:any"),
    ("summeval", "summarization", "relevance", "1:5:any"),
    ("hanna", "story", "engagement", "1:5:any"),
    ("topical_chat", "dialogue", "naturalness", "1:3:any"),
)
TITLES = {"drawn": "labels drawn with replacement", "shuffled": "labels shuffled among the 30 texts"}


def main() -> None:
    """Run every training and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with the sets of experiments/agreement/sets.toml")
    parser.add_argument("--runs", type=int, default=256)
    parser.add_argument("--labels", choices=("drawn", "shuffled"), default="drawn")
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    jobs = [(given.data, given.judge, given.labels, number) for number in range(given.runs)]
    with ProcessPoolExecutor(given.processes) as pool:
        rows = list(pool.map(run, jobs))
    stored(given.labels).parent.mkdir(exist_ok=True)
    stored(given.labels).write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    print("\n\n".join(readme_figures().values()))


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block: one for each way of drawing labels that has stored runs."""
    return {name: table(name, json.loads(stored(name).read_text())) for name in TITLES if stored(name).exists()}


def stored(labels: str) -> Path:
    """Return the file of the runs."""
    return HERE / "results" / f"{labels}.json"


def run(job: tuple[str, str, str, int]) -> dict[str, Any]:
    """Return what one training on labels that say nothing says of each evaluator."""
    data, judge_name, labels, number = job
    name, task, aspect, scale = ASPECTS[number % len(ASPECTS)]
    case = Case(data, name, name, task, aspect, scale, f"random {number // len(ASPECTS)}", judge_name, ())
    learned_from, others = split(case)
    examples = relabelled(learned_from, others, aspect, random.Random(f"{labels} {number}"), labels)
    judge = connect(judge_name, options=JudgeOptions(), ledger=Ledger())
    chosen, settings = plans(case, ["joint.repeats=1"], examples)
    covariances: dict[str, tuple[float, float]] = {}
    with watched(covariances):
        trained = asyncio.run(joint.train(chosen, settings, judge=judge, generator=judge, seed=SEED + number))
    validation = trained.provenance.validation
    assert validation is not None
    return {
        "set": name,
        "aspect": aspect,
        "run": number,
        "outcome": validation.outcome,
        "pearson": {each.name: each.pearson.value for each in validation.evaluators},
        "candidates": {point.name: point.pearson for point in validation.frontier},
        "added": {each.method: each.difference.value for each in validation.added},
        "training": validation.training.pearson.value,
        "covariance": {name: found[0] for name, found in covariances.items()},
        "spreads": {name: found[1] for name, found in covariances.items()},
    }


@contextlib.contextmanager
def watched(found: dict[str, tuple[float, float]]) -> Iterator[None]:
    """Note each evaluator's covariance with the labels, and the product of both spreads."""
    usual = gate._Arena.evaluator_agreement

    def evaluator_agreement(arena: gate._Arena, each: gate.Scored) -> EvaluatorAgreement:
        scores, labels = np.nan_to_num(each.scores), arena.labels
        products = float(scores.std() * labels.std())
        found.setdefault(each.name, (float(np.cov(scores, labels, ddof=0)[0, 1]), products))
        return usual(arena, each)

    gate._Arena.evaluator_agreement = evaluator_agreement  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        gate._Arena.evaluator_agreement = usual  # type: ignore[method-assign]


def relabelled(
    examples: Sequence[Example], others: Sequence[Example], aspect: str, draw: random.Random, labels: str
) -> list[Example]:
    """Return the texts with labels drawn with replacement from all of the set, or with each other's."""
    own = [example.scores[aspect] for example in examples]
    every = [*own, *(example.scores[aspect] for example in others)]
    new = draw.sample(own, len(own)) if labels == "shuffled" else draw.choices(every, k=len(own))
    return [
        replace(example, scores={aspect: label}, annotations={}) for example, label in zip(examples, new, strict=True)
    ]


def table(labels: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the mean of each evaluator with its standard error, for Markdown."""
    lines = [
        f"{len(rows)} trainings, {TITLES[labels]}.",
        "",
        "| evaluator | mean Pearson | standard error | covariance over spreads | standard error | |",
        "|---" * 6 + "|",
    ]
    for name in dict.fromkeys(name for row in rows for name in row["pearson"]):
        own = [row for row in rows if row["pearson"].get(name) is not None]
        r = np.array([row["pearson"][name] for row in own], dtype=float)
        spread = np.mean([row["spreads"][name] for row in own]) or 1.0
        shares = np.array([row["covariance"][name] for row in own], dtype=float) / spread
        far = "" if abs(shares.mean()) <= 2 * _error(shares) else "more than two standard errors from 0"
        figures = f"{r.mean():+.3f} | {_error(r):.3f} | {shares.mean():+.3f} | {_error(shares):.3f}"
        lines.append(f"| {name} | {figures} | {far} |")
    better = sum(row["outcome"] == "better" for row in rows)
    training = np.mean([row["training"] for row in rows if row["training"] is not None])
    lines += [
        "",
        f"The gate said `better` in {better} of {len(rows)} runs. On the labels that it was fitted to, the rubric",
    ]
    lines[-1] += f" reached {training:.2f} on average: that much is what noise gives."
    return "\n".join(lines)


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


if __name__ == "__main__":
    main()
