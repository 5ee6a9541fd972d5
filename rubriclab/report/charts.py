"""Strips as inline SVG, one to a row of the page: colours and fonts come from the page's style sheet.

Positions are percentages, so that dots and letters keep their size at any width.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from rubriclab.data.scale import Scale, show
from rubriclab.stats.interval import Interval
from rubriclab.training_record import RecordedText

STEP = 0.2
MOST_TICKS, MOST_VALUE_TICKS = 10, 6
# More numbers than this touch each other on the narrowest strip.
MOST_LABELS = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values with the ones that are marked, lowest first."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Return how far along the axis `value` lies, 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    def percent(self, value: float) -> str:
        """Return how far along the axis `value` lies, as SVG writes it."""
        return f"{100 * self.share(value):.2f}%"


def correlation_axis(statistics: Iterable[Interval]) -> Axis:
    """Return an axis from 0 to 1, extended to the left to include the lowest value or interval."""
    ends = [end for statistic in statistics for end in (statistic.value, statistic.low) if end is not None]
    steps = math.floor(min([0.0, *ends]) / STEP)
    return Axis(steps * STEP, 1.0, tuple(round(step * STEP, 1) for step in range(steps, 6)))


def value_axis(statistics: Iterable[Interval]) -> Axis:
    """Return an axis over all values and intervals, from tick to tick; of values of any size."""
    ends = [end for each in statistics for end in (each.value, each.low, each.high) if end is not None]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    if high - low < STEP / 1e3:
        low, high = low - STEP, high + STEP
    power = 10.0 ** math.floor(math.log10((high - low) / MOST_VALUE_TICKS))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if (high - low) / (power * factor) <= MOST_VALUE_TICKS)
    first, last = math.floor(low / step), math.ceil(high / step)
    ticks = tuple(round(step * place, 9) for place in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


def score_axis(scale: Scale, scores: Iterable[float]) -> Axis:
    """Return an axis over the scale, extended to scores outside of it."""
    scores = list(scores)
    low, high = math.floor(min([scale.low, *scores])), math.ceil(max([scale.high, *scores]))
    step = max(1, math.ceil((high - low) / MOST_TICKS)) if high - low > 1 else 0.25
    count = math.floor((high - low) / step)
    return Axis(low, high, tuple(low + step * number for number in range(count + 1)))


def weight_axis(statistics: Iterable[Interval]) -> Axis:
    """Return an axis in percent that includes 0 and every weight with its interval."""
    ends = [
        end for statistic in statistics for end in (statistic.value, statistic.low, statistic.high) if end is not None
    ]
    low, high = (10 * end for end in (math.floor(min([0.0, *ends]) / 10), math.ceil(max([10.0, *ends]) / 10)))
    step = 10 * max(1, math.ceil((high - low) / 10 / MOST_TICKS))
    return Axis(low, high, tuple(range(math.ceil(low / step) * step, high + 1, step)))


def tick_row(axis: Axis) -> Markup:
    """Return the numbers of the axis, to be shown under strips; of many ticks, evenly spaced ones with 0 among them."""
    every = math.ceil(len(axis.ticks) / MOST_LABELS)
    first = axis.ticks.index(0) % every if 0 in axis.ticks else 0
    words = Markup("").join(
        Markup('<text x="{}" y="13" text-anchor="middle">{}</text>').format(axis.percent(tick), number(tick))
        for tick in axis.ticks[first::every]
    )
    return Markup('<svg class="strip ticks" aria-hidden="true">{}</svg>').format(words)


def whisker(axis: Axis, statistic: Interval, *, baseline: bool) -> Markup:
    """Return a dot (a hollow diamond for a baseline) with its interval; the grid alone if the value is undefined."""
    return _strip(axis, _interval(axis, statistic) + _dot(axis, statistic, baseline=baseline))


def bar(axis: Axis, statistic: Interval, *, total: bool) -> Markup:
    """Return a bar from 0 with its interval; `total` marks the bar that stands for the whole rubric."""
    if statistic.value is None:
        return _strip(axis, Markup(""))
    start, end = sorted((0.0, statistic.value))
    shape = Markup(
        '<svg y="50%" overflow="visible"><rect class="{}" x="{}" y="-6" width="{}" height="12"/></svg>'
    ).format(
        "bar total" if total else "bar",
        axis.percent(start),
        f"{100 * (axis.share(end) - axis.share(start)):.2f}%",
    )
    return _strip(axis, shape + _interval(axis, statistic))


def step(axis: Axis, start: float, end: float) -> Markup:
    """Return one step of a waterfall, a bar from `start` to `end`; a dot if both are equal."""
    left, right = sorted((axis.share(start), axis.share(end)))
    shape = Markup('<circle class="dot" cx="{}" cy="50%" r="4"/>').format(axis.percent(end))
    if left != right:
        kind = "rise" if end > start else "fall"
        bar = '<svg y="50%" overflow="visible"><rect class="{}" x="{}" y="-6" width="{}" height="12"/></svg>'
        shape = Markup(bar).format(kind, f"{100 * left:.2f}%", f"{100 * (right - left):.2f}%")
    return _strip(axis, shape)


def places(human: float, rubric: float) -> Markup:
    """Return the percentile rank of a text by people (hollow) and by the rubric (filled), 0 to 100."""
    axis = Axis(0, 100, (0, 50, 100))
    return Markup(
        '<svg class="strip" role="img" aria-label="placed above {:.0f} percent of the other texts by people, '
        'above {:.0f} percent by the rubric">{}<line class="whisker" x1="{}" x2="{}" y1="50%" y2="50%"/>'
        '<circle class="hollow" cx="{}" cy="50%" r="5"/><circle class="dot" cx="{}" cy="50%" r="5"/></svg>'
    ).format(human, rubric, _grid(axis, zero=False), *2 * (axis.percent(human), axis.percent(rubric)))


def rated(axis: Axis, text: RecordedText) -> Markup:
    """Return a text's label (hollow), raters (strokes) and prediction (filled) with its interval."""
    strokes = Markup("").join(
        Markup(
            '<svg x="{}" y="50%" overflow="visible"><line class="rater" x1="0" x2="0" y1="-8" y2="8"/></svg>'
        ).format(axis.percent(mark))
        for mark in text.raters.values()
    )
    predicted = Interval(text.predicted, text.low, text.high)
    label = Markup('<circle class="hollow" cx="{}" cy="50%" r="5"/>').format(axis.percent(text.label))
    return _strip(axis, strokes + _interval(axis, predicted) + label + _dot(axis, predicted, baseline=False))


def _strip(axis: Axis, content: Markup) -> Markup:
    return Markup('<svg class="strip" aria-hidden="true">{}{}</svg>').format(_grid(axis), content)


def _grid(axis: Axis, *, zero: bool = True) -> Markup:
    return Markup("").join(
        Markup('<line class="{0}" x1="{1}" x2="{1}" y1="0" y2="100%"/>').format(
            "zero" if zero and tick == 0 else "grid", axis.percent(tick)
        )
        for tick in axis.ticks
    )


def _interval(axis: Axis, statistic: Interval) -> Markup:
    if statistic.low is None or statistic.high is None:
        return Markup("")
    return Markup('<line class="whisker" x1="{}" x2="{}" y1="50%" y2="50%"/>').format(
        axis.percent(statistic.low), axis.percent(statistic.high)
    )


def _dot(axis: Axis, statistic: Interval, *, baseline: bool) -> Markup:
    if statistic.value is None:
        return Markup("")
    place = axis.percent(statistic.value)
    if not baseline:
        return Markup('<circle class="dot" cx="{}" cy="50%" r="5"/>').format(place)
    # Paths know no percentages, so the diamond stands at the origin of a box that is placed.
    return Markup('<svg x="{}" y="50%" overflow="visible"><path class="hollow" d="M0-6 6 0 0 6-6 0Z"/></svg>').format(
        place
    )


def number(value: float) -> str:
    """Return a number of an axis."""
    return show(value).replace("-", "\N{MINUS SIGN}")
