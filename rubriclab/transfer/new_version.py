"""The result of a transfer as a trained version: the adapted rubric, its provenance, and the record of its texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rubriclab.aggregation import threshold_by_hand
from rubriclab.estimate import estimate_scoring
from rubriclab.judges.judge import Judge
from rubriclab.learning.baselines import FEATURE_NAMES, best_feature, feature_values
from rubriclab.learning.calibration import bounds
from rubriclab.learning.gate import validation
from rubriclab.learning.single_method import Trained, origins, recorded_texts, training_agreement
from rubriclab.learning.verdicts import held_out_verdicts, verdict_agreement
from rubriclab.methods.names import JOINT
from rubriclab.provenance import Action, Provenance, TransferOrigin, fields_of_both
from rubriclab.stats.correlation import IntArray
from rubriclab.stats.folds import grouped_folds
from rubriclab.training_record import TrainingRecord
from rubriclab.transfer.adaptation import AdaptedRubric, LabelledTarget, aggregate_scores, rescaled
from rubriclab.transfer.run import FittedTransfer, SourceRubric
from rubriclab.validation import DIRECT, VerdictAgreement


def as_trained(
    source: SourceRubric, fitted: FittedTransfer, action: Action, judge: Judge, model_versions: Sequence[str]
) -> Trained:
    """Return the rubric of `action` in the form of a training's result.

    Its provenance names the judge used here, and lists the texts and groups of both the source and the target: the
    rubric depends on both, and must be evaluated on neither.

    Raises:
        ValueError: if the action was not tried.
    """
    if fitted.labelled is None or action not in fitted.adapted:
        raise ValueError(f"expected an action that was tried, got {action!r}")
    adapted, labelled = fitted.adapted[action], fitted.labelled
    origin = TransferOrigin(
        action=action,
        judge=source.provenance.judge,
        aspect=source.rubric.aspect.name,
        data=source.provenance.data,
        labels=len(labelled.rated.examples),
    )
    if action == "relearn" and (trained := fitted.trained):
        both = _of_both(source.provenance, dict(trained.provenance))
        provenance = trained.provenance.model_copy(update={**both, "transfer": origin})
        return Trained(trained.rubric, provenance, trained.notes, trained.record)
    provenance = _provenance(source, adapted, labelled, judge=judge, model_versions=model_versions)
    return Trained(adapted.rubric, provenance.model_copy(update={"transfer": origin}), (), _record(adapted, labelled))


def _of_both(before: Provenance, fields: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the ids and digests of the texts that a rubric depends on: those of its source, and those of `fields`."""
    return {name: tuple(sorted({*fields[name], *getattr(before, name)})) for name in ("examples", "groups", "texts")}


def _provenance(
    source: SourceRubric,
    adapted: AdaptedRubric,
    labelled: LabelledTarget,
    *,
    judge: Judge,
    model_versions: Sequence[str],
) -> Provenance:
    before, examples, table = source.provenance, labelled.rated.examples, labelled.table
    fields: dict[str, Any] = origins(examples, labelled.aspect, judge, judge, model_versions)
    fields |= {**_of_both(before, fields), "text_fields": fields_of_both(before, examples)}
    reused = adapted.action == "reuse"
    scores = adapted.scores if reused else aggregate_scores(adapted.rubric, labelled.rated)
    aggregation = adapted.rubric.aggregation
    # In one call with criteria, the judge is not asked directly.
    direct = DIRECT in table.methods and aggregation is not None and aggregation.ask == "by method"
    fold = grouped_folds(table.groups, labelled.settings.folds, labelled.seed)
    found = validation(
        table,
        feature_values(examples, FEATURE_NAMES),
        adapted.raw,
        scores,
        fold,
        alone={},
        points=adapted.scores if table.scale.names else None,
        calls={JOINT: estimate_scoring(adapted.rubric, examples).calls / len(examples)},
        direct=table.values[:, table.methods.index(DIRECT)] if direct else None,
    )
    return Provenance(
        **{**fields, "generator": before.generator, "generator_address": before.generator_address},
        settings=before.settings,
        prompts=before.prompts,
        seed=labelled.seed,
        agreement=training_agreement(scores, adapted.raw, table.labels, table.groups, optimistic=not reused),
        baseline=best_feature(examples, labelled.aspect),
        validation=found.model_copy(update={"verdict_agreements": _verdicts(adapted, labelled, fold)}),
    )


def _verdicts(adapted: AdaptedRubric, labelled: LabelledTarget, fold: IntArray) -> tuple[VerdictAgreement, ...]:
    """Return how the verdicts on the target texts agree with the labels; none for other labels than verdicts."""
    table, threshold = labelled.table, adapted.rubric.threshold
    if table.scale.names is None or threshold is None:
        return ()
    recall = labelled.settings.recall(table.scale.names)
    given = threshold if adapted.action == "reuse" else threshold_by_hand(adapted.rubric.aggregation)
    verdicts = held_out_verdicts(adapted.scores, table.labels, fold, recall, given)
    return (verdict_agreement(JOINT, adapted.scores, verdicts, table.labels, table.groups, order=adapted.raw),)


def _record(adapted: AdaptedRubric, labelled: LabelledTarget) -> TrainingRecord:
    rated, scale, aggregation = labelled.rated, labelled.rubric.scale, adapted.rubric.aggregation
    low = high = np.full(len(adapted.scores), np.nan)
    if aggregation:
        low, high = bounds(adapted.scores, aggregation.conformal, scale)
    mapped = [rescaled(values, scale, labelled.label_scale) for values in (adapted.scores, low, high)]
    texts = recorded_texts(rated.examples, labelled.aspect, *mapped)
    return TrainingRecord(texts=texts, candidates=rated.candidates, cells=rated.cells)
