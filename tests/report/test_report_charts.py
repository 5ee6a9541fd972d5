from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import interval

from rubriclab.data.scale import Scale
from rubriclab.report import charts
from rubriclab.report.charts import Axis
from rubriclab.rubric import RewardPoint

UNIT = charts.correlation_axis([])
FIVE = Scale(low=1, high=5, whole=True)


def shapes(drawing: str, tag: str, style: str) -> list[dict[str, str]]:
    """Return the attributes of a drawing's shapes of one class; the drawing must be well-formed."""
    found = ET.fromstring(drawing).iter(tag)
    return [dict(shape.attrib) for shape in found if shape.get("class") == style]


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
    drawing = charts.whisker(UNIT, interval(0.5, 0.25, 0.75), floor=False)
    assert [dot["cx"] for dot in shapes(drawing, "circle", "dot")] == ["50.00%"]
    assert [(line["x1"], line["x2"]) for line in shapes(drawing, "line", "whisker")] == [("25.00%", "75.00%")]


def test_a_floor_has_another_shape_than_a_rubric() -> None:
    drawing = charts.whisker(UNIT, interval(0.5, 0.25, 0.75), floor=True)
    assert shapes(drawing, "circle", "dot") == []
    assert len(shapes(drawing, "path", "hollow")) == 1
    assert '<svg x="50.00%"' in drawing


def test_an_undefined_value_is_an_empty_row() -> None:
    for drawing in (
        charts.whisker(UNIT, interval(None), floor=False),
        charts.whisker(UNIT, interval(None), floor=True),
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


def test_ticks_have_true_minus_signs() -> None:
    assert ">−0.2</text>" in charts.tick_row(charts.correlation_axis([interval(-0.1)]))


def test_texts_of_equal_scores_fall_on_one_stronger_dot() -> None:
    drawing = charts.scatter([(1, 2), (1, 2), (1, 2), (4, 5)], FIVE, "news@1")
    dots = shapes(drawing, "circle", "dot")
    assert len(dots) == 2
    strong, weak = (float(dot["opacity"]) for dot in dots)
    assert weak == pytest.approx(0.3)
    assert strong == pytest.approx(1 - 0.7**3, abs=0.01)


def test_human_scores_run_across_and_the_rubrics_up() -> None:
    dots = shapes(charts.scatter([(1, 1), (5, 1), (5, 5)], FIVE, "news@1"), "circle", "dot")
    first, up, across = sorted((int(dot["cx"]), -int(dot["cy"])) for dot in dots)
    assert first == (charts.LEFT, -(charts.HEIGHT - charts.BOTTOM))
    assert sorted((up, across)) == [
        (charts.WIDTH - charts.RIGHT, -(charts.HEIGHT - charts.BOTTOM)),
        (charts.WIDTH - charts.RIGHT, -charts.TOP),
    ]


def test_many_texts_do_not_make_a_large_drawing() -> None:
    pairs = [(1 + 4 * (n % 997) / 997, 1 + 4 * (n % 13) / 13) for n in range(20_000)]
    assert len(charts.scatter(pairs, FIVE, "news@1")) < 500_000


def test_names_in_a_drawing_are_escaped() -> None:
    drawing = charts.scatter([(1, 1)], FIVE, '"><script>alert(1)</script>\udc80')
    assert "<script" not in drawing
    assert ET.fromstring(drawing).get("aria-label") == (
        'Scatter of 1 texts: label across, score by "><script>alert(1)</script>\\udc80 up'
    )


def test_a_reward_path_ends_at_its_last_point() -> None:
    points = [RewardPoint(step=s, visits=s, utility=0.9, bonus=1 / s) for s in range(1, 5)]
    drawing = charts.reward_path(points)
    (reward,) = shapes(drawing, "polyline", "reward")
    (dot,) = shapes(drawing, "circle", "dot")
    assert len(reward["points"].split()) == 4
    assert reward["points"].split()[-1] == f"{dot['cx']},{dot['cy']}"
    assert "reward 1.90 to 1.15 over 4 visits" in drawing


def test_a_path_of_one_flat_point_is_drawn() -> None:
    drawing = charts.reward_path([RewardPoint(step=1, visits=1, utility=1.0, bonus=0.0)])
    assert not re.search("nan|inf", drawing)
    assert len(shapes(drawing, "circle", "dot")) == 1


def test_places_are_told_in_words_too() -> None:
    drawing = charts.places(12.4, 95.0)
    assert "above 12 percent of the other texts by people, above 95 percent by the rubric" in drawing
    assert [dot["cx"] for dot in shapes(drawing, "circle", "hollow")] == ["12.40%"]
    assert [dot["cx"] for dot in shapes(drawing, "circle", "dot")] == ["95.00%"]
