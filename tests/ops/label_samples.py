"""Texts to label, questions and judgments."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from typing import Any

from rubriclab.models.judgment import HumanJudgment, LabelQuestion, TextToJudge
from rubriclab.models.text import Example, find_aspect, parse_scale, task_words

NUMBERS = count()


def question(scale: str = "1:5:whole") -> LabelQuestion:
    """Return the question of coherence of summaries."""
    return LabelQuestion(task_words("summarization"), find_aspect("summarization", "coherence"), parse_scale(scale))


def texts(groups: int = 5, rivals: int = 3) -> tuple[TextToJudge, ...]:
    """Return texts in groups of rivals."""
    return tuple(
        TextToJudge(Example(f"g{group}-s{rival}", f"Output {rival} of {group}.", f"g{group}", f"Source {group}."))
        for group in range(groups)
        for rival in range(rivals)
    )


def judged(rater: str, key: str, value: float | None = None, **others: Any) -> HumanJudgment:
    """Return a judgment: a rating if it has a value."""
    kind = "cannot judge" if value is None else "rating"
    fields = {
        "id": f"judgment-{next(NUMBERS)}",
        "question": question().digest,
        "aspect": "coherence",
        "rater": rater,
        "kind": kind,
        "text": key,
        "value": value,
        "created": datetime.now(UTC),
        **others,
    }
    return HumanJudgment(**fields)


def withdrawn(judgment: HumanJudgment) -> HumanJudgment:
    """Return the withdrawal of a judgment."""
    kept: dict[str, Any] = {"again": judgment.again, "kind": "withdrawal", "withdraws": judgment.id}
    return judged(judgment.rater, judgment.text, **kept)
