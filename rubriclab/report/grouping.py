"""Criteria in the order in which people look through them: questions by sub-dimension, what was left out by reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rubriclab.rubric import Criterion, DroppedCriterion, Part

# A reason, and behind it in brackets or after a colon what it adds for one criterion alone.
_REASON = re.compile(r"(?P<reason>.+?)(?:: (?P<words>.+)| \((?P<remark>[^()]*)\))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CriterionGroup:
    """The questions about one component of an aspect; `definition` is empty where the rubric holds none."""

    name: str
    definition: str
    questions: tuple[Criterion, ...]


@dataclass(frozen=True, slots=True)
class Omission:
    """What was left out for one reason.

    Attributes:
        criteria: each with what its reason adds for it alone; empty where that is nothing.
    """

    reason: str
    criteria: tuple[tuple[Criterion, str], ...]


def sub_dimensions(part: Part) -> list[CriterionGroup]:
    """Return the questions of `part` by sub-dimension, in the order in which the first of each comes."""
    definitions = part.dimensions or {}
    found: dict[str, list[Criterion]] = {}
    for criterion in part.criteria:
        if criterion.kind == "question":
            found.setdefault(criterion.trait, []).append(criterion)
    return [CriterionGroup(name, definitions.get(name, ""), tuple(asked)) for name, asked in found.items()]


def omissions(dropped: Sequence[DroppedCriterion]) -> list[Omission]:
    """Return what was left out by reason, in the order in which the reasons come.

    Reasons that differ only after a colon or in brackets at their end, such as `too short (3 words)`, are one.
    """
    found: dict[str, list[tuple[Criterion, str]]] = {}
    for entry in dropped:
        reason, detail = _parts(entry.reason)
        found.setdefault(reason, []).append((entry.criterion, detail))
    return [Omission(reason, tuple(criteria)) for reason, criteria in found.items()]


def _parts(reason: str) -> tuple[str, str]:
    found = _REASON.fullmatch(reason)
    if found is None:
        return reason, ""
    return found["reason"], (found["words"] or found["remark"] or "").removesuffix(".")
