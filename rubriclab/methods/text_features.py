"""Text features as criteria, computed without a judge and without cost.

Only labels show which features are informative and in which direction. These criteria therefore contribute to a learned
aggregation, and do not give a score of the aspect by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from rubriclab.errors import DataError
from rubriclab.judges.judge import Judge
from rubriclab.methods.method import (
    CriterionRating,
    Learned,
    LearningCalls,
    Method,
    Progress,
    TrainingInput,
    scores_of,
    silent,
)
from rubriclab.models.characters import describe
from rubriclab.models.rubric import Criterion, Evidence, Part
from rubriclab.models.text import Assignment, Example
from rubriclab.models.text_features import CATALOGUE, Features, TextFeature
from rubriclab.stats.correlation import FloatArray, pearson
from rubriclab.stats.intervals import DIGITS, rounded

_BY_NAME: Mapping[str, TextFeature] = {entry.name: entry for entry in CATALOGUE}


class TextFeatureSettings(BaseModel):
    """No hyperparameters: all text features are candidates."""

    model_config = ConfigDict(frozen=True, extra="forbid")


async def learn(
    training_input: TrainingInput, settings: TextFeatureSettings, *, on_progress: Progress = silent, **_unused: Any
) -> Learned:
    """Return all text features that are defined for all labelled texts and vary among them; no calls are made.

    The texts have no scores by this part: all are NaN.

    Raises:
        DataError: if there is no such feature.
    """
    texts, labels = training_input.in_order, training_input.label_array
    rows = [_measured(text) for text in texts]
    rated = {entry: [_measurement(entry, row, text) for row, text in zip(rows, texts, strict=True)] for entry in CATALOGUE}
    varying = {entry: column for entry, column in rated.items() if _varies(column)}
    if not varying:
        raise DataError(f"No text feature varies over the {len(texts)} labelled texts.", "Give more texts.")
    ratings = tuple(zip(*varying.values(), strict=True))
    columns = scores_of(ratings, len(varying)).T
    criteria = tuple(_criterion(entry, column, labels) for entry, column in zip(varying, columns, strict=True))
    on_progress(f"{len(criteria)} text features", 1.0)
    none = np.full(len(texts), np.nan)
    return Learned(
        part=Part(method="text_features", settings=settings.model_dump(mode="json"), criteria=criteria),
        examples=tuple(text.id for text in texts),
        candidates=tuple(criterion.id for criterion in criteria),
        ratings=ratings,
        scores=none,
        reselected=none,
        optimistic=False,
    )


async def score(
    example: Example, part: Part, _assignment: Assignment, _judge: Judge
) -> tuple[float | None, tuple[CriterionRating, ...]]:
    """Return no score of the text, and the value of each of the part's text features; no calls are made.

    Raises:
        DataError: if a criterion is not a known text feature.
    """
    features = _measured(example)
    return None, tuple(_measurement(_entry(criterion.id), features, example) for criterion in part.criteria)


def _entry(name: str) -> TextFeature:
    if name not in _BY_NAME:
        raise DataError(
            f"The rubric uses a text feature that this version does not have: {name!r}.",
            f"Known are: {', '.join(_BY_NAME)}.",
        )
    return _BY_NAME[name]


def _measured(example: Example) -> Mapping[str, float]:
    return Features(example.output, example.source, example.context)


def _varies(rated: Sequence[CriterionRating]) -> bool:
    values = {each.score for each in rated}
    return None not in values and len(values) > 1


def _measurement(entry: TextFeature, features: Mapping[str, float], example: Example) -> CriterionRating:
    value = features[entry.name]
    if math.isnan(value):
        lacking = [need for need in sorted(entry.needs) if not getattr(example, need)]
        why = f"it needs a {' and a '.join(lacking)}, and there is none" if lacking else "it is undefined here"
        return CriterionRating(entry.name, None, f"Cannot be measured: {why}.", applies=False)
    return CriterionRating(entry.name, round(float(value), DIGITS), f"Measured: {value:.4g} ({entry.unit}).")


def feature_criterion(name: str, evidence: Evidence | None = None) -> Criterion:
    """Return the criterion of a text feature."""
    entry = _BY_NAME[name]
    return Criterion(
        id=name,
        kind="feature",
        trait=entry.title,
        statement=f"Counted, not judged: {entry.title} ({entry.unit}).",
        evidence=evidence or Evidence(origin="definition"),
    )


def _criterion(entry: TextFeature, values: FloatArray, labels: FloatArray) -> Criterion:
    evidence = Evidence(origin="definition", pearson=rounded(pearson(values, labels)), judged=len(values))
    return feature_criterion(entry.name, evidence)


def part_faults(part: Part) -> Iterator[str]:
    """Yield which of a part's criteria are no text features."""
    names = {feature.name for feature in CATALOGUE}
    for number, criterion in enumerate(part.criteria):
        if criterion.id not in names:
            yield f"criteria[{number}].id: expected a text feature that rubriclab knows, got {describe(criterion.id)}"


TEXT_FEATURES = Method(
    name="text_features",
    settings=TextFeatureSettings,
    presets={},
    prompts=(),
    learn=learn,
    score=score,
    learning_calls=lambda _input, _settings: LearningCalls(0),
    criterion_kind="feature",
    part_faults=part_faults,
)
