"""Rows with the scores that people gave in another tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.data.annotation_export import is_comment, is_comment_name


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a person said about a text.

    Attributes:
        text: the id of the text.
        aspect: what was scored.
        score: a number, a word that `level_scores` gives a number, or a comment.
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

    An aspect that is named like comments, or in which somebody wrote 25 characters or several lines, has comments
    instead of scores. A comment is a
    reason for the aspect that its name contains, or else for every aspect that the rater scored in the text. If there
    is none, the comment is kept in the field `answers`, by name and rater.

    Args:
        rows: each with an `id`.
        annotations: in the order in which they were given.
    """
    by_text: dict[str, list[Annotation]] = {}
    commented = set()
    for annotation in annotations:
        by_text.setdefault(annotation.text, []).append(annotation)
        if isinstance(annotation.score, str) and (is_comment_name(annotation.aspect) or is_comment(annotation.score)):
            commented.add(annotation.aspect)
    return [{**row, **_fields(by_text.get(row["id"], []), commented)} for row in rows]


def _fields(annotations: Sequence[Annotation], commented: Set[str]) -> dict[str, Any]:
    scored = [each for each in annotations if each.aspect not in commented]
    answers: dict[str, Any] = {}
    for comment in {(each.aspect, each.rater): each for each in annotations if each.aspect in commented}.values():
        about = _about(comment, scored)
        scored = [_with_reason(each, comment) if each in about else each for each in scored]
        if not about:
            answers.setdefault(comment.aspect, {})[comment.rater or ""] = comment.score
    by_aspect: dict[str, list[Annotation]] = {}
    for each in scored:
        by_aspect.setdefault(each.aspect, []).append(each)
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
    fields = {"annotations": scores, "reasons": reasons, "answers": answers}
    return {name: values for name, values in fields.items() if values}


def _about(comment: Annotation, scored: Sequence[Annotation]) -> list[Annotation]:
    """Return the scores that a comment is a reason for."""
    own = [each for each in scored if each.rater is not None and each.rater == comment.rater]
    named = [each for each in own if each.aspect.casefold() in comment.aspect.casefold()]
    return named or own


def _with_reason(annotation: Annotation, comment: Annotation) -> Annotation:
    return replace(annotation, reason="\n".join(filter(None, [annotation.reason, str(comment.score)])))
