"""Scales of scores, given by the user or inferred from the labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rubriclab.data.cells import WordScore
from rubriclab.errors import SettingsError

# A scale with more levels is described by five anchors, since descriptions of eleven levels would be too many.
MOST_LEVELS = 7
ANCHORS = 5
# Limits of the ends and of the width; beyond them, differences between scores overflow or vanish.
LARGEST_END = 1e9
LEAST_WIDTH = 1e-6


class Scale(BaseModel):
    """Scores from `low` to `high`; whole numbers only if `whole`.

    Attributes:
        names: what the two levels of verdicts, 0 and 1, are called; `None` for any other scale. Scores between them are
            probabilities of the level 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    low: float
    high: float
    whole: bool
    names: tuple[str, str] | None = Field(None, exclude_if=lambda names: names is None)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"a scale needs two finite numbers, the lower first; got {self.low} and {self.high}")
        if max(abs(self.low), abs(self.high)) > LARGEST_END or self.width < LEAST_WIDTH:
            raise ValueError(
                f"a scale has ends of at most {LARGEST_END:,.0f} in size, at least {LEAST_WIDTH:g} apart; "
                f"got {self.low:g} and {self.high:g}"
            )
        if self.whole and not _whole_ends(self.low, self.high):
            raise ValueError(f"a scale of whole numbers needs whole ends; got {self.low} and {self.high}")
        if self.names and (self.low, self.high) != (0, 1):
            raise ValueError(f"only the two levels 0 and 1 have names; got a scale from {self.low} to {self.high}")
        return self

    @property
    def width(self) -> float:
        """Distance from the lowest to the highest score."""
        return self.high - self.low

    def holds(self, score: float) -> bool:
        """Return whether a judge may give `score`."""
        return self.contains(score) and (not self.whole or float(score).is_integer())

    def contains(self, label: float) -> bool:
        """Return whether `label` lies on the scale; means of several raters may fall between whole scores."""
        return math.isfinite(label) and self.low <= label <= self.high

    def moved_to(self, other: Scale, score: float) -> float:
        """Return a score of this scale mapped linearly to another one, end to end."""
        return other.low + (score - self.low) * other.width / self.width

    def same_ends(self, other: Scale) -> bool:
        """Return whether both have the same ends, whether or not scores are whole."""
        return (self.low, self.high) == (other.low, other.high)

    def anchors(self) -> tuple[float, ...]:
        """Return the scores that a criterion describes in words, in ascending order, rounded as by `show`.

        A judge repeats them as shown: 0.3, not 0.30000000000000004.
        """
        steps = self.width
        if self.low.is_integer() and steps.is_integer() and 2 <= steps < MOST_LEVELS:
            return tuple(self.low + step for step in range(int(steps) + 1))
        if self.whole and steps == 1:
            return (self.low, self.high)
        return tuple(float(show(self.low + steps * step / (ANCHORS - 1))) for step in range(ANCHORS))

    @property
    def between(self) -> bool:
        """Whether there are legal scores between the anchors."""
        return not self.whole or len(self.anchors()) <= self.width

    def describe(self) -> str:
        """Return a description of the scale for a judge."""
        if self.names:
            return f"0 (certainly {self.names[0]!r}) to 1 (certainly {self.names[1]!r}), decimals allowed"
        numbers = "whole numbers only" if self.whole else "decimals allowed"
        return f"{show(self.low)} (lowest) to {show(self.high)} (highest), {numbers}"


def show(score: float) -> str:
    """Return a score with up to three decimals: `4`, not `4.0`."""
    return f"{score:z.3f}".rstrip("0").rstrip(".")


def parse_scale(text: str, labels: Iterable[float] = ()) -> Scale:
    """Return the scale in a text `LOW:HIGH`, `LOW:HIGH:whole` or `LOW:HIGH:any`.

    Without a third part, scores are whole numbers if the ends and all `labels` are.

    Raises:
        SettingsError: if `text` is not of that form.
    """
    parts = text.split(":")
    kinds = {"whole": True, "any": False}
    try:
        if len(parts) not in (2, 3) or (len(parts) == 3 and parts[2] not in kinds):
            raise ValueError
        low, high = float(parts[0]), float(parts[1])
        whole = kinds[parts[2]] if len(parts) == 3 else _whole_ends(low, high) and _all_whole(labels)
        return Scale(low=low, high=high, whole=whole)
    except ValueError:
        raise SettingsError(
            f"The scale {text!r} is not understood;",
            "write the lowest and the highest score, as in 1:5, and if need be 1:5:whole or 0:1:any.",
        ) from None


def scale_of(labels: Iterable[float], annotations: Iterable[float] = ()) -> Scale:
    """Return the narrowest scale with whole ends that contains all `labels` and `annotations`.

    It is one of verdicts if all annotations, or without any the labels, are 0 or 1.

    Raises:
        ValueError: if there is no label.
    """
    labels, single = list(labels), list(annotations)
    values = [*labels, *single]
    if (verdicts := verdict_scale(single or labels)) and all(0 <= label <= 1 for label in labels):
        return verdicts
    low, high = math.floor(min(values)), math.ceil(max(values))
    return Scale(low=low, high=max(high, low + 1), whole=_all_whole(labels))


def verdict_scale(values: Iterable[float]) -> Scale | None:
    """Return the scale of labels that are all 0 or 1, with their most common words; `None` for any others."""
    values = list(values)
    if not values or not set(values) <= {0, 1}:
        return None
    words = Counter((float(value), value.word.casefold()) for value in values if isinstance(value, WordScore))
    worse, better = (
        next((word for (score, word), _ in words.most_common() if score == level), None) for level in (0, 1)
    )
    return Scale(low=0, high=1, whole=False, names=(worse, better) if worse and better else ("0", "1"))


def _whole_ends(low: float, high: float) -> bool:
    return low.is_integer() and high.is_integer()


def _all_whole(labels: Iterable[float]) -> bool:
    labels = list(labels)
    return bool(labels) and all(float(label).is_integer() for label in labels)
