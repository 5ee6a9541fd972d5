"""People's judgments as rows that `learn` reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.data import Example, PairwiseComparison
from rubriclab.data.example import named_annotations, named_reasons
from rubriclab.labeling.judgment import History, HumanJudgment, TextToJudge

# The rater of labels that a file has without a rater's name.
EARLIER = "earlier"


@dataclass(frozen=True)
class LabelText(TextToJudge):
    """A text to be judged, and the columns of its row that are no fields."""

    columns: Mapping[str, Any]


def labelled_rows(
    texts: Sequence[LabelText], history: History, aspect: str, former: Sequence[PairwiseComparison] = ()
) -> Iterator[dict[str, Any]]:
    """Yield each text that has a label or was compared with others, then the preferences in `former`.

    A rater's label is the first judgment of a text; the second one only measures consistency. The score is the mean of
    the raters, those that the texts came with among them.
    """
    ratings = {text.key: list[HumanJudgment]() for text in texts}
    for judgment in history.all():
        if judgment.kind in ("rating", "cannot judge") and not judgment.again and judgment.text in ratings:
            ratings[judgment.text].append(judgment)
    compared = {name for each in former for name in (each.better, each.worse)}
    for text in texts:
        row = _row(text, ratings[text.key], aspect)
        if aspect in row.get("scores", {}) or text.example.id in compared:
            yield row
    for each in former:
        yield _preference(each.better, each.worse, tie=each.tie, aspect=each.aspect, rater=each.rater)


def _row(text: LabelText, ratings: Sequence[HumanJudgment], aspect: str) -> dict[str, Any]:
    example = text.example
    scores, annotations, reasons = dict(example.scores), _annotations(example), dict(example.reasons)
    if given := {each.rater: each.value for each in ratings if each.value is not None}:
        everybody = _earlier_scores(example, aspect) | given
        annotations[aspect] = everybody
        scores[aspect] = math.fsum(everybody.values()) / len(everybody)
    if said := {each.rater: each.reason for each in ratings if each.reason}:
        reasons[aspect] = {rater or EARLIER: reason for rater, reason in named_reasons(example, aspect).items()} | said
    fields = {
        "id": example.id,
        "group": example.group,
        "system": example.system,
        "source": example.source,
        "context": example.context,
        "reference": example.reference,
        "output": example.output,
        "scores": scores,
        "annotations": annotations,
        "reasons": reasons,
    }
    return {**{name: value for name, value in fields.items() if value not in (None, {})}, **text.columns}


def _earlier_scores(example: Example, aspect: str) -> dict[str, float]:
    """Return the raters' scores that a text came with; those of unknown raters are named `earlier`."""
    if numbers := example.annotations.get(aspect):
        names = (f"{EARLIER} {number}" for number in range(1, len(numbers) + 1))
        return named_annotations(example, aspect) or dict(zip(names, numbers, strict=True))
    return {EARLIER: example.scores[aspect]} if aspect in example.scores else {}


def _annotations(example: Example) -> dict[str, Any]:
    """Return the annotations of every aspect, by the raters' names where they are known."""
    return {
        aspect: named_annotations(example, aspect) or list(numbers) for aspect, numbers in example.annotations.items()
    }


def _preference(better: str, worse: str, *, tie: bool, aspect: str | None, rater: str | None) -> dict[str, Any]:
    named = {"aspect": aspect, "rater": rater}
    about = {name: value for name, value in named.items() if value is not None}
    return {"preferred": better, "over": worse, **({"tie": True} if tie else {}), **about}
