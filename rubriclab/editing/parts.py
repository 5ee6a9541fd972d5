"""The parts of an edited rubric: its criteria by the method that rates them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic import JsonValue

from rubriclab.editing.edits import EditPlan
from rubriclab.methods.catalogue import METHODS
from rubriclab.rubric import DroppedCriterion, Part, Rubric

Settings = Mapping[str, Mapping[str, JsonValue]]


def part_settings(method: str, recorded: Settings) -> Mapping[str, JsonValue]:
    """Return the settings of a method as a version records them, or else those of joint learning."""
    values = recorded.get(method) or METHODS[method].joint_settings
    settings: Mapping[str, JsonValue] = METHODS[method].settings.model_validate(dict(values)).model_dump(mode="json")
    return settings


def edited_parts(rubric: Rubric, plan: EditPlan, recorded: Settings, who: str) -> tuple[Part, ...]:
    """Return the rubric's parts without the removed criteria and with the new ones.

    Args:
        recorded: settings of the methods, for parts that the rubric does not have.
        who: added to the reason why criteria were removed.
    """
    new = {method: [each.criterion for each in plan.new if each.method == method] for method in _methods(plan)}
    parts = []
    for part in rubric.parts:
        kept = [criterion for criterion in part.criteria if criterion.id not in plan.removed]
        dropped = (
            DroppedCriterion(criterion=criterion, reason=f"{plan.removed[criterion.id]} {who}")
            for criterion in part.criteria
            if criterion.id in plan.removed
        )
        criteria = (*kept, *new.pop(part.method, ()))
        if criteria:
            parts.append(part.model_copy(update={"criteria": criteria, "dropped": (*part.dropped, *dropped)}))
    parts += [
        Part(method=method, settings=part_settings(method, recorded), criteria=tuple(criteria))
        for method, criteria in new.items()
    ]
    return tuple(parts)


def only(parts: Collection[Part], ids: Collection[str]) -> tuple[Part, ...]:
    """Return the parts with the criteria of these ids only, without parts that have none."""
    reduced = (
        part.model_copy(update={"criteria": tuple(each for each in part.criteria if each.id in ids)}) for part in parts
    )
    return tuple(part for part in reduced if part.criteria)


def _methods(plan: EditPlan) -> list[str]:
    return list(dict.fromkeys(each.method for each in plan.new))
