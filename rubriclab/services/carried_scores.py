"""Scores that rows carry from an earlier `score`, so that no text is scored twice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rubriclab.data import Example
from rubriclab.judges.recording import recorded_name
from rubriclab.rubric import Rubric
from rubriclab.scoring import Score
from rubriclab.store import Version


def carried_score(row: Any, example: Example, version: Version, judge: str) -> Score | None:
    """Return the score of `example` by `version` and `judge` that its row carries; `None` if there is none to use.

    A row of `rubriclab score` names both; a recording counts as the judge that it holds. A score off the scale, or with
    other criteria than the version's, is of another version of that name. A text without a score is scored again.
    """
    if not isinstance(row, Mapping) or row.get("rubric") != version.ref:
        return None
    if recorded_name(str(row.get("judge"))) != recorded_name(judge):
        return None
    try:
        score = _scores().validate_python({name: row[name] for name in Score.__slots__ if name in row})
    except ValidationError:
        return None
    return score if score.id == example.id and _by_rubric(score, version.rubric) else None


def _by_rubric(score: Score, rubric: Rubric) -> bool:
    if score.score is None or score.aspect != rubric.aspect.name:
        return False
    numbers = [number for part in score.criteria for number in (part.score, part.contribution) if number is not None]
    same_criteria = {part.id for part in score.criteria} == {criterion.id for criterion in rubric.criteria}
    return same_criteria and rubric.scores_on.contains(score.score) and all(map(math.isfinite, numbers))


@cache
def _scores() -> TypeAdapter[Score]:
    """Return what validates a score: built once, and only where it is needed."""
    return TypeAdapter(Score)
