"""What the tests of candidates share: plans in little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scripted_judge import ASPECT, SMALL, assignment, checklist, findings, graded, scripted

from rubriclab.judges.judge import FakeJudge
from rubriclab.learning.candidates import Candidates, Plan, find_candidates
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.sources import Checklist
from rubriclab.models.text import Example

TEXTS = tuple(
    replace(text, source=f"Source {text.group}.", output=f"{text.output} {'And more. ' * (place % 5)}".strip())
    for place, text in enumerate(graded(16, groups=8))
)
CHOSEN: dict[str, dict[str, Any]] = {
    "hypoeval": SMALL,
    "checkeval": {"diversified": 1, "elaborated_most": 2},
    "seeval": {"explanations": 2},
    "seal": {"proposed": 2},
}


def plan(name: str, texts: Sequence[Example] = TEXTS, questions: Checklist | None = None, **chosen: Any) -> Plan:
    """Return the plan to learn by a method, with small settings, those of a joint training and those chosen."""
    method = METHODS[name]
    given = (questions or checklist()) if method.checklists == "checklists" else None
    settings = method.settings(**{**CHOSEN.get(name, {}), **METHODS[name].joint_settings, **chosen})
    return Plan(method, TrainingInput(tuple(texts), assignment(), findings(), given), settings)


def plans(*names: str, texts: Sequence[Example] = TEXTS) -> list[Plan]:
    return [plan(name, texts) for name in names]


async def found_by(*given: Plan, judge: FakeJudge | None = None, seed: int = 1) -> Candidates:
    """Return what plans find with a judge that also generates."""
    judge = judge or scripted()
    return await find_candidates(given, judge=judge, generator=judge, seed=seed)


def labels() -> list[float]:
    return [text.scores[ASPECT] for text in sorted(TEXTS, key=lambda text: text.id)]
