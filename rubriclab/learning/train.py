"""One training run: a method learns, the result is measured, and everything it hangs on is written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab import __version__
from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example, data_digest, text_digest
from rubriclab.judges.judge import Judge
from rubriclab.learning.floor import best_measure
from rubriclab.literature import Finding
from rubriclab.methods import hypoeval
from rubriclab.methods.hypoeval.learn import Progress, silent
from rubriclab.methods.hypoeval.selection import predictions, select
from rubriclab.prompts import prompts_digest
from rubriclab.rubric import Interval, Provenance, Rubric, TrainingAgreement, rounded
from rubriclab.stats import Agreement, agreement
from rubriclab.stats.bootstrap import Estimate
from rubriclab.stats.correlation import FloatArray

PROMPTS = ("propose", "refine", "redundant", "rate", "rate_together")


@dataclass(frozen=True, slots=True)
class Trained:
    """What learning produced: the rubric and where it came from."""

    rubric: Rubric
    provenance: Provenance


async def train(
    examples: Sequence[Example],
    assignment: Assignment,
    *,
    judge: Judge,
    generator: Judge,
    findings: Sequence[Finding] = (),
    settings: hypoeval.HypoEvalSettings,
    seed: int,
    snapshots: Callable[[], Sequence[str]] = tuple,
    say: Progress = silent,
) -> Trained:
    """Return the rubric that HypoEval learns from labelled `examples`, with its provenance.

    `snapshots` is asked at the end for the model names that the provider reported.

    Raises:
        JudgeError: as `rubriclab.methods.hypoeval.learn`.
    """
    learned = await hypoeval.learn(
        examples,
        assignment,
        judge=judge,
        generator=generator,
        findings=findings,
        settings=settings,
        seed=seed,
        say=say,
    )
    rubric = Rubric(task=assignment.words.task, aspect=assignment.aspect, scale=assignment.scale, parts=(learned.part,))
    by_id = {example.id: example for example in examples}
    ordered = [by_id[name] for name in learned.examples]
    provenance = Provenance(
        judge=judge.name,
        generator=generator.name,
        judge_address=judge.identity.get("address"),
        generator_address=generator.identity.get("address"),
        snapshots=tuple(sorted(snapshots())),
        settings={"hypoeval": settings.model_dump(mode="json")},
        prompts=prompts_digest(f"hypoeval/{name}" for name in PROMPTS),
        data=data_digest(examples, assignment.aspect.name),
        examples=tuple(sorted(by_id)),
        groups=tuple(sorted({example.group for example in examples})),
        texts=tuple(sorted(text_digest(example) for example in examples)),
        seed=seed,
        agreement=_training_agreement(learned, ordered, assignment.aspect.name, settings),
        floor=best_measure(ordered, assignment.aspect.name),
        version=__version__,
    )
    return Trained(rubric, provenance)


def _training_agreement(
    learned: hypoeval.Learned,
    ordered: Sequence[Example],
    aspect: str,
    settings: hypoeval.HypoEvalSettings,
) -> TrainingAgreement:
    labels = np.array([example.scores[aspect] for example in ordered], dtype=float)
    groups = [example.group for example in ordered]
    fitted = agreement(learned.scores, labels, groups, level="dataset")
    left_out = agreement(_reselected(learned.matrix, labels, groups, settings), labels, groups, level="dataset")
    return TrainingAgreement(n=fitted.n, **_intervals(fitted), reselected=_interval(left_out.spearman))


def _reselected(
    matrix: FloatArray, labels: FloatArray, groups: Sequence[str], settings: hypoeval.HypoEvalSettings
) -> FloatArray:
    """Return each text's prediction by the criteria that the other groups' labels select; NaN if they select none."""
    predicted = np.full(len(labels), np.nan)
    names = np.array(groups)
    for group in sorted(set(groups)):
        inside = names == group
        columns = select(matrix[~inside], labels[~inside], settings)
        if columns:
            predicted[inside] = predictions(matrix[inside], columns)
    return predicted


def _intervals(found: Agreement) -> Mapping[str, Interval]:
    return {name: _interval(getattr(found, name)) for name in ("spearman", "pearson", "kendall")}


def _interval(estimate: Estimate) -> Interval:
    return Interval(value=rounded(estimate.value), low=rounded(estimate.low), high=rounded(estimate.high))
