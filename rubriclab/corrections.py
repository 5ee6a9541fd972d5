"""Corrections of labels: what a person says of a label after seeing the rubric's score, kept beside the label.

A correction is never changed or removed; a later one may take it back. It applies to a label that still has the value
that it names as old, so that a version that was made with the corrected label is not corrected again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field

from rubriclab.base_models import Bounded, FrozenModel, Moment
from rubriclab.training_record import RecordedText

# Labels that differ by less are the same.
SAME = 1e-9


class Correction(FrozenModel):
    """One person's judgment of a label.

    Attributes:
        id: unique; a correction with an id that is stored already is the same correction sent again.
        rubric: name of the rubric, and in `version` the number of the version that was looked at.
        text: id of the text.
        rater: whose score is meant; empty for the label itself.
        kind: `correct` gives the label another value; `rubric right` withdraws the label, so that the text is left out
            of fitting and agreement; `misses` says what the rubric does not see, and leaves the label as it is.
        old, new: the label before and after; `None` where there is none.
        note: what the rubric misses.
        by, because: who says so, and why.
    """

    id: str = Field(min_length=1, max_length=100)
    rubric: str
    version: int = Field(ge=1)
    text: str
    aspect: str
    rater: str = ""
    kind: Literal["correct", "rubric right", "misses"]
    old: Bounded | None = None
    new: Bounded | None = None
    note: str = ""
    by: str = Field(min_length=1)
    because: str = ""
    created: Moment


def corrected(text: RecordedText, corrections: Iterable[Correction]) -> RecordedText | None:
    """Return a text with its label as corrected; `None` if the label was withdrawn.

    If a rater's score is corrected, the label is the mean of the raters' scores.

    Args:
        corrections: of this text and of others, the oldest first.
    """
    label, raters = _corrected_values(text, corrections)
    return None if label is None else text.model_copy(update={"label": label, "raters": raters})


def current_value(text: RecordedText, rater: str, corrections: Iterable[Correction]) -> float | None:
    """Return a label, or a rater's score, as corrected so far; `None` if there is none."""
    label, raters = _corrected_values(text, corrections)
    return raters.get(rater) if rater else label


def _corrected_values(
    text: RecordedText, corrections: Iterable[Correction]
) -> tuple[float | None, Mapping[str, float]]:
    """Return the label and the raters' scores as corrected."""
    label: float | None = text.label
    raters: dict[str, float] = dict(text.raters)
    for each in corrections:
        if each.text != text.id or each.kind == "misses":
            continue
        if not each.rater:
            label = each.new if same_value(label, each.old) else label
        elif same_value(raters.get(each.rater), each.old):
            raters = {name: score for name, score in raters.items() if name != each.rater}
            raters |= {} if each.new is None else {each.rater: each.new}
            label = math.fsum(raters.values()) / len(raters) if raters else None
    return label, raters


def same_value(value: float | None, other: float | None) -> bool:
    """Return whether two labels are the same; `None` is a label that is withdrawn."""
    if value is None or other is None:
        return value is other
    return abs(value - other) <= SAME
