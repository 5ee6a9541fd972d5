"""What the labelling page gets: one item at a time, without anything that could influence the rater."""

from __future__ import annotations

from typing import Any

from rubriclab.data.scale import Scale
from rubriclab.labeling.progress import RaterProgress
from rubriclab.services.label import Labeling, ShownItem

# More levels than this are typed as a number.
MOST_BUTTONS = 11


def page_settings(labeling: Labeling, rater: str) -> dict[str, Any]:
    """Return what the page needs to know once."""
    question = labeling.question
    words = question.words
    return {
        "rater": rater,
        "question": question.digest,
        "scale": {
            "low": question.scale.low,
            "high": question.scale.high,
            "whole": question.scale.whole,
            "text": question.scale.describe(),
            "levels": levels(question.scale),
        },
        "words": {"output": words.output, "source": words.source, "context": words.context},
    }


def levels(scale: Scale) -> list[dict[str, Any]]:
    """Return the scores that have a button, each with its number key; none if decimals are allowed or too many.

    The key of a score is its own digit, 0 for a 10, or its place from 1 if scores are negative or larger.
    """
    if not scale.whole or scale.width >= MOST_BUTTONS:
        return []
    scores = [int(scale.low) + step for step in range(int(scale.width) + 1)]
    keys = {score: str(score) for score in scores if 0 <= score <= 9}
    if scores[0] == 1 and scores[-1] == 10:
        keys[10] = "0"
    elif len(keys) < len(scores) and len(scores) <= 9:
        keys = {score: str(place) for place, score in enumerate(scores, start=1)}
    return [{"value": score, "key": keys.get(score, "")} for score in scores]


def item_content(shown: ShownItem) -> dict[str, Any]:
    """Return an item with its text, and what the rater has answered before."""
    text, former = shown.text, shown.former
    return {
        "position": shown.position,
        "total": shown.total,
        "item": shown.name,
        "text": text.output,
        "source": text.source,
        "context": text.context,
        "reference": text.reference,
        "former": former
        and {
            "kind": former.kind,
            "value": former.value,
            "reason": former.reason,
        },
    }


def progress_content(progress: RaterProgress) -> dict[str, Any]:
    """Return a rater's progress in figures."""
    return {"done": progress.done, "skipped": progress.skipped, "total": progress.total}
