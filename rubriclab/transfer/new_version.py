"""What a transfer leaves behind as a version: a rubric fitted to new texts, where it came from, and what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rubriclab.judges.judge import Judge
from rubriclab.learning.baselines import SURFACE, best_measure, measure_values
from rubriclab.learning.calibration import bounds
from rubriclab.learning.gate import JOINT, validation
from rubriclab.learning.single_method import Trained, origins, recorded_texts, training_agreement
from rubriclab.rubric import Action, Provenance, TransferOrigin
from rubriclab.scoring.estimate import scoring_at_most
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.folds import grouped_folds
from rubriclab.training_record import TrainingRecord
from rubriclab.transfer.actions import AdaptedRubric, LabelledTarget, applied, hardness_of
from rubriclab.transfer.rating_matrix import RatedTexts
from rubriclab.transfer.run import FittedTransfer, SourceRubric


def as_trained(
    home: SourceRubric, carried: FittedTransfer, action: Action, judge: Judge, model_versions: Sequence[str]
) -> Trained:
    """Return what `action` made of a rubric, in the form in which learning gives its result.

    The provenance names the judge that was asked here. Texts and groups learned from are those at home and these:
    both had a part in the rubric, and neither may be evaluated on.

    Raises:
        ValueError: if that action was not tried.
    """
    if carried.place is None or action not in carried.tried:
        raise ValueError(f"expected an action that was tried, got {action!r}")
    tried, place = carried.tried[action], carried.place
    came = TransferOrigin(
        action=action,
        judge=home.provenance.judge,
        aspect=home.rubric.aspect.name,
        data=home.provenance.data,
        labels=len(place.rated.examples),
    )
    if action == "relearn" and carried.trained:
        provenance = carried.trained.provenance.model_copy(update={"transfer": came})
        return Trained(carried.trained.rubric, provenance, carried.trained.notes, carried.trained.record)
    rated = carried.wide if action == "reselect" and carried.wide else place.rated
    provenance = _provenance(home, tried, place, rated, judge=judge, model_versions=model_versions).model_copy(
        update={"transfer": came}
    )
    return Trained(tried.rubric, provenance, (), _record(tried, place, rated))


def _provenance(
    home: SourceRubric,
    tried: AdaptedRubric,
    place: LabelledTarget,
    rated: RatedTexts,
    *,
    judge: Judge,
    model_versions: Sequence[str],
) -> Provenance:
    made, examples = home.provenance, place.rated.examples
    fields: dict[str, Any] = origins(examples, place.aspect, judge, judge, model_versions)
    for name in ("examples", "groups", "texts"):
        fields[name] = tuple(sorted({*fields[name], *getattr(made, name)}))
    labels, groups = place.table.labels, place.table.groups
    fitted = _fitted(tried, place)
    return Provenance(
        **{**fields, "generator": made.generator, "generator_address": made.generator_address},
        settings=made.settings,
        prompts=made.prompts,
        seed=place.seed,
        agreement=training_agreement(fitted, tried.raw, labels, groups, optimistic=tried.action != "reuse"),
        floor=best_measure(examples, place.aspect),
        validation=validation(
            place.table_of(rated),
            measure_values(examples, SURFACE),
            tried.raw,
            fitted,
            grouped_folds(groups, place.settings.folds, place.seed),
            alone={},
            calls={JOINT: scoring_at_most(tried.rubric, examples).calls / len(examples)},
            seed=place.seed,
        ),
    )


def _fitted(tried: AdaptedRubric, place: LabelledTarget) -> FloatArray:
    """Return the texts' scores by the rubric of all labels."""
    return tried.scores if tried.action == "reuse" else applied(tried.rubric, place.rated)


def _record(tried: AdaptedRubric, place: LabelledTarget, rated: RatedTexts) -> TrainingRecord:
    """Return the labelled texts with what was found of them."""
    kept = {criterion.id for criterion in tried.rubric.criteria}
    candidates = tuple(each.model_copy(update={"kept": each.criterion.id in kept}) for each in rated.candidates)
    aggregation = tried.rubric.aggregation
    low = high = np.full(len(tried.scores), np.nan)
    if aggregation:
        low, high = bounds(tried.scores, hardness_of(aggregation, rated), aggregation.conformal, place.rubric.scale)
    predicted, low, high = (_on_labels_scale(ends, place) for ends in (tried.scores, low, high))
    texts = recorded_texts(rated.examples, place.aspect, predicted, low, high)
    return TrainingRecord(texts=texts, candidates=candidates, cells=rated.cells)


def _on_labels_scale(scores: FloatArray, place: LabelledTarget) -> FloatArray:
    return np.array([place.rubric.scale.moved_to(place.onto, score) for score in scores.tolist()], dtype=float)
