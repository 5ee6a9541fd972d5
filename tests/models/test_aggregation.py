"""From the scores by single criteria to one score: worked by hand, and what holds whatever the numbers are."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from rubriclab.models.aggregation import (
    TOO_MUCH_MISSING_WEIGHT,
    AggregatedScore,
    Aggregation,
    Calibration,
    Conformal,
    Term,
    combine,
)
from rubriclab.models.text import Scale
from rubriclab.stats.intervals import DIGITS

ONE_TO_FIVE = Scale(low=1, high=5, whole=True)
STRAIGHT = Calibration(kind="linear", x=(0, 1), y=(3, 4))
# Nine errors of half a point: every other error stays below that with probability 0.9.
HALF_A_POINT = Conformal(errors=(-0.5,) * 10 + (0.5,) * 10)


def term(criterion: str, weight: float, center: float = 3, spread: float = 1) -> Term:
    """Return a term whose interval nobody looks at."""
    return Term(criterion=criterion, weight=weight, center=center, spread=spread, low=weight, high=weight, selected=1)


def aggregation(*terms: Term, **fields: Any) -> Aggregation:
    return Aggregation(**({"terms": terms, "calibration": STRAIGHT} | fields))


PAIR = aggregation(term("a", 0.75), term("b", 0.25, center=0.5, spread=0.25), conformal=HALF_A_POINT)


def test_a_score_is_worked_out_by_hand():
    # a is one spread above its center, b two spreads below: 0.75 - 0.5 = 0.25 above the average text, which has 3.
    assert combine(PAIR, {"a": 4, "b": 0}, ONE_TO_FIVE) == AggregatedScore(3.25, 2.75, 3.75, {"a": 0.75, "b": -0.5})
    # Contributions that cancel out are still shown.
    found = combine(PAIR, {"a": 4, "b": -0.25}, ONE_TO_FIVE)
    assert (found.score, found.contributions) == (3.0, {"a": 0.75, "b": -0.75})


def test_there_is_no_score_where_half_of_the_weight_is_missing():
    nothing = AggregatedScore(None, None, None, {})
    assert combine(PAIR, {"a": None, "b": 1}, ONE_TO_FIVE) == nothing
    halves = aggregation(term("a", 0.5), term("b", 0.5))
    assert combine(halves, {"a": 4, "b": None}, ONE_TO_FIVE) == nothing


def test_what_cannot_be_asked_of_a_text_is_no_failure():
    # Three quarters of the weight cannot be asked for, but all that can be is there.
    found = combine(PAIR, {"b": 1}, ONE_TO_FIVE)
    assert (found.score, found.contributions) == (3.5, {"a": 0.0, "b": 0.5})
    assert combine(PAIR, {}, ONE_TO_FIVE).score is None
    thirds = aggregation(term("a", 0.4), term("b", 0.3), term("c", 0.3))
    assert combine(thirds, {"b": 3, "c": None}, ONE_TO_FIVE).score is None
    assert combine(thirds, {"a": 3, "b": 3, "c": None}, ONE_TO_FIVE).score == 3


def test_the_interval_reaches_as_far_below_and_above_as_the_errors_do():
    skewed = PAIR.model_copy(update={"conformal": Conformal(errors=(-1.0,) * 10 + (0.25,) * 10)})
    found = combine(skewed, {"a": 3, "b": 0.5}, ONE_TO_FIVE)
    assert (found.low, found.score, found.high) == (2.0, 3.0, 3.25)
    # Too few errors for the confidence leave the whole scale.
    few = PAIR.model_copy(update={"conformal": Conformal(errors=(0.1,) * 18)})
    found = combine(few, {"a": 3, "b": 0.5}, ONE_TO_FIVE)
    assert (found.score, found.low, found.high) == (3.0, 1.0, 5.0)


numbers = st.floats(-50, 50, allow_nan=False).map(lambda number: round(number, 3))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Aggregation, dict[str, float | None], Scale]:
    low = draw(st.integers(-3, 3))
    scale = Scale(low=low, high=low + draw(st.integers(1, 9)), whole=False)
    weights = draw(st.lists(st.floats(-1, 1).filter(lambda w: abs(w) > 0.01), min_size=1, max_size=6))
    total = sum(abs(weight) for weight in weights)
    terms = [
        term(f"c{i}", weight / total, draw(numbers), draw(st.floats(0.01, 20))) for i, weight in enumerate(weights)
    ]
    ys = sorted(draw(st.lists(st.floats(scale.low, scale.high), min_size=2, max_size=2)))
    calibration = Calibration(kind="linear", x=(0, 1), y=(ys[0], ys[1]))
    errors = tuple(sorted(draw(st.lists(st.floats(-4, 4), min_size=1, max_size=30))))
    conformal = draw(st.none() | st.just(Conformal(errors=errors)))
    scores = draw(st.fixed_dictionaries({}, optional={each.criterion: st.none() | numbers for each in terms}))
    return aggregation(*terms, calibration=calibration, conformal=conformal), scores, scale


@given(cases())
def test_scores_are_there_if_enough_of_what_was_asked_is_and_lie_on_the_scale_within_their_interval(case):
    combined, scores, scale = case
    found = combine(combined, scores, scale)
    asked = [each for each in combined.terms if each.criterion in scores]
    whole = sum(abs(each.weight) for each in asked)
    lost = sum(abs(each.weight) for each in asked if scores[each.criterion] is None)
    if abs(lost - TOO_MUCH_MISSING_WEIGHT * whole) > 1e-6:
        assert (found.score is not None) == (lost < TOO_MUCH_MISSING_WEIGHT * whole)
    if found.score is None:
        assert found == AggregatedScore(None, None, None, {})
        return
    assert scale.low <= found.score <= scale.high
    assert round(found.score, DIGITS) == found.score
    assert (found.low is None) == (found.high is None) == (combined.conformal is None)
    if found.low is not None and found.high is not None:
        assert scale.low <= found.low <= found.score <= found.high <= scale.high


@given(cases())
def test_contributions_sum_to_the_distance_from_an_average_text(case):
    combined, scores, scale = case
    found = combine(combined, scores, scale)
    average = min(max(combined.calibration(0.0), scale.low), scale.high)
    if found.score is not None:
        assert math.fsum(found.contributions.values()) == pytest.approx(found.score - average, abs=2e-5)
        assert list(found.contributions) == [each.criterion for each in combined.terms]
        assert all(found.contributions[name] == 0 for name in found.contributions if scores.get(name) is None)


@given(cases(), st.randoms())
def test_the_order_of_criteria_changes_nothing(case, random):
    combined, scores, scale = case
    terms = list(combined.terms)
    random.shuffle(terms)
    again = combine(combined.model_copy(update={"terms": tuple(terms)}), dict(reversed(scores.items())), scale)
    found = combine(combined, scores, scale)
    assert (again.score, dict(again.contributions)) == (found.score, dict(found.contributions))
    assert (again.low, again.high) == pytest.approx((found.low, found.high), abs=2e-6)
