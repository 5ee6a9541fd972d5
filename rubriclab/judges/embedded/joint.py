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
    """Return a rating by each criterion, an answer to each question, and each score of the whole, as far as asked."""
    ratings = rating.rate_together(fields)["ratings"]
    lists = {
        "ratings": [_entry(each["criterion"], each["reasoning"], score=each["score"]) for each in ratings],
        "answers": [
            _entry(each["question"], each["reason"], answer=each["answer"])
            for each in questions.answer({**fields, "bare": False})["answers"]
        ],
        "whole": [_whole(fields, each) for each in fields["overall"]],
    }
    return {name: entries for name, entries in lists.items() if entries}


def _whole(fields: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    found = _score(fields, asked)
    return _entry(asked["id"], found["reasoning"], score=found["score"])


def _entry(name: str, reason: str, **verdict: Any) -> dict[str, Any]:
    return {"id": name, "reason": reason, **verdict}


def _score(fields: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    return _SCORES[asked["by"]]({**fields, "score_only": False, asked["by"]: asked["text"]})
