"""Aggregation of the ratings by single criteria to one score with an interval.

A rating x is standardized to (x - center) / spread with the center and spread of the criterion on the training texts.
A criterion without a rating, or one that does not apply to the text, counts as 0, the average. The weighted sum of the
standardized ratings is the raw value. The calibration maps it onto the scale of the ratings. The result is
then mapped to the scale `Aggregation.onto`, if that is set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from rubriclab.models.base import BoundedFloat, FrozenModel
from rubriclab.models.text import Scale
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.intervals import error_bounds, round_defined

# Minimum spread of a criterion, and minimum distance of a calibration's x values: division by less could overflow.
MIN_SPREAD = 1e-12
# How far a weight may be outside its bounds, by rounding.
BOUNDS_TOLERANCE = 1e-6
# How far the sum of the absolute weights may be from 1, by rounding.
SUM_TOLERANCE = 0.01
# Contributions need a raw value to divide by. `MIN_DIVISOR` replaces a raw value that is nearer to 0.
MIN_DIVISOR = 1e-6
# If criteria with this share of the weight or more lack a rating, there is no score: too few criteria would decide it.
TOO_MUCH_MISSING_WEIGHT = 0.5

CallGrouping = Literal["by method", "in one call"]

# The lowest and highest weight that a person allows for a criterion; equal if the weight is pinned.
Bounds = tuple[BoundedFloat, BoundedFloat]


class Term(FrozenModel):
    """The weight of one criterion, and the numbers that standardize its ratings.

    Attributes:
        weight: how much the raw value rises if the rating rises by `spread`; all absolute weights sum to 1. Only text
            features may have weights below zero; with weight 0, a criterion only gives reasons for the score.
        center, spread: mean and standard deviation of the criterion's ratings of the training texts.
        low, high: the ends of the weight's posterior interval, by default the 90 % interval.
        selected: the share of the cross-validation fits that select the criterion. A fit does not count
            if it leaves out a label from which the criterion was proposed.
        bounds: the limits that a person set; `None` if the weight is fitted freely.
    """

    criterion: str
    weight: float = Field(ge=-1, le=1, allow_inf_nan=False)
    center: BoundedFloat
    spread: BoundedFloat = Field(ge=MIN_SPREAD)
    low: BoundedFloat
    high: BoundedFloat
    selected: float = Field(ge=0, le=1)
    bounds: Bounds | None = None

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        if self.bounds and not bounds_if_weight_within(self.bounds, self.weight):
            raise ValueError(f"expected a weight from {self.bounds[0]:g} to {self.bounds[1]:g}, got {self.weight:g}")
        return self


class Calibration(FrozenModel):
    """A map from raw values onto the scale of the ratings: the straight line through two points.

    For `logistic` (labels of two levels), y are log odds of the better level. For `none`, labels are not used.
    """

    kind: Literal["none", "linear", "logistic"]
    x: tuple[BoundedFloat, BoundedFloat]
    y: tuple[BoundedFloat, BoundedFloat]

    @model_validator(mode="after")
    def _has_ascending_x(self) -> Self:
        if self.x[1] - self.x[0] < MIN_SPREAD:
            raise ValueError("the first x value of a calibration must be less than the second")
        return self

    def __call__(self, raw: float) -> float:
        return float(self.apply(np.array(raw)))

    def apply(self, raw: FloatArray) -> FloatArray:
        slope = (self.y[1] - self.y[0]) / (self.x[1] - self.x[0])
        line = self.y[0] + slope * (raw - self.x[0])
        if self.kind != "logistic":
            return line
        return 1 / (1 + np.exp(-np.clip(line, -500, 500)))  # clipped, since exp(710) overflows


class Conformal(FrozenModel):
    """Errors of the training texts (label minus cross-validated score), ascending, for the intervals of scores."""

    errors: tuple[BoundedFloat, ...]
    confidence: float = Field(default=0.9, gt=0, lt=1)

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if list(self.errors) != sorted(self.errors):
            raise ValueError("the errors of intervals must be in ascending order")
        return self


class RivalLimits(FrozenModel):
    """Limits of a call that rates rivals (several outputs for one input); `texts` is the maximum number of rivals."""

    texts: int = Field(default=10, ge=2, le=100)


class CallForm(FrozenModel):
    """How many criteria are in a call, and whether it asks for reasons, if a judge cannot rate all criteria at once."""

    criteria: int = Field(ge=1)
    reasons: bool = True

    def __str__(self) -> str:
        number = "one criterion" if self.criteria == 1 else f"{self.criteria} criteria"
        reasons = "" if self.reasons else ", scores without reasons"
        return f"{number} a call{reasons}"


class Aggregation(FrozenModel):
    """How the ratings by many criteria become one score.

    Attributes:
        ask: whether each method asks in calls of its own, or one call asks about the criteria of all methods.
        terms: a term for each criterion of the rubric.
        conformal: what intervals are made from; `None` if there were too few texts for intervals.
        onto: the scale that scores are mapped to linearly; `None` if they stay on the scale of the ratings.
        rivals: limits of a call about several texts of a group; `None` if each call is about one text.
        form: the form of calls that gave usable replies, if one call about all criteria did not.
        threshold: the lowest score that passes, if the labels have two levels.
        threshold_by_hand: whether a person set the threshold.
    """

    ask: CallGrouping = "by method"
    terms: tuple[Term, ...] = Field(min_length=1)
    calibration: Calibration
    conformal: Conformal | None = None
    onto: Scale | None = None
    rivals: RivalLimits | None = Field(None, exclude_if=lambda rivals: rivals is None)
    form: CallForm | None = Field(None, exclude_if=lambda form: form is None)
    threshold: float | None = Field(None, ge=0, le=1, exclude_if=lambda threshold: threshold is None)
    threshold_by_hand: bool = Field(False, exclude_if=lambda by_hand: not by_hand)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.rivals and self.ask != "in one call":
            raise ValueError(f"`rivals` needs the `ask` 'in one call', got {self.ask!r}")
        total = math.fsum(abs(term.weight) for term in self.terms)
        if abs(total - 1) > SUM_TOLERANCE:
            raise ValueError(f"expected absolute weights that sum to 1, got the sum {total:g}")
        return self


def weight_bounds(aggregation: Aggregation | None) -> dict[str, Bounds]:
    terms = aggregation.terms if aggregation else ()
    return {term.criterion: term.bounds for term in terms if term.bounds}


def hand_set_threshold(aggregation: Aggregation | None) -> float | None:
    return aggregation.threshold if aggregation and aggregation.threshold_by_hand else None


def bounds_if_weight_within(bounds: Bounds | None, weight: float) -> Bounds | None:
    """Return `bounds`, or `None` if the weight is outside of them by more than rounding."""
    is_within = bounds and bounds[0] - BOUNDS_TOLERANCE <= weight <= bounds[1] + BOUNDS_TOLERANCE
    return bounds if is_within else None


@dataclass(frozen=True, slots=True)
class AggregatedScore:
    """One text's score, its interval, and the points by which each criterion moves it from an average text's score.

    All are `None` or empty if too many ratings are missing. The interval is also `None` if the rubric has no intervals.
    """

    score: float | None
    low: float | None
    high: float | None
    contributions: Mapping[str, float]


def combine(aggregation: Aggregation, ratings: Mapping[str, float | None], scale: Scale) -> AggregatedScore:
    """Return one text's score with its interval, and each criterion's contribution to the score.

    There is no score if no criterion applies, or if ratings are missing for `TOO_MUCH_MISSING_WEIGHT` or more of the
    weight of the criteria that apply. A criterion that does not apply counts as average. Contributions are proportional
    to weight times distance from the center, and sum to the difference from an average text's score.

    Args:
        ratings: by criterion; `None` if the rating is missing, no entry if the criterion does not apply.
        scale: the scale of the ratings.
    """
    weighted = _weighted_ratings(aggregation, ratings)
    if weighted is None:
        return AggregatedScore(None, None, None, {})
    raw = math.fsum(weighted.values())
    value = _clip(aggregation.calibration(raw), scale)
    target = aggregation.onto or scale
    # `rise` is the score of this text minus the score of an average text, whose raw value is 0.
    nonzero_raw = raw if abs(raw) > MIN_DIVISOR else MIN_DIVISOR
    rise = _clip(aggregation.calibration(nonzero_raw), scale) - _clip(aggregation.calibration(0.0), scale)
    points_per_raw = rise / nonzero_raw * target.width / scale.width
    contributions = {name: round_defined(rating * points_per_raw) for name, rating in weighted.items()}
    low = high = None
    if aggregation.conformal:
        low_error, high_error = error_bounds(aggregation.conformal.errors, aggregation.conformal.confidence)
        low = round_defined(scale.moved_to(target, _clip(value + low_error, scale)))
        high = round_defined(scale.moved_to(target, _clip(value + high_error, scale)))
    return AggregatedScore(round_defined(scale.moved_to(target, value)), low, high, contributions)


def average_score(aggregation: Aggregation, scale: Scale) -> float:
    """Return the score of a text that every criterion rates as average; `scale` is the scale of the ratings."""
    value = _clip(aggregation.calibration(0.0), scale)
    return round_defined(scale.moved_to(aggregation.onto or scale, value))


def raw_value(aggregation: Aggregation, ratings: Mapping[str, float | None]) -> float | None:
    """Return the weighted sum of a text's standardized ratings, `None` where `combine` gives no score."""
    weighted = _weighted_ratings(aggregation, ratings)
    return None if weighted is None else math.fsum(weighted.values())


def _weighted_ratings(aggregation: Aggregation, ratings: Mapping[str, float | None]) -> dict[str, float] | None:
    """Return each criterion's standardized rating times its weight, 0 if missing; `None` if too many are missing."""
    weighted = {term.criterion: 0.0 for term in aggregation.terms}
    applicable = [term for term in aggregation.terms if term.criterion in ratings]
    for term in applicable:
        rating = ratings[term.criterion]
        if rating is not None:
            weighted[term.criterion] = term.weight * ((rating - term.center) / term.spread)
    total = math.fsum(abs(term.weight) for term in applicable)
    missing = math.fsum(abs(term.weight) for term in applicable if ratings[term.criterion] is None)
    # Rounding may put missing weights of exactly `TOO_MUCH_MISSING_WEIGHT` slightly below it, hence the tolerance.
    return weighted if missing < TOO_MUCH_MISSING_WEIGHT * total - 1e-9 else None


def _clip(value: float, scale: Scale) -> float:
    return min(max(value, scale.low), scale.high)
