"""What an edit does: held-out agreement beside the parent's, weights, and calls."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from rubriclab.aggregation import Aggregation, Bounds, bounds_of
from rubriclab.editing.refit import RatedRubric, study_of
from rubriclab.learning.gate import GateLevel, gate_level, paired_difference
from rubriclab.learning.jackknife import refitted_agreement
from rubriclab.learning.rating_matrix import RatingMatrix
from rubriclab.learning.selection import SelectedRubric
from rubriclab.learning.study import Study
from rubriclab.learning.verdicts import verdict_agreement, verdict_statistic
from rubriclab.provenance import EditStatistic, HeldOutBy
from rubriclab.rubric import Rubric
from rubriclab.scoring.score import assignment_of
from rubriclab.stats.interval import Interval
from rubriclab.validation import VerdictAgreement


@dataclass(frozen=True, slots=True)
class WeightChange:
    """One criterion's weight before and after; `None` where the rubric does not have it.

    Attributes:
        criterion, trait, statement: of the new wording if there is one.
        bounds: the lowest and highest weight that a person allows.
    """

    criterion: str
    trait: str
    statement: str
    before: float | None
    after: float | None
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class EditEffect:
    """The held-out agreement of an edited rubric beside that of its parent, with the same labels and folds.

    Attributes:
        level: correlations are taken within groups, or over the whole set.
        n: labelled texts that both score.
        groups: of the labelled texts.
        folds: number of folds; 0 if nothing is fitted to labels, as for a rubric without learned weights.
        statistic: what `before`, `after`, `difference` and `recorded` are of: Pearson correlation, whose intervals
            include the variance of learning, or balanced accuracy of verdicts.
        before, after: with their intervals.
        difference: after less before, paired, with its interval; without ends if groups are too few.
        recorded: the parent's agreement as its version records it.
        recorded_by: how the parent was made, which its recorded agreement is cross-validated over.
        verdicts: the held-out verdicts of both; empty for a rubric without verdicts.
        calls_before, calls_after: calls to score one text.
        optimistic: whether the rubric was learned from these labels, or a person may have known them.
    """

    level: GateLevel
    n: int
    groups: int
    folds: int
    before: Interval
    after: Interval
    difference: Interval
    recorded: Interval
    calls_before: float
    calls_after: float
    weights: tuple[WeightChange, ...]
    optimistic: bool = True
    recorded_by: HeldOutBy = "learning"
    statistic: EditStatistic = "Pearson"
    verdicts: tuple[VerdictAgreement, ...] = ()

    def to_row(self) -> dict[str, Any]:
        """Return the effect as one JSON object."""
        verdicts = [each.model_dump(mode="json") for each in self.verdicts]
        return {**asdict(self), "verdicts": verdicts}


def effect_of(
    parent: RatedRubric, edited: RatedRubric, refits: tuple[SelectedRubric, SelectedRubric], rubric: Rubric
) -> EditEffect:
    """Return the effect of an edit.

    Args:
        refits: of the parent and of the edited rubric, with the same folds.
        rubric: the edited one, refitted.
    """
    table, (before, after) = edited.table, refits
    level = gate_level(table.labels, table.groups)
    effect = EditEffect(
        level=level,
        n=int((~np.isnan(after.held_out.raw + before.held_out.raw)).sum()),
        groups=len(set(table.groups)),
        folds=len(before.held_out.fits[0]),
        before=held_out_agreement(parent.table, before, level, parent.seed),
        after=held_out_agreement(table, after, level, edited.seed),
        difference=paired_difference(after.held_out.raw, before.held_out.raw, table),
        recorded=Interval(None),
        calls_before=_calls(parent),
        calls_after=_calls(edited),
        weights=weight_changes(parent.rubric, rubric),
    )
    return _in_verdicts(effect, (study_of(parent, before), study_of(edited, after)))


def _in_verdicts(effect: EditEffect, studies: tuple[Study, Study]) -> EditEffect:
    """Return the effect in balanced accuracy if the rubric has verdicts, else as it is."""
    (before, old), (after, new) = ((study, study.verdicts) for study in studies)
    if old is None or new is None:
        return effect
    labels, groups = after.table.labels, after.table.groups
    sides = (("before", before.selected.held_out, old), ("after", after.selected.held_out, new))
    verdicts = [
        verdict_agreement(name, held_out.scores, found, labels, groups, order=held_out.raw)
        for name, held_out, found in sides
    ]
    return replace(
        effect,
        level="dataset",
        statistic="balanced accuracy",
        before=verdicts[0].balanced_accuracy,
        after=verdicts[1].balanced_accuracy,
        difference=verdict_statistic("balanced accuracy", [new, old], labels, groups),
        verdicts=tuple(each.model_copy(update={"reliability": ()}) for each in verdicts),
    )


def _calls(rated: RatedRubric) -> float:
    kept = [rated.candidates[place].criterion.id for place in rated.kept]
    return round(rated.rated.calls(kept, assignment_of(rated.rubric), rated.ask), 6)


def held_out_agreement(table: RatingMatrix, refit: SelectedRubric, level: GateLevel, seed: int) -> Interval:
    """Return the held-out Pearson correlation with an interval that includes the variance of learning."""
    return refitted_agreement(table, refit.held_out, level=level, seed=seed)["pearson"].rounded()


def weight_changes(before: Rubric, after: Rubric) -> tuple[WeightChange, ...]:
    """Return the weights of all criteria that either rubric has, those of the second one first."""
    weights = [_weights(rubric.aggregation) for rubric in (before, after)]
    old = {criterion.id: criterion for criterion in before.criteria}
    new = {criterion.id: criterion for criterion in after.criteria}
    limits = bounds_of(after.aggregation)
    return tuple(
        WeightChange(name, each.trait, each.statement, weights[0].get(name), weights[1].get(name), limits.get(name))
        for name, each in {**new, **{name: each for name, each in old.items() if name not in new}}.items()
    )


def _weights(aggregation: Aggregation | None) -> dict[str, float]:
    return {term.criterion: term.weight for term in aggregation.terms} if aggregation else {}
