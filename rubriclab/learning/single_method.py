"""Training with a single method: the rubric, its agreement with the labels, and its provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel

from rubriclab import __version__
from rubriclab.judges.judge import Judge
from rubriclab.learning.baselines import best_feature
from rubriclab.methods.method import Learned, Method, Progress, TrainingInput, silent
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import (
    Example,
    common_fields,
    data_digest,
    named_annotations,
    named_reasons,
    text_digest,
)
from rubriclab.models.version import Provenance, RecordedText, TrainingAgreement, TrainingRecord
from rubriclab.prompts import prompts_digest
from rubriclab.stats import Agreement, agreement
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.interval import Interval, rounded


@dataclass(frozen=True, slots=True)
class Trained:
    """The result of a training: the rubric, its provenance, and notes to the user.

    `record` holds the ratings and scores of each text; only a training of several methods has one.
    """

    rubric: Rubric
    provenance: Provenance
    notes: tuple[str, ...] = ()
    record: TrainingRecord | None = None


async def train(
    method: Method,
    training_input: TrainingInput,
    settings: BaseModel,
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    model_versions: Callable[[], Sequence[str]] = tuple,
    on_progress: Progress = silent,
) -> Trained:
    """Return the rubric that `method` learns, with its provenance.

    `model_versions` returns the model names that the provider reported.

    Raises:
        DataError: if the method needs labelled texts, and there are none.
        JudgeError: if nothing could be learned.
    """
    learned = await method.learn(
        training_input, settings, judge=judge, generator=generator, seed=seed, on_progress=on_progress
    )
    assignment, examples = training_input.assignment, training_input.examples
    rubric = Rubric(task=assignment.words.task, aspect=assignment.aspect, scale=assignment.scale, parts=(learned.part,))
    by_id = {example.id: example for example in examples}
    ordered = [by_id[name] for name in learned.examples]
    provenance = Provenance(
        **origins(examples, assignment.aspect.name, judge, generator, model_versions()),
        settings={method.name: settings.model_dump(mode="json")},
        prompts=prompts_digest(method.prompts),
        seed=seed,
        agreement=_training_agreement(learned, ordered, assignment.aspect.name) if ordered else None,
        baseline=best_feature(ordered, assignment.aspect.name) if ordered else None,
    )
    return Trained(rubric, provenance, learned.notes)


def origins(
    examples: Sequence[Example], aspect: str, judge: Judge, generator: Judge, model_versions: Iterable[str]
) -> dict[str, Any]:
    """Return the fields of a provenance about the models and the training data."""
    return {
        "judge": judge.name,
        "generator": generator.name,
        "judge_address": judge.identity.get("address"),
        "generator_address": generator.identity.get("address"),
        "model_versions": tuple(sorted(model_versions)),
        "data": data_digest(examples, aspect),
        "examples": tuple(sorted(example.id for example in examples)),
        "groups": tuple(sorted({example.group for example in examples})),
        "texts": tuple(sorted(text_digest(example) for example in examples)),
        "text_fields": common_fields(examples),
        "version": __version__,
    }


def training_agreement(
    scores: FloatArray,
    reselected: FloatArray,
    labels: FloatArray,
    groups: Sequence[str],
    *,
    optimistic: bool = True,
) -> TrainingAgreement:
    """Return the agreement of scores of the training texts with their labels, over all texts.

    Args:
        scores: by the rubric, shape (texts,), NaN where missing.
        reselected: the same, with the criteria for each group selected by the labels of the other groups only.
    """
    fitted = agreement(scores, labels, groups, level="dataset")
    left_out = agreement(reselected, labels, groups, level="dataset")
    return TrainingAgreement(
        n=fitted.n, optimistic=optimistic, **_intervals(fitted), reselected=left_out.spearman.rounded()
    )


def _training_agreement(learned: Learned, ordered: Sequence[Example], aspect: str) -> TrainingAgreement:
    labels = np.array([example.scores[aspect] for example in ordered], dtype=float)
    groups = [example.group for example in ordered]
    return training_agreement(learned.scores, learned.reselected, labels, groups, optimistic=learned.optimistic)


def _intervals(result: Agreement) -> Mapping[str, Interval]:
    return {name: getattr(result, name).rounded() for name in ("spearman", "pearson", "kendall")}


def recorded_texts(
    examples: Sequence[Example], aspect: str, predicted: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[RecordedText, ...]:
    """Return labelled texts as a training record holds them.

    Args:
        predicted, low, high: held-out score of each text and its interval, shape (texts,), NaN where missing.
    """
    return tuple(
        RecordedText(
            id=example.id,
            group=example.group,
            output=example.output,
            source=example.source,
            context=example.context,
            reference=example.reference,
            system=example.system,
            label=float(example.scores[aspect]),
            raters=named_annotations(example, aspect),
            reasons=named_reasons(example, aspect),
            predicted=rounded(float(predicted[row])),
            low=rounded(float(low[row])),
            high=rounded(float(high[row])),
        )
        for row, example in enumerate(examples)
    )
