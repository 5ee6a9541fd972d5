"""Scales: which scores are legal, which are described in words, and how they are written and read."""

import math

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import ValidationError

from rubriclab.errors import SettingsError
from rubriclab.models.text import (
    Scale,
    parse_scale,
    scale_of,
    show,
)

WHOLE_ENDS = st.integers(-50, 50)
WHOLE = st.builds(lambda low, width: Scale(low=low, high=low + width, whole=True), WHOLE_ENDS, st.integers(1, 100))
ENDS = st.floats(-100, 100).map(lambda end: round(end, 2))
ANY = st.builds(
    lambda low, width: Scale(low=low, high=low + width, whole=False), ENDS, st.sampled_from([0.1, 0.7, 1, 3.3, 5])
)
SCALES = WHOLE | ANY
LABELS = st.floats(-1000, 1000).map(lambda label: round(label, 3))


@pytest.mark.parametrize(
    ("scale", "anchors"),
    [
        (Scale(low=1, high=5, whole=True), (1, 2, 3, 4, 5)),
        (Scale(low=1, high=5, whole=False), (1, 2, 3, 4, 5)),
        (Scale(low=1, high=3, whole=True), (1, 2, 3)),
        (Scale(low=0, high=1, whole=True), (0, 1)),
        (Scale(low=0, high=1, whole=False), (0, 0.25, 0.5, 0.75, 1)),
        (Scale(low=1, high=7, whole=True), (1, 2, 3, 4, 5, 6, 7)),
        (Scale(low=1, high=8, whole=True), (1, 2.75, 4.5, 6.25, 8)),
        (Scale(low=0, high=100, whole=True), (0, 25, 50, 75, 100)),
        (Scale(low=1, high=10, whole=False), (1, 3.25, 5.5, 7.75, 10)),
        (Scale(low=0.1, high=0.9, whole=False), (0.1, 0.3, 0.5, 0.7, 0.9)),
        (Scale(low=-2, high=2, whole=True), (-2, -1, 0, 1, 2)),
    ],
    ids=lambda value: value.describe() if isinstance(value, Scale) else "",
)
def test_anchors(scale: Scale, anchors: tuple[float, ...]):
    assert scale.anchors() == anchors


@settings(deadline=None, max_examples=60)
@given(scale=SCALES)
def test_anchors_rise_from_end_to_end_and_are_few(scale: Scale):
    anchors = scale.anchors()
    assert 2 <= len(anchors) <= 7
    assert list(anchors) == sorted(set(anchors))
    assert anchors[0] == pytest.approx(scale.low, abs=6e-4)
    assert anchors[-1] == pytest.approx(scale.high, abs=6e-4)


@settings(deadline=None, max_examples=60)
@given(scale=SCALES)
def test_a_judge_that_repeats_an_anchor_as_it_is_shown_names_that_anchor(scale: Scale):
    assert tuple(float(show(anchor)) for anchor in scale.anchors()) == scale.anchors()


@settings(deadline=None, max_examples=60)
@given(scale=SCALES, score=st.floats(-200, 200))
def test_a_judge_may_answer_what_lies_on_the_scale_and_whole_numbers_only_where_it_is_whole(scale: Scale, score: float):
    assert scale.contains(score) == (scale.low <= score <= scale.high)
    assert scale.holds(score) == (scale.contains(score) and (not scale.whole or score == int(score)))


@pytest.mark.parametrize(("low", "high"), [(5, 1), (3, 3), (math.nan, 5), (1, math.inf)])
def test_a_scale_needs_two_finite_numbers_the_lower_first(low: float, high: float):
    with pytest.raises(ValidationError, match="the lower first"):
        Scale(low=low, high=high, whole=False)


@pytest.mark.parametrize(("low", "high"), [(0.2, 0.8), (0.5, 4.5), (1, 4.5)])
def test_whole_scores_need_whole_ends(low: float, high: float):
    # From 0.2 to 0.8 there is no whole number that a judge could answer.
    with pytest.raises(ValidationError, match="whole ends"):
        Scale(low=low, high=high, whole=True)


@pytest.mark.parametrize(
    ("score", "text"),
    [(4.0, "4"), (3.5, "3.5"), (0.25, "0.25"), (10.0, "10"), (100, "100"), (2 / 3, "0.667"), (0, "0"), (-1.5, "-1.5")],
)
def test_scores_are_shown_as_a_person_writes_them(score: float, text: str):
    assert show(score) == text


# Written by the user, or taken from the labels


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("1:5", [1, 2, 5], Scale(low=1, high=5, whole=True)),
        ("1:5", [1, 2.5], Scale(low=1, high=5, whole=False)),
        ("1:5", [], Scale(low=1, high=5, whole=False)),
        ("1:5:whole", [1.5], Scale(low=1, high=5, whole=True)),
        ("0:1:any", [0, 1], Scale(low=0, high=1, whole=False)),
        ("-2.5:2.5", [0, 1], Scale(low=-2.5, high=2.5, whole=False)),
        ("0:100", [50], Scale(low=0, high=100, whole=True)),
    ],
)
def test_scales_are_read_as_users_write_them(text: str, labels: list[float], expected: Scale):
    assert parse_scale(text, labels) == expected


@pytest.mark.parametrize(
    "text", ["", "5", "1-5", "1:", ":5", "5:1", "3:3", "1:5:most", "1:5:whole:any", "a:b", "nan:5", "0.2:0.8:whole"]
)
def test_anything_else_is_refused_and_the_form_is_told(text: str):
    with pytest.raises(SettingsError, match="1:5:whole or 0:1:any") as caught:
        parse_scale(text, [1, 2])
    assert repr(text) in caught.value.message


@settings(deadline=None, max_examples=60)
@given(labels=st.lists(LABELS, min_size=1), annotations=st.lists(LABELS))
def test_the_scale_of_labels_holds_them_all_and_is_no_wider_than_whole_ends_need(labels, annotations):
    scale = scale_of(labels, annotations)
    values = [*labels, *annotations]
    assert all(scale.contains(value) for value in values)
    assert (scale.low, scale.high) == (int(scale.low), int(scale.high))
    assert scale.low >= min(values) - 1
    assert scale.high <= max(values) + 1 or scale.width == 1
    # A probability lies between the two levels of verdicts.
    assert bool(scale.names) == (set(annotations or labels) <= {0, 1} and all(0 <= label <= 1 for label in labels))
    assert scale.whole == (all(label == int(label) for label in labels) and not scale.names)
