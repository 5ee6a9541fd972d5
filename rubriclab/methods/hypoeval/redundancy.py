"""Which hypotheses say what another one already says.

The paper puts every pair to the model. Most pairs are told apart, or together, by their wording alone; only the
doubtful ones are worth asking about, all those of one hypothesis in one call, and a hypothesis that is already out
needs no further comparison.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rubriclab.data.assignment import Assignment
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.hypoeval.settings import HypoEvalSettings
from rubriclab.methods.replies import NONE, Redundancy
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
    if settings.redundancy == "every_pair":
        questions = [[other] for other in kept]
    else:
        alike = {other.id: similarity(other, candidate) for other in kept}
        for other in kept:
            if alike[other.id] >= settings.same_above:
                return f"worded like {other.id} ({alike[other.id]:.0f} of 100 in common)"
        doubtful = [other for other in kept if alike[other.id] >= settings.different_below]
        questions = [doubtful] if doubtful else []
    replies = await asyncio.gather(*(_judged_same(candidate, others, assignment, judge) for others in questions))
    return next((reply for reply in replies if reply), None)


def similarity(a: Criterion, b: Criterion) -> float:
    """Return how alike two criteria are worded, 0 to 100; their levels count less than their statements."""
    from rapidfuzz import fuzz

    statements = fuzz.token_sort_ratio(f"{a.trait}. {a.statement}", f"{b.trait}. {b.statement}")
    levels = fuzz.token_sort_ratio(_levels(a), _levels(b))
    return max(statements, (statements + levels) / 2)


async def _judged_same(
    candidate: Criterion, others: Sequence[Criterion], assignment: Assignment, judge: Judge
) -> str | None:
    fields = {
        **assignment.fields(),
        "candidate": criterion_payload(candidate),
        "others": [criterion_payload(other) for other in others],
    }
    answer = await ask(judge, Prompt("hypoeval/redundant", fields, Redundancy, max_tokens=512))
    if answer.value is None or answer.value.same_as == NONE:
        return None
    return f"says what {answer.value.same_as} says: {answer.value.reasoning}"


def _levels(criterion: Criterion) -> str:
    return " ".join(level.description for level in criterion.levels)
