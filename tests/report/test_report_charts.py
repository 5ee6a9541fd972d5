from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings, strategies as st
from syrupy.assertion import SnapshotAssertion

from rubriclab.models.text import Scale
from rubriclab.report import charts
from rubriclab.report.charts import Axis
from rubriclab.stats.intervals import Interval

UNIT = charts.agreement_axis([])
FIVE = Scale(low=1, high=5, whole=True)


def test_correlations_are_drawn_from_0_to_1_or_from_further_left() -> None:
    assert UNIT.ticks == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    left = charts.agreement_axis([Interval(0.4, -0.31, 0.7), Interval(None)])
    assert left.ticks == (-0.5, 0.0, 0.5, 1.0)


BOTH_WAYS = Axis(-1.0, 1.0, (-1.0, 0.0, 1.0))
DRAWINGS = {
    "a dot inside its interval": charts.whisker(UNIT, Interval(0.5, 0.25, 0.75), baseline=False),
    "a baseline inside its interval": charts.whisker(UNIT, Interval(0.5, 0.25, 0.75), baseline=True),
    "an undefined value": charts.whisker(UNIT, Interval(None), baseline=False),
    "an undefined baseline": charts.whisker(UNIT, Interval(None), baseline=True),
    "an undefined bar": charts.bar(UNIT, Interval(None)),
    "a bar without interval": charts.bar(UNIT, Interval(0.5), "total"),
    "a bar to the right of 0": charts.bar(BOTH_WAYS, Interval(0.5)),
    "a bar to the left of 0": charts.bar(BOTH_WAYS, Interval(-0.5)),
    "label, raters and score": charts.rated(charts.axis_of((), 1, 5), 2.0, [1.0, 3.0], Interval(3.0, 2.0, 5.0)),
    "a label alone": charts.rated(UNIT, 0.5, [], Interval(None)),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings_are_as_pinned(name: str, snapshot: SnapshotAssertion) -> None:
    assert str(DRAWINGS[name]).replace("><", ">\n<") == snapshot


@pytest.mark.parametrize(
    ("marks", "ticks"),
    [
        ((1, 5), (1, 2, 3, 4, 5)),
        ((1, 5, 0.2, 6.5), (0, 2, 4, 6, 8)),
        ((0, 1), (0, 0.2, 0.4, 0.6, 0.8, 1)),
        ((0, 100), (0, 20, 40, 60, 80, 100)),
        ((3, 3), (2.4, 2.6, 2.8, 3, 3.2, 3.4, 3.6)),
    ],
)
def test_an_axis_runs_from_tick_to_tick_over_everything(marks: tuple[float, ...], ticks: tuple[float, ...]) -> None:
    assert charts.axis_of((), *marks).ticks == pytest.approx(ticks)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_an_axis_has_few_ticks_and_holds_every_mark(marks: list[float]) -> None:
    axis = charts.axis_of((), *marks)
    assert 2 <= len(axis.ticks) <= charts.MOST_STEPS + 2
    assert all(-1e-6 <= axis.share(mark) <= 1 + 1e-6 for mark in marks)


def test_human_scores_run_across_and_the_rubrics_up() -> None:
    drawing = ET.fromstring(charts.scatter([(1, 1), (5, 1), (5, 5)], FIVE, "score"))
    dots = [shape.attrib for shape in drawing.iter("circle") if shape.get("class") == "dot"]
    first, up, across = sorted((int(dot["cx"]), -int(dot["cy"])) for dot in dots)
    assert first == (charts.LEFT, -(charts.HEIGHT - charts.BOTTOM))
    assert sorted((up, across)) == [
        (charts.WIDTH - charts.RIGHT, -(charts.HEIGHT - charts.BOTTOM)),
        (charts.WIDTH - charts.RIGHT, -charts.TOP),
    ]
