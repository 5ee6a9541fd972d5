from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from rubriclab.models.text import Scale
from rubriclab.report import charts
from rubriclab.report.charts import Axis, axis_of, drawing
from rubriclab.stats.intervals import Interval

UNIT = charts.agreement_axis([])
FIVE = Scale(low=1, high=5, whole=True)
BOTH_WAYS = Axis(-1.0, 1.0, (-1.0, 0.0, 1.0))
DRAWINGS = {
    "a dot inside its interval": drawing("whisker", UNIT, Interval(0.5, 0.25, 0.75), baseline=False),
    "a baseline inside its interval": drawing("whisker", UNIT, Interval(0.5, 0.25, 0.75), baseline=True),
    "an undefined value": drawing("whisker", UNIT, Interval(None), baseline=False),
    "an undefined baseline": drawing("whisker", UNIT, Interval(None), baseline=True),
    "an undefined bar": drawing("bar", UNIT, Interval(None)),
    "a bar without interval": drawing("bar", UNIT, Interval(0.5), "total"),
    "a bar to the right of 0": drawing("bar", BOTH_WAYS, Interval(0.5)),
    "a bar to the left of 0": drawing("bar", BOTH_WAYS, Interval(-0.5)),
    "label, raters and score": drawing("text_strip", axis_of((), 1, 5), 2.0, [1.0, 3.0], Interval(3.0, 2.0, 5.0)),
    "a label alone": drawing("text_strip", UNIT, 0.5, [], Interval(None)),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings_are_as_pinned(name: str, snapshot: SnapshotAssertion) -> None:
    assert str(DRAWINGS[name]).replace("><", ">\n<") == snapshot


@pytest.mark.parametrize(
    ("low", "chance", "ticks"),
    [
        (0.83, 0.0, (0.8, 0.85, 0.9, 0.95, 1)),
        (-0.06, 0.0, (-0.25, 0, 0.5, 1)),
        (-0.67, 0.0, (-1, -0.5, 0, 0.5, 1)),
        (-1.0, 0.0, (-1, -0.5, 0, 0.5, 1)),
        (0.3, 0.5, (0.25, 0.5, 1)),
        (0.1, 0.5, (0, 0.5, 1)),
    ],
)
def test_an_axis_of_agreement_begins_at_a_tick_below_every_interval(
    low: float, chance: float, ticks: tuple[float, ...]
) -> None:
    axis = charts.agreement_axis([Interval(0.9, low, 1.0), Interval(None)], chance)
    assert (axis.low, axis.high, axis.start_of_bars) == (ticks[0], 1.0, chance)
    assert axis.ticks == pytest.approx(ticks)


def test_intervals_of_baselines_do_not_stretch_the_axis_but_end_in_an_arrow() -> None:
    judged, baseline = Interval(0.6, 0.4, 0.8), Interval(0.05, -0.6, 0.7)
    axis = charts.agreement_axis([judged], baselines=[baseline])
    assert axis.low == 0
    assert 'x1="0.00%" x2="70.00%"' in drawing("whisker", axis, baseline, baseline=True)
    assert 'class="whisker arrow" d="M0 0H-12' in drawing("whisker", axis, baseline, baseline=True)
    assert "arrow" not in drawing("whisker", axis, judged, baseline=False)


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
