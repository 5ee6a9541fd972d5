"""Surface measures as criteria: what anybody could count in a text, free of charge.

No judge takes part. What a measure is worth, and which end of it is better, only labels can tell: these criteria count
in a combination that has weighed them, and have no score of the whole aspect by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.data.fields import describe
from rubriclab.errors import DataError
from rubriclab.judges.judge import Judge
from rubriclab.methods.estimate import CallEstimate
from rubriclab.methods.method import CriterionRating, Learned, Method, Progress, TrainingInput, scores_of, silent
from rubriclab.rubric import Criterion, Evidence, Part
from rubriclab.stats.correlation import FloatArray, pearson
from rubriclab.stats.interval import DIGITS, rounded
from rubriclab.text_features import CATALOGUE, TextFeature, extract_features

_BY_NAME: Mapping[str, TextFeature] = {entry.name: entry for entry in CATALOGUE}


class SurfaceSettings(BaseModel):
    """Nothing is tunable: every measure of the catalogue is taken."""

    model_config = ConfigDict(frozen=True, extra="forbid")


async def learn(
    training_input: TrainingInput, settings: SurfaceSettings, *, on_progress: Progress = silent, **_unused: Any
) -> Learned:
    """Return every measure that is defined for all labelled texts and varies among them; nothing is asked.

    The texts have no scores by this part, neither fitted nor left out: all are NaN.

    Raises:
        DataError: if there is no such measure.
    """
    texts = sorted(training_input.examples, key=lambda example: example.id)
    labels = np.array([training_input.labels[text.id] for text in texts], dtype=float)
    rows = [_measured(text) for text in texts]
    found = {entry: [_rated(entry, row, text) for row, text in zip(rows, texts, strict=True)] for entry in CATALOGUE}
    taken = {entry: rated for entry, rated in found.items() if _varies(rated)}
    if not taken:
        raise DataError(f"No surface measure varies over the {len(texts)} labelled texts.", "Give more texts.")
    ratings = tuple(zip(*taken.values(), strict=True))
    columns = scores_of(ratings, len(taken)).T
    criteria = tuple(_criterion(entry, column, labels) for entry, column in zip(taken, columns, strict=True))
    on_progress(f"{len(criteria)} surface measures", 1.0)
    none = np.full(len(texts), np.nan)
    return Learned(
        part=Part(method="surface", settings=settings.model_dump(mode="json"), criteria=criteria),
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
    """Return no score of the text, and the value of each of the part's measures; nothing is asked.

    Raises:
        DataError: if the catalogue has no measure of a criterion's name.
    """
    found = _measured(example)
    return None, tuple(_rated(_entry(criterion.id), found, example) for criterion in part.criteria)


def _entry(name: str) -> TextFeature:
    if name not in _BY_NAME:
        raise DataError(
            f"The rubric goes by a surface measure that this version does not have: {name!r}.",
            f"Known are: {', '.join(_BY_NAME)}.",
        )
    return _BY_NAME[name]


def _measured(example: Example) -> Mapping[str, float]:
    return extract_features(example.output, example.source, example.context)


def _varies(rated: Sequence[CriterionRating]) -> bool:
    """Return whether a measure is defined for every text and not the same for all."""
    values = {each.score for each in rated}
    return None not in values and len(values) > 1


def _rated(entry: TextFeature, found: Mapping[str, float], example: Example) -> CriterionRating:
    value = found[entry.name]
    if math.isnan(value):
        lacking = [need for need in sorted(entry.needs) if not getattr(example, need)]
        why = f"it needs a {' and a '.join(lacking)}, and there is none" if lacking else "it is undefined here"
        return CriterionRating(entry.name, None, f"Cannot be measured: {why}.", applies=False)
    return CriterionRating(entry.name, round(float(value), DIGITS), f"Measured: {value:.4g} ({entry.unit}).")


def measured_criterion(name: str, evidence: Evidence | None = None) -> Criterion:
    """Return the criterion of a measure of the catalogue."""
    entry = _BY_NAME[name]
    return Criterion(
        id=name,
        kind="measure",
        trait=entry.title,
        statement=f"Counted, not judged: {entry.title} ({entry.unit}).",
        evidence=evidence or Evidence(origin="definition"),
    )


def _criterion(entry: TextFeature, values: FloatArray, labels: FloatArray) -> Criterion:
    evidence = Evidence(origin="definition", pearson=rounded(pearson(values, labels)), judged=len(values))
    return measured_criterion(entry.name, evidence)


def _nothing(*_asked: Any) -> CallEstimate:
    return CallEstimate()


def _nothing_twice(*_asked: Any) -> tuple[CallEstimate, CallEstimate]:
    return CallEstimate(), CallEstimate()


def part_faults(part: Part) -> Iterator[str]:
    """Yield which of a part's criteria are no text features."""
    names = {feature.name for feature in CATALOGUE}
    for number, criterion in enumerate(part.criteria):
        if criterion.id not in names:
            yield f"criteria[{number}].id: expected a text feature that rubriclab knows, got {describe(criterion.id)}"


SURFACE = Method(
    name="surface",
    settings=SurfaceSettings,
    presets={},
    prompts=(),
    learn=learn,
    score=score,
    learning_at_most=_nothing_twice,
    scoring_at_most=_nothing,
    criterion_kind="measure",
    part_faults=part_faults,
)
