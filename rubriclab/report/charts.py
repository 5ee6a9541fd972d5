"""Charts as inline SVG. Positions are percentages, so that dots and letters keep their size; CSS sets the colours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markupsafe import Markup

from rubriclab.models.characters import count, plain
from rubriclab.models.evaluation import ReliabilityBin
from rubriclab.models.text import Scale, format_score
from rubriclab.stats.intervals import Interval

# On the narrowest strip, the labels of more steps would touch.
MAX_STEPS = 5
MIN_RANGE = 2e-4
# The size of a plot and its margins.
WIDTH, HEIGHT = 420, 330
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 44
DOT_OPACITY = 0.55
ROW_HEIGHT = 31
BAR = '<svg y="50%" overflow="visible"><rect class="{}" x="{}" y="-6" width="{}" height="12"/></svg>'


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values with its marked values, lowest first; bars begin at `base`."""

    low: float
    high: float
    ticks: tuple[float, ...]
    base: float = 0.0

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def percent(self, value: float) -> str:
        return f"{100 * self.share(value):.2f}%"


def axis_of(statistics: Iterable[Interval], *marks: float) -> Axis:
    """Return an axis that begins and ends at a tick, over all values, their intervals and `marks`."""
    ends = [end for each in statistics for end in (each.value, each.low, each.high) if end is not None]
    low, high = min([*marks, *ends], default=0.0), max([*marks, *ends], default=1.0)
    if high - low < MIN_RANGE:
        low, high = low - 0.5, high + 0.5
    power = 10.0 ** math.floor(math.log10((high - low) / MAX_STEPS))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if (high - low) / (power * factor) <= MAX_STEPS)
    # Rounded first, as 1 / 0.2 may lie above 5.
    first, last = math.floor(round(low / step, 6)), math.ceil(round(high / step, 6))
    ticks = tuple(round(step * number, 9) for number in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


def agreement_axis(statistics: Iterable[Interval], chance: float = 0.0, baselines: Iterable[Interval] = ()) -> Axis:
    """Return an axis to 1 from a tick below all values and, but for baselines, intervals; bars begin at `chance`."""
    ends = [end for each in statistics for end in (each.value, each.low) if end is not None]
    ends += [each.value for each in baselines if each.value is not None]
    low = max(round(min(ends, default=chance), 6), -1.0)
    if low >= chance:
        return replace(axis_of((), min(low, 0.9), 1.0), base=chance)
    low = max(tick for tick in (-1.0, -0.5, -0.25, 0.0, 0.25) if tick <= low)
    return Axis(low, 1.0, (low, *(tick for tick in (-0.5, 0.0, 0.5, 1.0) if tick > low)), base=chance)


def weight_axis(percents: Iterable[Interval]) -> Axis:
    """Return an axis over weights with ticks at 0 and its ends only, as the strip is narrow."""
    axis = axis_of(percents, 0.0)
    return replace(axis, ticks=tuple(sorted({axis.low, 0.0, axis.high})))


def tick_row(axis: Axis, unit: str = "") -> Markup:
    labels = Markup("").join(
        Markup('<text x="{}" y="13" text-anchor="middle">{}{}</text>').format(axis.percent(tick), _number(tick), unit)
        for tick in axis.ticks
    )
    return Markup('<svg class="strip ticks" aria-hidden="true">{}</svg>').format(labels)


def whisker(axis: Axis, statistic: Interval, *, baseline: bool) -> Markup:
    """Return a dot (for a baseline, a hollow diamond) with its interval, or an empty strip if undefined."""
    return _strip(axis, _interval(axis, statistic) + _dot(axis, statistic, baseline=baseline))


def bar(axis: Axis, statistic: Interval, kind: Literal["", "total", "unused"] = "") -> Markup:
    """Return a bar with its interval for the rubric (`total`), or for a used or `unused` criterion."""
    if statistic.value is None:
        return _strip(axis, Markup(""))
    shape = _bar(axis, axis.base, statistic.value, f"bar {kind}".rstrip())
    return _strip(axis, shape + _interval(axis, statistic))


def limit(axis: Axis, value: float) -> Markup:
    return _strip(axis, _stroke(axis, value))


def step(axis: Axis, start: float, end: float) -> Markup:
    """Return one step of a waterfall chart: a bar from `start` to `end`, or a dot if both are equal."""
    if start == end:
        return _strip(axis, _dot(axis, Interval(end), baseline=False))
    return _strip(axis, _bar(axis, start, end, "rise" if end > start else "fall"))


def text_strip(axis: Axis, label: float, raters: Iterable[float], predicted: Interval) -> Markup:
    """Return a text's label (hollow), raters (strokes) and predicted score (filled) with its interval."""
    strokes = Markup("").join(_stroke(axis, mark) for mark in raters)
    hollow = Markup('<circle class="hollow" cx="{}" cy="50%" r="5"/>').format(axis.percent(label))
    return _strip(axis, strokes + _interval(axis, predicted) + hollow + _dot(axis, predicted, baseline=False))


def scatter(pairs: Sequence[tuple[float, float]], scale: Scale, name: str) -> Markup:
    """Plot labels (across) against scores by `name` (up). Equal points make one dot more opaque."""
    x = axis_of((), scale.low, scale.high, *(label for label, _ in pairs))
    y = axis_of((), scale.low, scale.high, *(score for _, score in pairs))
    dots = Counter((round(_across(x, label)), round(_up(y, score))) for label, score in pairs)
    drawn = Markup("").join(
        Markup('<circle class="dot" cx="{}" cy="{}" r="4" opacity="{:.2f}"/>').format(
            *position, 1 - (1 - DOT_OPACITY) ** number
        )
        for position, number in sorted(dots.items())
    )
    label = f"Scatter of {count(len(pairs), 'text')}: people's score across, {plain(name)} up"
    return _plot(x, y, ("people's score", name), drawn, label)


def reliability(bins: Iterable[ReliabilityBin], share: str) -> Markup:
    """Plot mean scores (across) against the shares of texts that pass (up), with their intervals."""
    axis = axis_of((), 0.0, 1.0)
    shapes = Markup("")
    for each in bins:
        x, low, high = _across(axis, each.score), each.share.low, each.share.high
        if low is not None and high is not None:
            shapes += Markup('<line class="whisker" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>').format(
                x, _up(axis, low), _up(axis, high)
            )
        shapes += Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="5"/>').format(
            x, _up(axis, each.share.value or 0.0)
        )
    label = f"Reliability curve: mean score across, {plain(share)} up"
    return _plot(axis, axis, ("mean score", share), shapes, label)


def _plot(x: Axis, y: Axis, titles: tuple[str, str], shapes: Markup, label: str) -> Markup:
    low, high = max(x.low, y.low), min(x.high, y.high)
    equal = Markup('<line class="equal" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        _across(x, low), _up(y, low), _across(x, high), _up(y, high)
    )
    return Markup('<svg class="scatter" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, label, _frame(x, y, *titles) + equal + shapes
    )


def _strip(axis: Axis, content: Markup) -> Markup:
    grid = Markup("").join(
        Markup('<line class="{0}" x1="{1}" x2="{1}" y1="0" y2="100%"/>').format(
            "zero" if mark == axis.base else "grid", axis.percent(mark)
        )
        for mark in axis.ticks
    )
    # Marks stay beside the first line of a row with several lines.
    form = '<svg class="strip" aria-hidden="true">{}<svg height="{}" overflow="visible">{}</svg></svg>'
    return Markup(form).format(grid, ROW_HEIGHT, content)


def _bar(axis: Axis, start: float, end: float, kind: str) -> Markup:
    left, right = sorted((axis.share(start), axis.share(end)))
    return Markup(BAR).format(kind, f"{100 * left:.2f}%", f"{100 * (right - left):.2f}%")


def _stroke(axis: Axis, value: float) -> Markup:
    form = Markup('<svg x="{}" y="50%" overflow="visible"><line class="rater" x1="0" x2="0" y1="-8" y2="8"/></svg>')
    return form.format(axis.percent(value))


def _interval(axis: Axis, statistic: Interval) -> Markup:
    if statistic.low is None or statistic.high is None:
        return Markup("")
    low, high = max(statistic.low, axis.low), max(statistic.high, axis.low)
    line = Markup('<line class="whisker" x1="{}" x2="{}" y1="50%" y2="50%"/>').format(
        axis.percent(low), axis.percent(high)
    )
    if low == statistic.low:
        return line
    arrow = '<svg x="{}" y="50%" overflow="visible"><path class="whisker arrow" d="M0 0H-12M-8-4-12 0-8 4"/></svg>'
    return line + Markup(arrow).format(axis.percent(low))


def _dot(axis: Axis, statistic: Interval, *, baseline: bool) -> Markup:
    if statistic.value is None:
        return Markup("")
    position = axis.percent(statistic.value)
    if not baseline:
        return Markup('<circle class="dot" cx="{}" cy="50%" r="5"/>').format(position)
    # Paths cannot use percentages, so an `<svg>` with a position holds the diamond at its origin.
    return Markup('<svg x="{}" y="50%" overflow="visible"><path class="hollow" d="M0-6 6 0 0 6-6 0Z"/></svg>').format(
        position
    )


def _frame(x: Axis, y: Axis, across: str, up: str) -> Markup:
    columns = Markup("").join(
        Markup(
            '<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>'
            '<text x="{0:.1f}" y="{3}" text-anchor="middle">{4}</text>'
        ).format(_across(x, tick), TOP, HEIGHT - BOTTOM, HEIGHT - BOTTOM + 17, _number(tick))
        for tick in x.ticks
    )
    rows = Markup("").join(
        Markup(
            '<line class="grid" x1="{1}" x2="{2}" y1="{0:.1f}" y2="{0:.1f}"/>'
            '<text x="{3}" y="{0:.1f}" dy="0.35em" text-anchor="end">{4}</text>'
        ).format(_up(y, tick), LEFT, WIDTH - RIGHT, LEFT - 8, _number(tick))
        for tick in y.ticks
    )
    titles = Markup(
        '<text class="title" x="{}" y="{}" text-anchor="middle">{}</text>'
        '<text class="title" transform="translate(12 {}) rotate(-90)" text-anchor="middle">{}</text>'
    ).format(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 6, across, TOP + (HEIGHT - TOP - BOTTOM) / 2, plain(up))
    return columns + rows + titles


def _across(axis: Axis, value: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * axis.share(value)


def _up(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * axis.share(value)


def _number(value: float) -> str:
    return format_score(value).replace("-", "\N{MINUS SIGN}")
