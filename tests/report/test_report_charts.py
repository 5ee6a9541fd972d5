from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings, strategies as st
from report_samples import interval, shapes

from rubriclab.data.scale import Scale
from rubriclab.report import charts
from rubriclab.report.charts import Axis
from rubriclab.training_record import RecordedText

UNIT = charts.correlation_axis([])
FIVE = Scale(low=1, high=5, whole=True)


def test_correlations_are_drawn_from_0_to_1_or_from_further_left() -> None:
    assert UNIT.ticks == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    left = charts.correlation_axis([interval(0.4, -0.31, 0.7), interval(None)])
    assert left.low == pytest.approx(-0.4)
    assert left.ticks[:3] == (-0.4, -0.2, 0.0)


@settings(deadline=None, max_examples=100)
@given(st.floats(-1, 1), st.floats(-1, 1))
def test_every_correlation_lies_on_its_axis(value: float, low: float) -> None:
    axis = charts.correlation_axis([interval(value, min(value, low), 1.0)])
    assert 0 <= axis.share(min(value, low)) <= axis.share(value) <= 1 + 1e-9


def test_a_scale_is_drawn_whole_even_where_scores_lie_outside() -> None:
    assert charts.score_axis(FIVE, [2.0]).ticks == (1, 2, 3, 4, 5)
    assert charts.score_axis(FIVE, [0.2, 6.5]).ticks == (0, 1, 2, 3, 4, 5, 6, 7)
    assert charts.score_axis(Scale(low=0, high=1, whole=False), []).ticks == (0, 0.25, 0.5, 0.75, 1)
    assert len(charts.score_axis(Scale(low=0, high=100, whole=True), []).ticks) == 11


def test_a_dot_stands_at_its_value_inside_its_interval() -> None:
    drawing = charts.whisker(UNIT, interval(0.5, 0.25, 0.75), baseline=False)
    assert [dot["cx"] for dot in shapes(drawing, "circle", "dot")] == ["50.00%"]
    assert [(line["x1"], line["x2"]) for line in shapes(drawing, "line", "whisker")] == [("25.00%", "75.00%")]


def test_a_baseline_has_another_shape_than_a_rubric() -> None:
    drawing = charts.whisker(UNIT, interval(0.5, 0.25, 0.75), baseline=True)
    assert shapes(drawing, "circle", "dot") == []
    assert len(shapes(drawing, "path", "hollow")) == 1
    assert '<svg x="50.00%"' in drawing


def test_an_undefined_value_is_an_empty_row() -> None:
    for drawing in (
        charts.whisker(UNIT, interval(None), baseline=False),
        charts.whisker(UNIT, interval(None), baseline=True),
        charts.bar(UNIT, interval(None), total=False),
    ):
        assert {element.get("class") for element in ET.fromstring(drawing)} == {"grid", "zero"}


def test_a_value_without_interval_has_no_whisker() -> None:
    assert shapes(charts.bar(UNIT, interval(0.5), total=True), "line", "whisker") == []


@pytest.mark.parametrize(("value", "x", "width"), [(0.5, "50.00%", "25.00%"), (-0.5, "25.00%", "25.00%")])
def test_a_bar_runs_between_0_and_its_value(value: float, x: str, width: str) -> None:
    axis = Axis(-1.0, 1.0, (-1.0, 0.0, 1.0))
    drawing = charts.bar(axis, interval(value), total=False)
    assert [(bar["x"], bar["width"]) for bar in shapes(drawing, "rect", "bar")] == [(x, width)]


@pytest.mark.parametrize(
    ("axis", "shown"),
    [
        (charts.weight_axis([interval(84.0)]), ["0", "20", "40", "60", "80"]),
        (charts.correlation_axis([interval(-0.1)]), ["0", "0.4", "0.8"]),
        (charts.correlation_axis([interval(0.1)]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
    ],
)
def test_an_axis_of_many_ticks_has_room_between_its_numbers(axis: charts.Axis, shown: list[str]) -> None:
    assert re.findall(">([^<]+)</text>", charts.tick_row(axis)) == shown


def test_ticks_have_true_minus_signs() -> None:
    assert ">−0.4</text>" in charts.tick_row(charts.correlation_axis([interval(-0.3)]))


def test_places_are_told_in_words_too() -> None:
    drawing = charts.places(12.4, 95.0)
    assert "above 12 percent of the other texts by people, above 95 percent by the rubric" in drawing
    assert [dot["cx"] for dot in shapes(drawing, "circle", "hollow")] == ["12.40%"]
    assert [dot["cx"] for dot in shapes(drawing, "circle", "dot")] == ["95.00%"]


def test_weights_have_an_axis_in_percent_that_holds_them_and_0() -> None:
    axis = charts.weight_axis([interval(19.0, 14.0, 25.0), interval(-5.0, -10.0, 1.0)])
    assert (axis.low, axis.high, axis.ticks) == (-10, 30, (-10, 0, 10, 20, 30))
    assert charts.weight_axis([]).ticks == (0, 10)
    assert len(charts.weight_axis([interval(100.0, -100.0, 100.0)]).ticks) <= charts.MOST_TICKS + 1


def test_a_text_is_drawn_with_its_label_its_raters_and_the_rubrics_interval() -> None:
    text = RecordedText(
        id="a", group="a", output="A.", label=2.0, raters={"x": 1.0, "y": 3.0}, predicted=3.0, low=2.0, high=5.0
    )
    drawing = charts.rated(charts.score_axis(FIVE, []), text)
    assert [dot["cx"] for dot in shapes(drawing, "circle", "hollow")] == ["25.00%"]
    assert [dot["cx"] for dot in shapes(drawing, "circle", "dot")] == ["50.00%"]
    assert [(line["x1"], line["x2"]) for line in shapes(drawing, "line", "whisker")] == [("25.00%", "100.00%")]
    assert len(shapes(drawing, "line", "rater")) == 2
    alone = charts.rated(UNIT, RecordedText(id="a", group="a", output="A.", label=0.5))
    assert [dot.get("class") for dot in ET.fromstring(alone).iter("circle")] == ["hollow"]
