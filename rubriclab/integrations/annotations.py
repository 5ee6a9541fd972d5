"""Rows with the scores that people gave in another tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a person said about a text.

    Attributes:
        text: the id of the text.
        aspect: what was scored.
        score: a number, or a word that `level_scores` gives a number.
        rater: the person's name; `None` if it is not known.
        reason: why; `None` if that was not said.
    """

    text: str
    aspect: str
    score: float | str
    rater: str | None = None
    reason: str | None = None


def annotated_rows(rows: Iterable[Mapping[str, Any]], annotations: Iterable[Annotation]) -> list[dict[str, Any]]:
    """Return rows with the fields `annotations` and `reasons`, in the order of the rows.

    The annotations of an aspect are a mapping of raters to scores, of which the last one counts; where a rater is not
    known, they are a list. Rows without annotations stay as they are.

    Args:
        rows: each with an `id`.
        annotations: in the order in which they were given.
    """
    by_text: dict[str, dict[str, list[Annotation]]] = {}
    for annotation in annotations:
        by_text.setdefault(annotation.text, {}).setdefault(annotation.aspect, []).append(annotation)
    return [{**row, **_fields(by_text.get(row["id"], {}))} for row in rows]


def _fields(by_aspect: Mapping[str, list[Annotation]]) -> dict[str, Any]:
    scores: dict[str, Any] = {}
    reasons: dict[str, Any] = {}
    for aspect, given in by_aspect.items():
        if any(each.rater is None for each in given):
            scores[aspect] = [each.score for each in given]
            why: Any = "\n".join(each.reason for each in given if each.reason)
        else:
            scores[aspect] = {each.rater: each.score for each in given}
            why = {each.rater: each.reason for each in given if each.reason}
        if why:
            reasons[aspect] = why
    return {name: values for name, values in (("annotations", scores), ("reasons", reasons)) if values}
