"""Unique ids of criteria where one rubric has criteria of several methods."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from rubriclab.rubric import Criterion, DroppedCriterion, Part


def all_criteria(part: Part) -> tuple[Criterion, ...]:
    """Return all criteria of a part: those kept, then those dropped."""
    return (*part.criteria, *(dropped.criterion for dropped in part.dropped))


def unique_names(parts: Sequence[Part]) -> list[dict[str, str]]:
    """Return for each part the unique name of each criterion, by its id.

    A text feature always keeps its id, its key in the catalogue.
    """
    used = {item.id for part in parts for item in all_criteria(part) if item.kind == "feature"}
    names_of_parts = []
    for part in parts:
        names = {}
        for criterion in all_criteria(part):
            names[criterion.id] = name = _free_name(part, criterion, used)
            used.add(name)
        names_of_parts.append(names)
    return names_of_parts


def _free_name(part: Part, criterion: Criterion, used: Collection[str]) -> str:
    if criterion.kind == "feature":
        return criterion.id
    name = part.method if criterion.kind == "score" and criterion is part.criteria[0] else criterion.id
    if name in used:
        name = f"{part.method}.{criterion.id}"
    while name in used:
        name += "'"
    return name


def renamed(part: Part, names: Mapping[str, str]) -> Part:
    """Return the part with its criteria renamed, in the reasons for dropped criteria too."""
    changed = {old: new for old, new in names.items() if old != new}
    if not changed:
        return part

    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, changed))})(?![\w-])")
    reasons = (
        pattern.sub(lambda match: changed[match.group()], dropped_criterion.reason)
        for dropped_criterion in part.dropped
    )
    dropped = (
        DroppedCriterion(criterion=_called(dropped_criterion.criterion, changed), reason=reason)
        for dropped_criterion, reason in zip(part.dropped, reasons, strict=True)
    )
    criteria = (_called(criterion, changed) for criterion in part.criteria)
    return part.model_copy(update={"criteria": tuple(criteria), "dropped": tuple(dropped)})


def _called(criterion: Criterion, names: Mapping[str, str]) -> Criterion:
    question = criterion.question
    if question and question.seed:
        question = question.model_copy(update={"seed": names.get(question.seed, question.seed)})
    return criterion.model_copy(update={"id": names.get(criterion.id, criterion.id), "question": question})
