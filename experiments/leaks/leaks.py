"""Do held-out figures of labels that say nothing come to nothing?

    python -m experiments measure leaks --data FOLDER -o experiments/leaks/results/drawn.json

Each of 30 texts gets a label drawn with replacement from all labels of its set, so that nothing is left to learn and no
label says anything about another one. Whole trainings, criteria and all, are run on them; every evaluator that the page
prints should then agree with held-out labels by 0 on average. With `--set labels=shuffled` the 30 labels are dealt out
anew instead.

The mean of Pearson correlations is not the right measure of a leak: where training labels correlate with nothing by
chance, weights are small, held-out scores differ little, and their covariance with the labels is below zero, all at
once; dividing each covariance by its own small spread gives these runs too much weight. So the covariances themselves
are averaged too, and divided by the mean product of the spreads.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from experiments.runner.measurement import Measurement, Options, Row, stored_rows
from experiments.runner.training import LabelledAspect, Split, labelled_aspects, plans, uncached_judge
from rubriclab import Example
from rubriclab.research import EvaluatorAgreement, gate, joint

HERE = Path(__file__).parent
SEED = 42
ASPECTS = ("summeval coherence", "summeval relevance", "hanna engagement", "topical_chat naturalness")
TITLES = {"drawn": "labels drawn with replacement", "shuffled": "labels shuffled among the 30 texts"}


class LeaksOptions(Options):
    """How many trainings, and where labels come from.

    Attributes:
        runs: trainings, the aspects in turn.
        labels: drawn with replacement from all labels of the set, or the texts' own, shuffled.
    """

    runs: int = 144
    labels: Literal["drawn", "shuffled"] = "drawn"


@dataclass(frozen=True)
class Case:
    """One training on labels that say nothing."""

    aspect: LabelledAspect
    number: int
    labels: str
    judge: str

    def __str__(self) -> str:
        """Return what the case is of."""
        return f"{self.aspect}, labels {self.labels}, run {self.number}"


def cases(options: LeaksOptions) -> Iterator[Case]:
    """Yield the trainings, the aspects in turn."""
    known = {str(aspect): aspect for aspect in labelled_aspects(options.data, "summeval,hanna,topical_chat")}
    for number in range(options.runs):
        yield Case(known[ASPECTS[number % len(ASPECTS)]], number, options.labels, options.judge)


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block: one for each way of drawing labels that has stored runs."""
    files = {name: HERE / "results" / f"{name}.json" for name in TITLES}
    return {name: table(stored_rows(file)) for name, file in files.items() if file.exists()}


def run(case: Case) -> list[Row]:
    """Return what one training on labels that say nothing says of each evaluator."""
    number, aspect = case.number, case.aspect.aspect
    learned_from, others = Split(f"random {number // len(ASPECTS)}").of(case.aspect)
    draw = random.Random(f"{case.labels} {number}")
    examples = relabelled(learned_from, others, aspect, draw, case.labels)
    judge = uncached_judge(case.judge)
    chosen, settings = plans(case.aspect, examples, ["joint.repeats=1"])
    covariances: dict[str, tuple[float, float]] = {}
    with watched(covariances):
        trained = asyncio.run(joint.train(chosen, settings, judge=judge, generator=judge, seed=SEED + number))
    validation = trained.provenance.validation
    assert validation is not None
    row = {
        "set": case.aspect.set,
        "aspect": aspect,
        "labels": case.labels,
        "run": number,
        "outcome": validation.outcome,
        "pearson": {each.name: each.pearson.value for each in validation.evaluators},
        "candidates": {point.name: point.pearson for point in validation.frontier},
        "added": {each.method: each.difference.value for each in validation.added},
        "training": validation.training.pearson.value,
        "covariance": {name: found[0] for name, found in covariances.items()},
        "spreads": {name: found[1] for name, found in covariances.items()},
    }
    return [row]


@contextlib.contextmanager
def watched(found: dict[str, tuple[float, float]]) -> Iterator[None]:
    """Note each evaluator's covariance with the labels, and the product of both spreads."""
    usual = gate._Comparison.evaluator_agreement

    def evaluator_agreement(comparison: gate._Comparison, each: gate.Scored) -> EvaluatorAgreement:
        scores, labels = np.nan_to_num(each.scores), comparison.labels
        products = float(scores.std() * labels.std())
        found.setdefault(each.name, (float(np.cov(scores, labels, ddof=0)[0, 1]), products))
        return usual(comparison, each)

    gate._Comparison.evaluator_agreement = evaluator_agreement  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        gate._Comparison.evaluator_agreement = usual  # type: ignore[method-assign]


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


def table(rows: Sequence[Row]) -> str:
    """Return the mean of each evaluator with its standard error, for Markdown."""
    lines = [
        f"{len(rows)} trainings, {TITLES[rows[0]['labels']]}.",
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
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


MEASUREMENT = Measurement(
    "leaks",
    "With labels that say nothing, does every evaluator agree with held-out labels by 0?",
    LeaksOptions,
    cases,
    run,
    table,
)
