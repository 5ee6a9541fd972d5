"""Rows with the scores that people gave in another tool."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.data.annotations import (
    Answer,
    AskedQuestion,
    aspects_about,
    questions_of,
)
from rubriclab.errors import DataError
from rubriclab.models.cells import UNTYPED


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


def rows_of_texts(
    texts: Iterable[tuple[str, Callable[[], Mapping[str, Any]]]], annotations: Sequence[Annotation]
) -> list[dict[str, Any]]:
    """Return the rows of texts with the fields `annotations` and `reasons`; see `annotated_rows`.

    Left out are texts without an output, such as failed runs, and texts that nobody scored and whose output or source
    is not clear, such as the calls of tools.

    Args:
        texts: the id of each, and what returns its row.
        annotations: in the order in which they were given.

    Raises:
        DataError: if it is not clear what the output or source of a scored text is; it names the id.
    """
    scored = {each.text for each in annotations}
    rows = []
    for text, row_of in texts:
        try:
            row = row_of()
        except DataError as error:
            if text in scored:
                raise DataError(f"{text}: {error.message}", error.hint) from error
            continue
        if row.get("output") is not None:
            rows.append({**row, "id": text})
    return annotated_rows(rows, annotations)


def annotated_rows(rows: Iterable[Mapping[str, Any]], annotations: Iterable[Annotation]) -> list[dict[str, Any]]:
    """Return rows with the fields `annotations` and `reasons`, in the order of the rows.

    The annotations of an aspect are a mapping of raters to scores, of which the last one of each rater counts. Unknown
    raters may be different people: beside known ones they are called `unnamed-` and the number of the annotation, and
    if no rater is known, the annotations are a list. Rows without annotations stay as they are.

    Numbers and words are scores, and a comment among them is kept in the field `answers`, by aspect and rater; see
    `questions_of`. The comments of an aspect without scores are reasons for the aspect that its name
    contains, or else for every aspect that the rater scored in the text; a comment whose rater did not score it is kept
    in `answers` too.

    Args:
        rows: each with an `id`.
        annotations: in the order in which they were given.
    """
    given = list(annotations)
    answers = (Answer(each.aspect, each.rater or "", each.score) for each in given)
    questions = questions_of(answers, UNTYPED)
    by_text: dict[str, dict[int, Annotation]] = {}
    for number, each in enumerate(given, start=1):
        by_text.setdefault(each.text, {})[number] = each
    return [{**row, **_fields(by_text.get(row["id"], {}), questions)} for row in rows]


def _unused(name: str, used: Collection[str | None]) -> str:
    while name in used:
        name += "-"
    return name


def _fields(annotations: Mapping[int, Annotation], questions: Mapping[str, AskedQuestion]) -> dict[str, Any]:
    scores: dict[str, dict[str, Annotation]] = {}
    comments: dict[tuple[str, str], Annotation] = {}
    left: list[Annotation] = []
    known = {each.rater for each in annotations.values()}
    for number, each in annotations.items():
        rater = each.rater or _unused(f"unnamed-{number}", known)
        if questions[each.aspect].kind == "comment":
            comments[each.aspect, rater] = each
        elif questions[each.aspect].accepts(each.score):
            scores.setdefault(each.aspect, {})[rater] = each
        else:
            left.append(each)
    aspects = [name for name, question in questions.items() if question.kind != "comment"]
    for comment in comments.values():
        rated = [aspect for aspect, by_rater in scores.items() if comment.rater in by_rater]
        about = [aspect for aspect in aspects_about(comment.aspect, aspects, rated) if aspect in rated]
        for aspect in about:
            scores[aspect][str(comment.rater)] = _with_reason(scores[aspect][str(comment.rater)], comment)
        if not about:
            left.append(comment)
    fields = {
        "annotations": {aspect: _scores(by_rater) for aspect, by_rater in scores.items()},
        "reasons": {aspect: why for aspect, by_rater in scores.items() if (why := _reasons(by_rater))},
        "answers": _answers(left),
    }
    return {name: values for name, values in fields.items() if values}


def _scores(by_rater: Mapping[str, Annotation]) -> Any:
    scores = {rater: each.score for rater, each in by_rater.items()}
    return scores if _any_known(by_rater) else list(scores.values())


def _reasons(by_rater: Mapping[str, Annotation]) -> Any:
    reasons = {rater: each.reason for rater, each in by_rater.items() if each.reason}
    return reasons if _any_known(by_rater) else "\n".join(reasons.values())


def _any_known(by_rater: Mapping[str, Annotation]) -> bool:
    return any(each.rater for each in by_rater.values())


def _answers(left: Iterable[Annotation]) -> dict[str, dict[str, str]]:
    """Return answers by aspect and rater: the last one of each, and all of unknown raters."""
    answers: dict[str, dict[str, str]] = {}
    for each in left:
        said = answers.setdefault(each.aspect, {})
        before = said.get("") if not each.rater else None
        said[each.rater or ""] = "\n".join(filter(None, [before, str(each.score)]))
    return answers


def _with_reason(annotation: Annotation, comment: Annotation) -> Annotation:
    return replace(annotation, reason="\n".join(filter(None, [annotation.reason, str(comment.score)])))
