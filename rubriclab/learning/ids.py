"""Unique ids of criteria where one rubric has criteria of several methods."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from rubriclab.rubric import Criterion, DroppedCriterion, Part


def every_criterion(part: Part) -> tuple[Criterion, ...]:
    """Return all criteria of a part: those kept, then those dropped."""
    return (*part.criteria, *(dropped.criterion for dropped in part.dropped))


def unique_names(parts: Sequence[Part]) -> list[dict[str, str]]:
    """Return for each part what its criteria are called, by their ids; no name is given twice.

    A measure keeps its own in any case: by that it is found in the catalogue.
    """
    used = {item.id for part in parts for item in every_criterion(part) if item.kind == "measure"}
    names_of_parts = []
    for part in parts:
        names = {}
        for criterion in every_criterion(part):
            names[criterion.id] = name = _free_name(part, criterion, used)
            used.add(name)
        names_of_parts.append(names)
    return names_of_parts


def _free_name(part: Part, criterion: Criterion, used: Collection[str]) -> str:
    if criterion.kind == "measure":
        return criterion.id
    name = part.method if criterion.kind == "score" and criterion is part.criteria[0] else criterion.id
    if name in used:
        name = f"{part.method}.{criterion.id}"
    while name in used:
        name += "'"
    return name


def renamed(part: Part, names: Mapping[str, str]) -> Part:
    """Return the part with its criteria under their new names, wherever it speaks of them."""
    changed = {old: new for old, new in names.items() if old != new}
    if not changed:
        return part

    speaks_of = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, changed))})(?![\w-])")
    reasons = (speaks_of.sub(lambda found: changed[found.group()], each.reason) for each in part.dropped)
    dropped = (
        DroppedCriterion(criterion=_called(each.criterion, changed), reason=reason)
        for each, reason in zip(part.dropped, reasons, strict=True)
    )
    criteria = (_called(criterion, changed) for criterion in part.criteria)
    return part.model_copy(update={"criteria": tuple(criteria), "dropped": tuple(dropped)})


def _called(criterion: Criterion, names: Mapping[str, str]) -> Criterion:
    question = criterion.question
    if question and question.seed:
        question = question.model_copy(update={"seed": names.get(question.seed, question.seed)})
    return criterion.model_copy(update={"id": names.get(criterion.id, criterion.id), "question": question})
