"""Aggregation of the scores by single criteria to one score with an interval, by plain numbers that learning fixed.

A criterion's score x, whatever its range, counts as (x - center) / spread, by the center and spread that it had on the
training texts: 0 for one that is missing or cannot be asked of a text, as if the text were average there. The weighted
sum of these is `raw`; the calibration maps it onto the raters' scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from rubriclab.models.base import Bounded, FrozenModel
from rubriclab.models.text import Scale
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.intervals import error_bounds, rounded_number

# Scores have six digits: a spread or a distance of knots below this is no learned one, and would overflow as a divisor.
MIN_SPREAD = 1e-12
# How far a rounded weight may be outside its bounds.
ROUNDING = 1e-6
# How far the sizes of rounded weights may be from a sum of 1.
TOLERANCE = 0.01

# A step of the raw value too small to matter.
MIN_STEP = 1e-6
# With half of the weight missing or more it would be the score of another rubric.
MAX_MISSING = 0.5

Ask = Literal["by method", "in one call"]

# The lowest and highest weight that a person allows; equal if the weight is pinned.
Bounds = tuple[Bounded, Bounded]


class Term(FrozenModel):
    """What one criterion counts for.

    Attributes:
        weight: share of the whole, in units of the criterion's own spread; the sizes of all weights sum to 1. Below
            zero only for text features, which have no better end; 0 for a criterion that is only shown as a reason.
        center, spread: mean and standard deviation of its scores on the training texts.
        low, high: posterior interval of the weight, by default of 90 %.
        selected: share of the rubrics fitted without some groups that have the criterion, among those that may.
        bounds: `None` if the weight is fitted freely.
    """

    criterion: str
    weight: float = Field(ge=-1, le=1, allow_inf_nan=False)
    center: Bounded
    spread: Bounded = Field(ge=MIN_SPREAD)
    low: Bounded
    high: Bounded
    selected: float = Field(ge=0, le=1)
    bounds: Bounds | None = None

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        if self.bounds and not bounds_met(self.bounds, self.weight):
            raise ValueError(f"expected a weight from {self.bounds[0]:g} to {self.bounds[1]:g}, got {self.weight:g}")
        return self


class Calibration(FrozenModel):
    """A map from raw values onto the raters' scale: straight lines between the knots.

    `logistic`, for verdicts, has two knots whose y are log odds of the better level. `linear` and `none` (the mean of
    what the judge said) have two knots and go on straight beyond them; `isotonic` stays level beyond the outermost.
    """

    kind: Literal["none", "linear", "isotonic", "logistic"]
    x: tuple[Bounded, ...]
    y: tuple[Bounded, ...]

    @model_validator(mode="after")
    def _a_map(self) -> Self:
        if len(self.x) != len(self.y) or len(self.x) < (1 if self.kind == "isotonic" else 2):
            raise ValueError("a calibration needs as many x values as y values: two, or at least one if it is isotonic")
        if any(b - a < MIN_SPREAD for a, b in zip(self.x, self.x[1:], strict=False)):
            raise ValueError("the x values of a calibration must be in ascending order, each once")
        return self

    def __call__(self, raw: float) -> float:
        return float(self.apply(np.array(raw)))

    def apply(self, raw: FloatArray) -> FloatArray:
        if self.kind == "isotonic":
            return np.asarray(np.interp(raw, self.x, self.y))
        slope = (self.y[1] - self.y[0]) / (self.x[1] - self.x[0])
        line = self.y[0] + slope * (raw - self.x[0])
        return 1 / (1 + np.exp(-np.clip(line, -500, 500))) if self.kind == "logistic" else line


class Conformal(FrozenModel):
    """Each training text's label less its held-out score, ascending, for intervals that hold so many of new labels."""

    errors: tuple[Bounded, ...]
    confidence: float = Field(default=0.9, gt=0, lt=1)

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if list(self.errors) != sorted(self.errors):
            raise ValueError("the errors of intervals are in ascending order")
        return self


class RivalLimits(FrozenModel):
    """The most texts of a call about several texts of one group."""

    texts: int = Field(default=10, ge=2, le=100)


class CallForm(FrozenModel):
    """The most criteria of a call about a text, where a judge cannot answer about all, and whether it gives reasons."""

    criteria: int = Field(ge=1)
    reasons: bool = True

    def __str__(self) -> str:
        number = "one criterion" if self.criteria == 1 else f"{self.criteria} criteria"
        return f"{number} a call{'' if self.reasons else ', scores without reasons'}"


class Aggregation(FrozenModel):
    """One score from many criteria.

    Attributes:
        terms: one for each criterion of the rubric.
        conformal: `None` where there were too few texts for intervals.
        onto: the scale of the scores, if criteria are asked on another; moved in a straight line, end to end.
        rivals: for calls about several texts of a group.
        form: the form in which the judge's replies could be used, if not that with all criteria in one call.
        threshold: for verdicts, the lowest score with which a text passes.
        threshold_by_hand: whether a person set it, so that it is not learned from labels.
    """

    ask: Ask = "by method"
    terms: tuple[Term, ...] = Field(min_length=1)
    calibration: Calibration
    conformal: Conformal | None = None
    onto: Scale | None = None
    rivals: RivalLimits | None = Field(None, exclude_if=lambda rivals: rivals is None)
    form: CallForm | None = Field(None, exclude_if=lambda form: form is None)
    threshold: float | None = Field(None, ge=0, le=1, exclude_if=lambda threshold: threshold is None)
    threshold_by_hand: bool = Field(False, exclude_if=lambda by_hand: not by_hand)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.rivals and self.ask != "in one call":
            raise ValueError("`rivals` belongs to criteria that are asked about in one call")
        total = math.fsum(abs(term.weight) for term in self.terms)
        if abs(total - 1) > TOLERANCE:
            raise ValueError(f"the sizes of a combination's weights sum to 1; got {total:g}")
        return self


def bounds_of(aggregation: Aggregation | None) -> dict[str, Bounds]:
    terms = aggregation.terms if aggregation else ()
    return {term.criterion: term.bounds for term in terms if term.bounds}


def threshold_by_hand(aggregation: Aggregation | None) -> float | None:
    return aggregation.threshold if aggregation and aggregation.threshold_by_hand else None


def bounds_met(bounds: Bounds | None, weight: float) -> Bounds | None:
    """Return limits of a weight if they are met but for rounding: where criteria are left out, they may not be."""
    return bounds if bounds and bounds[0] - ROUNDING <= weight <= bounds[1] + ROUNDING else None


@dataclass(frozen=True, slots=True)
class AggregatedScore:
    """One text's score and interval on the scale, `None` where too much is missing or the rubric has no interval.

    `contributions` are the points that each criterion adds to the score of an average text, and sum to the distance
    from it.
    """

    score: float | None
    low: float | None
    high: float | None
    contributions: Mapping[str, float]


def combine(aggregation: Aggregation, scores: Mapping[str, float | None], scale: Scale) -> AggregatedScore:
    """Return one text's score with its interval, and each criterion's contribution to it.

    There is no score where `MAX_MISSING` or more of the weight of what can be asked of the text is missing, nor where
    nothing can be asked of it. What cannot be asked counts as average.

    Contributions are in proportion to weight times distance from the center, the straight path from the average text to
    this one: exact for a linear calibration, else shares of where the path leads.

    Args:
        scores: by criterion; `None` where it was asked in vain, no entry where it cannot be asked of this text.
        scale: what criteria are asked on.
    """
    z = standardised(aggregation, scores)
    if _too_little(aggregation, scores, z):
        return AggregatedScore(None, None, None, {})
    parts = _parts(aggregation, z)
    raw = math.fsum(parts.values())

    def calibrated(at: float) -> float:
        return _clipped(aggregation.calibration(at), scale)

    value, given_on = calibrated(raw), aggregation.onto or scale
    # Points of the scale for each unit of raw value, on the way from an average text to this one.
    way = raw if abs(raw) > MIN_STEP else MIN_STEP
    per_raw = (calibrated(way) - calibrated(0.0)) / way * given_on.width / scale.width
    shares = {criterion: rounded_number(part * per_raw) for criterion, part in parts.items()}
    low = high = None
    if aggregation.conformal:
        below, above = error_bounds(aggregation.conformal.errors, aggregation.conformal.confidence)
        low, high = (
            rounded_number(scale.moved_to(given_on, _clipped(value + error, scale))) for error in (below, above)
        )
    return AggregatedScore(rounded_number(scale.moved_to(given_on, value)), low, high, shares)


def average_score(aggregation: Aggregation, scale: Scale) -> float:
    """Return the score of a text that every criterion rates as average; criteria are asked on `scale`."""
    value = _clipped(aggregation.calibration(0.0), scale)
    return rounded_number(scale.moved_to(aggregation.onto or scale, value))


def raw_value(aggregation: Aggregation, scores: Mapping[str, float | None]) -> float | None:
    """Return the weighted sum of a text's standardised scores, `None` where `combine` gives no score."""
    z = standardised(aggregation, scores)
    return None if _too_little(aggregation, scores, z) else math.fsum(_parts(aggregation, z).values())


def standardised(aggregation: Aggregation, scores: Mapping[str, float | None]) -> dict[str, float]:
    """Return each present score as its distance from the center of its criterion, in spreads."""
    scored = ((term, scores.get(term.criterion)) for term in aggregation.terms)
    return {term.criterion: (score - term.center) / term.spread for term, score in scored if score is not None}


def _parts(aggregation: Aggregation, z: Mapping[str, float]) -> dict[str, float]:
    return {term.criterion: term.weight * z.get(term.criterion, 0.0) for term in aggregation.terms}


def _too_little(aggregation: Aggregation, scores: Mapping[str, float | None], z: Mapping[str, float]) -> bool:
    asked = math.fsum(abs(term.weight) for term in aggregation.terms if term.criterion in scores)
    there = math.fsum(abs(term.weight) for term in aggregation.terms if term.criterion in z)
    # The tolerance is for weights that add up to half but for the last bits.
    return not z or asked - there >= MAX_MISSING * asked - 1e-9


def _clipped(value: float, scale: Scale) -> float:
    return min(max(value, scale.low), scale.high)
