"""The differences between two versions of rubrics, as plain data for reports.

The *gate* is the test of a learned rubric against simpler methods, by cross-validation (`Provenance.validation`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue, TypeAdapter

from rubriclab.display import Displayed
from rubriclab.models.aggregation import weight_bounds
from rubriclab.models.evaluation import Outcome
from rubriclab.models.rubric import Criterion, CriterionChange, FieldChange, Rubric, field_changes, matched_criteria
from rubriclab.models.version import EditOrigin, MadeBy, Provenance, Version
from rubriclab.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class WeightPair:
    """A criterion's share of all weights before and after; `statement` is the new one, or the old one if removed."""

    id_before: str | None
    id_after: str | None
    statement: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class AgreementChange:
    """One statistic of the agreement between scores and training labels; `None` for a version without it.

    Statistics named `heldout_…` come from the gate, and `reselected` from the cross-validation of a version without a
    gate. All others are computed on the labels that the rubric was fitted to. `levels` says whether `before`
    and `after` were computed within groups (`group`) or over all texts (`dataset`).
    """

    statistic: str
    before: Interval | None
    after: Interval | None
    levels: tuple[str | None, str | None]


@dataclass(frozen=True, slots=True, repr=False)
class VersionDiff(Displayed):
    """Two versions side by side; `same` says whether their rubrics are equal.

    Attributes:
        fields: what differs besides criteria and agreement, such as the judge or a setting.
        unchanged: number of criteria with the same wording and weight.
        optimistic: whether the agreement of either version was measured on labels that it was learned from.
        outcomes: the gate's outcome before and after; `None` for a version without a gate.
        edit: how a person made the second version from the first; `None` if none did.
        made_by: the step that made each version (see `Provenance.made_by`).
        proposed_from_labels: whether the generator saw labelled texts when it proposed criteria of either version.
        weights: one pair for each criterion, the second version's criteria first; empty if neither version has weights.
    """

    before: str
    after: str
    same: bool
    fields: tuple[FieldChange, ...]
    added: tuple[Criterion, ...]
    removed: tuple[Criterion, ...]
    changed: tuple[CriterionChange, ...]
    unchanged: int
    examples_added: tuple[str, ...]
    examples_removed: tuple[str, ...]
    agreement: tuple[AgreementChange, ...]
    optimistic: bool
    outcomes: tuple[Outcome | None, Outcome | None] = (None, None)
    edit: EditOrigin | None = None
    made_by: tuple[MadeBy, MadeBy] = ("learning", "learning")
    weights: tuple[WeightPair, ...] = ()
    proposed_from_labels: bool = False

    def as_json(self) -> dict[str, Any]:
        return dict(TypeAdapter(VersionDiff).dump_python(self, mode="json"))


def compare(old: Version, new: Version) -> VersionDiff:
    old_criteria, new_criteria = old.rubric.criteria, new.rubric.criteria
    matches = matched_criteria(old_criteria, new_criteria)
    old_provenance, new_provenance = old.provenance, new.provenance
    return VersionDiff(
        before=old.ref,
        after=new.ref,
        same=old.digest == new.digest,
        fields=field_changes(_fields(old.rubric, old_provenance), _fields(new.rubric, new_provenance)),
        added=tuple(each for each in new_criteria if not any(each is match.after for match in matches)),
        removed=tuple(each for each in old_criteria if not any(each is match.before for match in matches)),
        changed=tuple(match for match in matches if match.changes),
        unchanged=sum(not match.changes for match in matches),
        examples_added=tuple(sorted(set(new_provenance.examples) - set(old_provenance.examples))),
        examples_removed=tuple(sorted(set(old_provenance.examples) - set(new_provenance.examples))),
        agreement=_agreement_changes(old_provenance, new_provenance),
        optimistic=any(each.provenance.agreement.optimistic for each in (old, new) if each.provenance.agreement),
        outcomes=(old.outcome, new.outcome),
        edit=new_provenance.edit if new.parent == old.ref else None,
        made_by=(old_provenance.made_by, new_provenance.made_by),
        proposed_from_labels=any(criterion.evidence.examples for criterion in (*old_criteria, *new_criteria)),
        weights=tuple(_weight_pairs(old.rubric, new.rubric, matches)),
    )


def _weight_pairs(old: Rubric, new: Rubric, matches: Sequence[CriterionChange]) -> Iterator[WeightPair]:
    if old.aggregation is None and new.aggregation is None:
        return
    old_weights, new_weights = ({name: term.weight for name, term in rubric.terms.items()} for rubric in (old, new))
    old_ids = {match.after.id: match.before.id for match in matches}
    for criterion in new.criteria:
        old_id = old_ids.get(criterion.id)
        old_weight = old_weights.get(old_id) if old_id else None
        yield WeightPair(old_id, criterion.id, criterion.statement, old_weight, new_weights.get(criterion.id))
    for criterion in old.criteria:
        if criterion.id not in old_ids.values():
            yield WeightPair(criterion.id, None, criterion.statement, old_weights.get(criterion.id), None)


def _fields(rubric: Rubric, provenance: Provenance) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {
        "task": rubric.task,
        "aspect": rubric.aspect.name,
        "definition": rubric.aspect.definition,
        "scale": rubric.scale.describe(),
        "scale of scores": rubric.score_scale.describe() if rubric.score_scale != rubric.scale else None,
        "judge": provenance.judge,
        "generator": provenance.generator,
        "model_versions": list(provenance.model_versions),
        "prompts": provenance.prompts,
        "data": provenance.data,
        "seed": provenance.seed,
        "threshold": rubric.threshold,
        "baseline": provenance.baseline.feature if provenance.baseline else None,
        "training texts": provenance.agreement.n if provenance.agreement else None,
        "rubriclab": provenance.version,
    }
    if edit := provenance.edit:
        fields |= {"edited by": edit.author, "because": edit.because}
    bounds = weight_bounds(rubric.aggregation)
    fields |= {f"limits of the weight of {name}": f"{low:g}:{high:g}" for name, (low, high) in bounds.items()}
    for part in rubric.parts:
        fields |= {f"sub-dimension {name}": meaning for name, meaning in (part.dimensions or {}).items()}
        if units := part.units:
            # The kind of a text's pieces, the material shown beside each, and who or what weights the questions.
            fields |= {"units": units.kind, "units beside": ", ".join(units.beside), "weights set by": units.weights}
    settings = {part.method: part.settings for part in rubric.parts} | dict(provenance.settings)
    for method, values in settings.items():
        fields |= {f"{method}.{name}": value for name, value in values.items()}
    return fields


def _agreement_changes(old: Provenance, new: Provenance) -> tuple[AgreementChange, ...]:
    agreements = [provenance.agreement for provenance in (old, new) if provenance.agreement]
    if not agreements:
        return ()
    # Only agreement with labels of two values has an AUROC. Unless both versions have one, correlations are compared.
    have_auroc = all(agreement.auroc is not None for agreement in agreements)
    fitted_names = ["auroc"] if have_auroc else ["spearman", "pearson", "kendall"]
    heldout_names = ["heldout_auroc", "heldout_brier"] if have_auroc else ["heldout_pearson", "heldout_spearman"]
    names = [*heldout_names, *fitted_names] if old.validation or new.validation else fitted_names
    # `reselected` says no more than others if scores do not depend on the labels, or if both versions have a gate.
    scores_depend_on_labels = any(agreement.optimistic for agreement in agreements)
    if scores_depend_on_labels and not (old.validation and new.validation):
        names.append("reselected")
    changes = []
    for name in names:
        (before, level_before), (after, level_after) = _statistic(old, name), _statistic(new, name)
        changes.append(AgreementChange(name, before, after, (level_before, level_after)))
    return tuple(changes)


def _statistic(provenance: Provenance, name: str) -> tuple[Interval | None, str | None]:
    """Return a statistic and its level; from the gate's record, as reports show it, or else from the agreement."""
    gate = provenance.validation
    if gate and name.startswith("heldout_"):
        statistic = getattr(gate.rubric, name.removeprefix("heldout_"))
        level = "dataset" if name == "heldout_brier" else gate.level
    elif gate and name in ("pearson", "spearman", "auroc"):
        statistic, level = getattr(gate.training, name), gate.level
    else:
        statistic, level = getattr(provenance.agreement, name, None), "dataset"
    return statistic, level if statistic is not None else None
