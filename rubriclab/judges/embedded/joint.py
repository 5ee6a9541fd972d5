"""All criteria of a text in one reply by the offline judge: what it would have answered to each by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rubriclab.judges.embedded import overall, questions, rating

_SCORES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "definition": overall.rate_by_definition,
    "explanation": overall.rate_by_explanation,
    "steps": overall.rate_by_steps,
}


def judge(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rating by each criterion, an answer to each question, and each score of the whole."""
    scores = [{"criterion": each["id"], **_score(fields, each)} for each in fields["overall"]]
    return {**rating.rate_together(fields), **questions.answer({**fields, "bare": False}), "scores": scores}


def _score(fields: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    return _SCORES[asked["by"]]({**fields, "score_only": False, asked["by"]: asked["text"]})
