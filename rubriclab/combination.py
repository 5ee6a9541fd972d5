"""How the scores by single criteria come to one score with an interval: plain numbers, learned once, applied to any
text.

A criterion's score x, whatever its range, counts as (x - center) / spread, by the center and spread that it had on the
training texts: 0 for one that is missing or cannot be asked of a text, as if the text were average there. The weighted
sum of these is `raw`; the calibration maps it onto the raters' scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from rubriclab.frozen import Frozen

# With half of the weight missing or more it would be the score of another rubric.
MOST_MISSING = 0.5

Ask = Literal["by method", "in one call"]


class Term(Frozen):
    """What one criterion counts for.

    Attributes:
        criterion: its id.
        weight: share of the whole, in units of the criterion's own spread; the sizes of all weights sum to 1. Below
            zero only for surface measures, which have no better end.
        center, spread: mean and standard deviation of its scores on the training texts.
        low, high: bootstrap interval of the weight.
        selected: share of the resamples in which the criterion was chosen.
    """

    criterion: str
    weight: float = Field(ge=-1, le=1, allow_inf_nan=False)
    center: float
    spread: float = Field(gt=0, allow_inf_nan=False)
    low: float
    high: float
    selected: float = Field(ge=0, le=1)


class Calibration(Frozen):
    """A map from raw values onto the raters' scale: straight lines between the knots.

    `linear` and `none` have two knots and go on straight beyond them; `none` is the mean of what the judge said, in
    its own units. `isotonic` has as many knots as it needs, and stays level beyond the outermost.
    """

    kind: Literal["none", "linear", "isotonic"]
    x: tuple[float, ...]
    y: tuple[float, ...]

    @model_validator(mode="after")
    def _a_map(self) -> Self:
        if len(self.x) != len(self.y) or len(self.x) < (1 if self.kind == "isotonic" else 2):
            raise ValueError("a calibration has as many knots across as up: two, or for isotonic at least one")
        if any(b <= a for a, b in zip(self.x, self.x[1:], strict=False)):
            raise ValueError("the knots of a calibration rise from left to right")
        return self

    def __call__(self, raw: float) -> float:
        """Return what `raw` means on the raters' scale, if that had no ends."""
        if self.kind == "isotonic":
            return float(np.interp(raw, self.x, self.y))
        slope = (self.y[1] - self.y[0]) / (self.x[1] - self.x[0])
        return self.y[0] + slope * (raw - self.x[0])


class Conformal(Frozen):
    """What intervals are made of.

    Attributes:
        errors: how far each training text's label lay from its score when its group was left out, in units of the
            text's own expected error; ascending.
        unrest: how much the expected error grows with the disagreement of the criteria about a text; 0 gives every
            text an interval of the same width.
        confidence: the share of new texts whose label the interval is to hold.
    """

    errors: tuple[float, ...]
    unrest: float = Field(0.0, ge=0)
    confidence: float = Field(0.9, gt=0, lt=1)


class Combination(Frozen):
    """One score from many criteria.

    Attributes:
        recipe: how the weights were found.
        ask: whether each method asks for itself, or all criteria are asked about in one call.
        terms: one for each criterion of the rubric.
        calibration: onto the raters' scale.
        conformal: where intervals come from; `None` where there were too few texts to tell.
    """

    recipe: str
    ask: Ask = "by method"
    terms: tuple[Term, ...] = Field(min_length=1)
    calibration: Calibration
    conformal: Conformal | None = None


@dataclass(frozen=True, slots=True)
class Combined:
    """One text's score.

    Attributes:
        score: on the scale, or `None` where too much is missing.
        low, high: its interval, within the scale; `None` where the score or the rubric has none.
        contributions: by criterion, the points that it adds to the score of an average text; they sum to the score's
            distance from it.
    """

    score: float | None
    low: float | None
    high: float | None
    contributions: Mapping[str, float]
