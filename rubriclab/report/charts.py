"""Charts as inline SVG, which `templates/charts.html` draws: strips in rows of a table, and plots with two axes.

The strips of a table share an axis. Positions on a strip are in percent of its width, so that dots and letters keep
their size on every screen.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from rubriclab.models.characters import count, escape_controls
from rubriclab.models.evaluation import ReliabilityBin
from rubriclab.models.text import Scale, format_score
from rubriclab.report.render import macro
from rubriclab.stats.intervals import Interval

MAX_AXIS_STEPS = 5  # from tick to tick; on the narrowest strip, the labels of more ticks would touch each other
MIN_AXIS_RANGE = 2e-4  # values nearer to each other are drawn in the middle of an axis with a range of 1
# The size of a plot and its margins, in units of its SVG.
WIDTH, HEIGHT = 420, 330
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 44
DOT_OPACITY = 0.55


@dataclass(frozen=True, slots=True)
class Axis:
    low: float
    high: float
    ticks: tuple[float, ...]  # marked values, the lowest first
    start_of_bars: float = 0.0

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def percent(self, value: float) -> str:
        return f"{100 * self.share(value):.2f}%"


def axis_of(statistics: Iterable[Interval], *marks: float) -> Axis:
    """Return an axis that begins and ends at a tick, over all values, their intervals and `marks`."""
    values = [*marks]
    for statistic in statistics:
        values += [end for end in (statistic.value, statistic.low, statistic.high) if end is not None]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if high - low < MIN_AXIS_RANGE:
        low, high = low - 0.5, high + 0.5
    power = 10.0 ** math.floor(math.log10((high - low) / MAX_AXIS_STEPS))
    steps = [power * factor for factor in (1, 2, 5, 10, 20)]
    step = next(each for each in steps if (high - low) / each <= MAX_AXIS_STEPS)
    # Rounding removes errors of quotients such as 0.6 / 0.2, which is less than 3 in floating point.
    first, last = math.floor(round(low / step, 6)), math.ceil(round(high / step, 6))
    ticks = tuple(round(step * number, 9) for number in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


def agreement_axis(statistics: Iterable[Interval], chance: float = 0.0, baselines: Iterable[Interval] = ()) -> Axis:
    """Return an axis that ends at 1 and has room for all values, and for the intervals of `statistics`.

    Bars begin at `chance`, the agreement by chance. Intervals of `baselines` may begin outside of the axis.
    """
    values = [end for statistic in statistics for end in (statistic.value, statistic.low) if end is not None]
    values += [baseline.value for baseline in baselines if baseline.value is not None]
    low = max(round(min(values, default=chance), 6), -1.0)
    if low >= chance:
        # The axis begins at 0.9 or below, so that small differences near 1 do not look large.
        return replace(axis_of((), min(low, 0.9), 1.0), start_of_bars=chance)
    low = max(tick for tick in (-1.0, -0.5, -0.25, 0.0, 0.25) if tick <= low)
    other_ticks = [tick for tick in (-0.5, 0.0, 0.5, 1.0) if tick > low]
    return Axis(low, 1.0, (low, *other_ticks), start_of_bars=chance)


def weight_axis(percents: Iterable[Interval]) -> Axis:
    """Return an axis for weights with ticks only at 0 and its ends, since the strip is narrow."""
    axis = axis_of(percents, 0.0)
    return replace(axis, ticks=tuple(sorted({axis.low, 0.0, axis.high})))


def drawing(name: str, *values: object, **options: object) -> Markup:
    """Return the drawing of this name in `templates/charts.html`, without spaces between its elements."""
    return Markup(re.sub(r">\s+<", "><", macro(name, *values, template="charts", **options).strip()))


def plot_gain(gain: Interval, min_gain: float) -> Markup:
    """Draw a gain and its interval; the band from 0 to `min_gain`, of gains too small to count, is shaded."""
    values = [0.0, min_gain, *(end for end in (gain.value, gain.low, gain.high) if end is not None)]
    return drawing("gain", Axis(min(values), max(values), (0.0, min_gain)), gain, min_gain)


def scatter(pairs: Sequence[tuple[float, float]], scale: Scale, y_title: str) -> Markup:
    """Plot pairs of a label (across) and a score (up, called `y_title`); a dot of several pairs is more opaque."""
    x = axis_of((), scale.low, scale.high, *(label for label, _ in pairs))
    y = axis_of((), scale.low, scale.high, *(score for _, score in pairs))
    # Pairs that are drawn at the same pixel are one dot.
    dots = Counter((round(float(x_position(x, label))), round(float(y_position(y, score)))) for label, score in pairs)
    description = f"Scatter of {count(len(pairs), 'text')}: people's score across, {escape_controls(y_title)} up"
    return drawing("scatter", x, y, sorted(dots.items()), DOT_OPACITY, ("people's score", y_title), description)


def reliability(bins: Iterable[ReliabilityBin], titles: tuple[str, str]) -> Markup:
    """Plot the mean score of each bin of texts (across) and the share of them that pass (up), with its interval."""
    return drawing("reliability", axis_of((), 0.0, 1.0), bins, titles)


def x_position(axis: Axis, value: float) -> str:
    return f"{LEFT + (WIDTH - LEFT - RIGHT) * axis.share(value):.1f}"


def y_position(axis: Axis, value: float) -> str:
    return f"{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * axis.share(value):.1f}"


def tick_label(value: float) -> str:
    return format_score(value).replace("-", "\N{MINUS SIGN}")
