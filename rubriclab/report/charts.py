"""Small charts as inline SVG: colours and fonts come from the page's style sheet, words are escaped.

Strips fill their row of the page: positions in them are percentages, so that dots and letters keep their size on a
telephone. The other charts have a fixed shape and scale as a whole.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rubriclab.data.scale import Scale, show
from rubriclab.report.wording import Estimated, plain, rewards
from rubriclab.rubric import RewardPoint

STEP = 0.2
MOST_TICKS = 10
DOT = 0.3
WIDTH, HEIGHT = 420, 330
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 44
SPARK_WIDTH, SPARK_HEIGHT = 150, 36


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


def correlation_axis(found: Iterable[Estimated]) -> Axis:
    """Return an axis from 0 to 1, longer to the left by as much as the lowest value or interval needs."""
    ends = [end for one in found for end in (one.value, one.low) if end is not None]
    steps = math.floor(min([0.0, *ends]) / STEP)
    return Axis(steps * STEP, 1.0, tuple(round(step * STEP, 1) for step in range(steps, 6)))


def score_axis(scale: Scale, scores: Iterable[float]) -> Axis:
    """Return an axis over the scale, and over scores that lie outside of it."""
    scores = list(scores)
    low, high = math.floor(min([scale.low, *scores])), math.ceil(max([scale.high, *scores]))
    step = max(1, math.ceil((high - low) / MOST_TICKS)) if high - low > 1 else 0.25
    count = math.floor((high - low) / step)
    return Axis(low, high, tuple(low + step * number for number in range(count + 1)))


def tick_row(axis: Axis) -> Markup:
    """Return the axis' numbers, to stand under strips."""
    words = Markup("").join(
        Markup('<text x="{}" y="13" text-anchor="middle">{}</text>').format(axis.percent(tick), _number(tick))
        for tick in axis.ticks
    )
    return Markup('<svg class="strip ticks" aria-hidden="true">{}</svg>').format(words)


def whisker(axis: Axis, found: Estimated, *, floor: bool) -> Markup:
    """Return a dot (a hollow diamond for a floor) with its interval; the grid alone if the value is undefined."""
    return _strip(axis, _interval(axis, found) + _dot(axis, found, floor=floor))


def bar(axis: Axis, found: Estimated, *, total: bool) -> Markup:
    """Return a bar from 0 with its interval; `total` marks the bar that stands for the whole rubric."""
    if found.value is None:
        return _strip(axis, Markup(""))
    start, end = sorted((0.0, found.value))
    shape = Markup(
        '<svg y="50%" overflow="visible"><rect class="{}" x="{}" y="-6" width="{}" height="12"/></svg>'
    ).format(
        "bar total" if total else "bar",
        axis.percent(start),
        f"{100 * (axis.share(end) - axis.share(start)):.2f}%",
    )
    return _strip(axis, shape + _interval(axis, found))


def places(human: float, rubric: float) -> Markup:
    """Return where people (hollow) and the rubric (filled) place a text among the others, 0 to 100."""
    axis = Axis(0, 100, (0, 50, 100))
    return Markup(
        '<svg class="strip" role="img" aria-label="placed above {:.0f} percent of the other texts by people, '
        'above {:.0f} percent by the rubric">{}<line class="whisker" x1="{}" x2="{}" y1="50%" y2="50%"/>'
        '<circle class="hollow" cx="{}" cy="50%" r="5"/><circle class="dot" cx="{}" cy="50%" r="5"/></svg>'
    ).format(human, rubric, _grid(axis, zero=False), *2 * (axis.percent(human), axis.percent(rubric)))


def scatter(pairs: Sequence[tuple[float, float]], scale: Scale, name: str) -> Markup:
    """Return labels (across) against the rubric's (up). Texts of equal scores fall on one, stronger dot."""
    x = score_axis(scale, (human for human, _ in pairs))
    y = score_axis(scale, (rubric for _, rubric in pairs))
    dots = Counter((round(_across(x, human)), round(_up(y, rubric))) for human, rubric in pairs)
    drawn = Markup("").join(
        Markup('<circle class="dot" cx="{}" cy="{}" r="4" opacity="{:.2f}"/>').format(*spot, 1 - (1 - DOT) ** count)
        for spot, count in sorted(dots.items())
    )
    label = f"Scatter of {len(pairs)} texts: label across, score by {plain(name)} up"
    return Markup('<svg class="scatter" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}</svg>').format(
        WIDTH, HEIGHT, label, _frame(x, y), drawn
    )


def reward_path(points: Sequence[RewardPoint]) -> Markup:
    """Return a criterion's way through the bandit: the line is its reward, the shaded part of it the bonus."""
    totals = [point.utility + point.bonus for point in points]
    lowest, highest = min(point.utility for point in points), max(totals)
    span = (highest - lowest) or 1.0

    def spot(number: int, value: float) -> str:
        across = 2 + (SPARK_WIDTH - 4) * number / max(len(points) - 1, 1)
        return f"{across:.1f},{SPARK_HEIGHT - 3 - (SPARK_HEIGHT - 6) * (value - lowest) / span:.1f}"

    reward = [spot(number, value) for number, value in enumerate(totals)]
    utility = [spot(number, point.utility) for number, point in enumerate(points)]
    return Markup(
        '<svg class="spark" viewBox="0 0 {} {}" role="img" aria-label="{}"><polygon class="bonus" points="{}"/>'
        '<polyline class="utility" points="{}"/><polyline class="reward" points="{}"/>{}</svg>'
    ).format(
        SPARK_WIDTH,
        SPARK_HEIGHT,
        rewards(points),
        " ".join([*reward, *reversed(utility)]),
        " ".join(utility),
        " ".join(reward),
        Markup('<circle class="dot" cx="{}" cy="{}" r="2.5"/>').format(*reward[-1].split(",")),
    )


def _strip(axis: Axis, content: Markup) -> Markup:
    return Markup('<svg class="strip" aria-hidden="true">{}{}</svg>').format(_grid(axis), content)


def _grid(axis: Axis, *, zero: bool = True) -> Markup:
    return Markup("").join(
        Markup('<line class="{0}" x1="{1}" x2="{1}" y1="0" y2="100%"/>').format(
            "zero" if zero and tick == 0 else "grid", axis.percent(tick)
        )
        for tick in axis.ticks
    )


def _interval(axis: Axis, found: Estimated) -> Markup:
    if found.low is None or found.high is None:
        return Markup("")
    return Markup('<line class="whisker" x1="{}" x2="{}" y1="50%" y2="50%"/>').format(
        axis.percent(found.low), axis.percent(found.high)
    )


def _dot(axis: Axis, found: Estimated, *, floor: bool) -> Markup:
    if found.value is None:
        return Markup("")
    place = axis.percent(found.value)
    if not floor:
        return Markup('<circle class="dot" cx="{}" cy="50%" r="5"/>').format(place)
    # Paths know no percentages, so the diamond stands at the origin of a box that is placed.
    return Markup('<svg x="{}" y="50%" overflow="visible"><path class="hollow" d="M0-6 6 0 0 6-6 0Z"/></svg>').format(
        place
    )


def _frame(x: Axis, y: Axis) -> Markup:
    """Return the scatter's grid, numbers and titles, and the line on which both scores are equal."""
    ends = max(x.low, y.low), min(x.high, y.high)
    diagonal = Markup('<line class="equal" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        _across(x, ends[0]), _up(y, ends[0]), _across(x, ends[1]), _up(y, ends[1])
    )
    across = Markup("").join(
        Markup(
            '<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>'
            '<text x="{0:.1f}" y="{3}" text-anchor="middle">{4}</text>'
        ).format(_across(x, tick), TOP, HEIGHT - BOTTOM, HEIGHT - BOTTOM + 17, _number(tick))
        for tick in x.ticks
    )
    up = Markup("").join(
        Markup(
            '<line class="grid" x1="{1}" x2="{2}" y1="{0:.1f}" y2="{0:.1f}"/>'
            '<text x="{3}" y="{0:.1f}" dy="0.35em" text-anchor="end">{4}</text>'
        ).format(_up(y, tick), LEFT, WIDTH - RIGHT, LEFT - 8, _number(tick))
        for tick in y.ticks
    )
    middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
    titles = Markup(
        '<text class="title" x="{}" y="{}" text-anchor="middle">label</text>'
        '<text class="title" transform="translate(12 {}) rotate(-90)" text-anchor="middle">rubric score</text>'
    ).format(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 6, middle)
    return across + up + diagonal + titles


def _across(axis: Axis, value: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * axis.share(value)


def _up(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * axis.share(value)


def _number(value: float) -> str:
    return show(value).replace("-", "\N{MINUS SIGN}")
