"""Which hypotheses say what another one already says.

The paper puts every pair to the model. Most pairs are told apart, or together, by their wording alone; only the
doubtful ones are worth a call, and a hypothesis that is already out needs no further comparison.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rubriclab.data.assignment import Assignment
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.hypoeval.replies import Redundancy
from rubriclab.methods.hypoeval.settings import HypoEvalSettings
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, criterion_payload


async def redundant(
    candidates: Sequence[Criterion], assignment: Assignment, judge: Judge, settings: HypoEvalSettings
) -> dict[str, str]:
    """Return the ids of the redundant candidates, each with the reason.

    `candidates` stand in order of preference, and of a redundant pair the later one goes. A pair whose question fails
    is kept: dropping needs a reason.
    """
    out: dict[str, str] = {}
    kept: list[Criterion] = []
    if settings.redundancy == "off":
        return out
    for candidate in candidates:
        reason = await _same_as_any(candidate, kept, assignment, judge, settings)
        if reason:
            out[candidate.id] = reason
        else:
            kept.append(candidate)
    return out


async def _same_as_any(
    candidate: Criterion,
    kept: Sequence[Criterion],
    assignment: Assignment,
    judge: Judge,
    settings: HypoEvalSettings,
) -> str | None:
    alike = {other.id: similarity(other, candidate) for other in kept}
    for other in kept:
        if alike[other.id] >= settings.same_above:
            return f"worded like {other.id} ({alike[other.id]:.0f} of 100 in common)"
    asked = [o for o in kept if settings.redundancy == "every_pair" or alike[o.id] >= settings.different_below]
    reasons = await asyncio.gather(*(_judged_same(other, candidate, assignment, judge) for other in asked))
    same = [(other.id, reason) for other, reason in zip(asked, reasons, strict=True) if reason]
    return f"says what {same[0][0]} says: {same[0][1]}" if same else None


def similarity(a: Criterion, b: Criterion) -> float:
    """Return how alike two criteria are worded, 0 to 100; their levels count less than their statements."""
    from rapidfuzz import fuzz

    statements = fuzz.token_sort_ratio(f"{a.trait}. {a.statement}", f"{b.trait}. {b.statement}")
    levels = fuzz.token_sort_ratio(_levels(a), _levels(b))
    return max(statements, (statements + levels) / 2)


async def _judged_same(a: Criterion, b: Criterion, assignment: Assignment, judge: Judge) -> str | None:
    fields = {**assignment.fields(), "hypotheses": [criterion_payload(a), criterion_payload(b)]}
    answer = await ask(judge, Prompt("hypoeval/redundant", fields, Redundancy, max_tokens=512))
    return answer.value.reasoning if answer.value and answer.value.redundant else None


def _levels(criterion: Criterion) -> str:
    return " ".join(level.description for level in criterion.levels)
