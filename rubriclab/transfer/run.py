"""A rubric measured on the labels of other texts, or with another judge: as it is, recalibrated, and learned again.

target texts   -> rated by the rubric's criteria, exactly as in scoring
labelled texts -> held-out scores of each of the three ways -> their agreement, and the recommended one
all texts      -> the share whose ratings lie outside the range of the training texts
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rubriclab.aggregation import raw_value
from rubriclab.data.aspect import Aspect
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.errors import BudgetReached, DataError, JudgeError, JudgeRefused, ProviderDown, ReplayMiss, SettingsError
from rubriclab.judges.judge import Judge
from rubriclab.learning.candidates import EarlierRubric
from rubriclab.learning.gate import gate_level
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.single_method import Trained
from rubriclab.methods.method import Progress, silent
from rubriclab.methods.names import JOINT
from rubriclab.provenance import Action, Provenance
from rubriclab.rubric import Rubric
from rubriclab.stats.correlation import floats
from rubriclab.stats.folds import units
from rubriclab.stats.interval import Interval, rounded
from rubriclab.stats.paired import paired_mean
from rubriclab.training_record import TrainingRecord
from rubriclab.transfer.adaptation import (
    AdaptedRubric,
    LabelledTarget,
    RatedTexts,
    rate,
    raw_values,
    recalibrated,
    relearned,
    reused,
)
from rubriclab.transfer.results import ACTIONS, ActionEvaluation, Transfer, evaluate, recommend

# Learns again from labelled texts, with the criteria of an earlier rubric among the candidates.
RelearnFunction = Callable[[Sequence[Example], EarlierRubric], Awaitable[Trained]]


@dataclass(frozen=True)
class SourceRubric:
    """A version, with the record of its training if there is one."""

    ref: str
    rubric: Rubric
    provenance: Provenance
    record: TrainingRecord | None = None


@dataclass(frozen=True)
class TargetTexts:
    """Texts that a rubric is transferred to.

    Attributes:
        name: as the user wrote it.
        examples: all usable texts, `labelled` among them.
        labelled: those with a score for `aspect`, on `scale`.
    """

    name: str
    examples: tuple[Example, ...]
    labelled: tuple[Example, ...]
    aspect: Aspect
    scale: Scale


@dataclass(frozen=True, eq=False)
class FittedTransfer:
    """A transfer, with the rubrics fitted on the way.

    Attributes:
        adapted: by way of using the rubric.
        labelled: the texts that these were fitted to; `None` without labels.
        trained: the training of `relearn`.
    """

    transfer: Transfer
    adapted: Mapping[Action, AdaptedRubric] = field(default_factory=dict)
    labelled: LabelledTarget | None = None
    trained: Trained | None = None


async def transfer(
    source: SourceRubric,
    target: TargetTexts,
    judge: Judge,
    *,
    relearn: RelearnFunction | None = None,
    seed: int = 0,
    under_way: int = 16,
    on_progress: Progress = silent,
) -> FittedTransfer:
    """Return the evaluation of the rubric of `source` on the target, rated by `judge`.

    Args:
        relearn: learns again from labelled target texts; without it, that is not measured.
        seed: of folds.
        under_way: texts rated concurrently.

    Raises:
        JudgeError: if no text could be scored.
        JudgeRefused, BudgetReached, ProviderDown, ReplayMiss: from the judge; they concern every text.
    """
    rubric = source.rubric.model_copy(update={"aspect": target.aspect})
    on_progress(f"rating {len(target.examples)} texts by the rubric", 0.0)
    rated = await rate(rubric, source.ref, target.examples, judge, under_way)
    if np.isnan(rated.scores).all():
        raise JudgeError(f"None of {len(rated.examples)} texts could be scored; the latest reason: {rated.reason}")
    unlabelled = Transfer(
        rubric=source.ref,
        judge=judge.name,
        calibrated_for=source.provenance.judge,
        target=target.name,
        aspect=target.aspect.name,
        source_aspect=source.rubric.aspect.name,
        scale=target.scale,
        source_scale=source.rubric.scores_on,
        texts=len(rated.examples),
        unscored=int(np.isnan(rated.scores).sum()),
        unscored_reason=rated.reason,
        outside=outside_training_range(source, rated),
    )
    if not target.labelled:
        return FittedTransfer(unlabelled)
    settings = JointSettings.model_validate(dict(source.provenance.settings.get(JOINT, {})))
    labelled = LabelledTarget(rubric, rated.select(target.labelled), target.aspect.name, target.scale, settings, seed)
    adapted: dict[Action, AdaptedRubric] = {"reuse": reused(labelled), "recalibrate": recalibrated(labelled)}
    trained, skipped = None, "not requested"
    if relearn:
        on_progress(f"learning again from {len(target.labelled)} labels", 0.3)
        try:
            trained = await relearn(target.labelled, _earlier(rubric, labelled.rated))
            adapted["relearn"] = relearned(labelled, trained)
        except (BudgetReached, JudgeRefused, ProviderDown):
            raise
        except (DataError, JudgeError, ReplayMiss, SettingsError) as error:
            skipped = str(error)
    # Another judge uses the scale differently, even if the labels are too few to show it.
    default: Action = "reuse" if judge.name == source.provenance.judge else "recalibrate"
    complete = _with_labels(unlabelled, labelled, adapted, skipped=skipped, default=default)
    return FittedTransfer(complete, adapted, labelled, trained)


def _earlier(rubric: Rubric, rated: RatedTexts) -> EarlierRubric:
    ids = [candidate.criterion.id for candidate in rated.candidates]
    cells = {
        example.id: dict(zip(ids, row, strict=True)) for example, row in zip(rated.examples, rated.cells, strict=True)
    }
    return EarlierRubric(rubric.parts, cells)


def _with_labels(
    unlabelled: Transfer,
    labelled: LabelledTarget,
    adapted: Mapping[Action, AdaptedRubric],
    *,
    skipped: str,
    default: Action,
) -> Transfer:
    table, level = labelled.table, gate_level(labelled.table.labels, labelled.table.groups)
    point = labelled.label_scale.width / labelled.rubric.scale.width
    scores = {action: each.scores for action, each in adapted.items()}
    recommended, gains, too_few = recommend(scores, table.labels, table.groups, default, point)
    measured = {
        action: evaluate(each, table.labels, table.groups, level=level, point=point).model_copy(
            update={"gain": gains[action]}
        )
        for action, each in adapted.items()
    }
    missing = {action: ActionEvaluation(action=action, skipped=skipped) for action in ACTIONS if action not in adapted}
    return unlabelled.model_copy(
        update={
            "labels": len(table.labels),
            "groups": len(set(table.groups)),
            "mean_error": rounded(point * float(np.abs(table.labels - table.labels.mean()).mean())),
            "actions": tuple({**measured, **missing}[action] for action in ACTIONS),
            "recommended": recommended,
            "too_few_groups": too_few,
        }
    )


def outside_training_range(source: SourceRubric, rated: RatedTexts) -> Interval | None:
    """Return the share of texts whose weighted ratings lie outside the range of the training texts' ones.

    `None` without the training texts' ratings or learned weights.
    """
    aggregation, record = source.rubric.aggregation, source.record
    if aggregation is None or record is None:
        return None
    ids = [candidate.criterion.id for candidate in record.candidates]
    known = floats(
        raw_value(aggregation, {name: cell.score for name, cell in zip(ids, row, strict=True) if cell.applies})
        for row in record.cells
    )
    here, known = raw_values(aggregation, rated), known[~np.isnan(known)]
    scored = ~np.isnan(here)
    if not len(known) or not scored.any():
        return None
    outside = (here[scored] < known.min()) | (here[scored] > known.max())
    groups = [example.group for example, has_score in zip(rated.examples, scored.tolist(), strict=True) if has_score]
    return paired_mean(outside.astype(float), units(groups)).interval.within(0, 1).rounded()
