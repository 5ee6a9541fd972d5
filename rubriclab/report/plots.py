"""Plots as inline SVG, which scale as a whole: scores against labels, prices, rewards of the bandit.

Colours and fonts come from the page's style sheet; shapes distinguish kinds, so that plots are readable without colour.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from rubriclab.characters import plain
from rubriclab.data.scale import Scale
from rubriclab.report.charts import Axis, number, score_axis
from rubriclab.report.wording import count, rewards
from rubriclab.rubric import RewardPoint
from rubriclab.training_record import RecordedText
from rubriclab.validation import FrontierPoint

DOT = 0.3
WIDTH, HEIGHT = 420, 330
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 44
SPARK_WIDTH, SPARK_HEIGHT = 150, 36
# Distance between texts of one label, so that their intervals do not overlap, and the most for all of them.
APART, CROWD = 5.0, 36.0
STEP = 0.1


def scatter(pairs: Sequence[tuple[float, float]], scale: Scale, name: str) -> Markup:
    """Return labels (across) against the rubric's (up). Texts of equal scores fall on one, stronger dot."""
    x = score_axis(scale, (human for human, _ in pairs))
    y = score_axis(scale, (rubric for _, rubric in pairs))
    dots = Counter((round(_across(x, human)), round(_up(y, rubric))) for human, rubric in pairs)
    drawn = Markup("").join(
        Markup('<circle class="dot" cx="{}" cy="{}" r="4" opacity="{:.2f}"/>').format(*spot, 1 - (1 - DOT) ** many)
        for spot, many in sorted(dots.items())
    )
    label = f"Scatter of {count(len(pairs), 'text')}: label across, score by {plain(name)} up"
    return _plot(label, _frame(x, y, "label", "rubric score") + _diagonal(x, y) + drawn)


def predictions(texts: Sequence[RecordedText], scale: Scale) -> Markup:
    """Return labels (across) against held-out scores with their intervals (up).

    Hollow diamonds are texts whose label lies outside of the interval. Texts of one label stand side by side.
    """
    shown = [(text, text.predicted) for text in texts if text.predicted is not None]
    ends = [end for text, _ in shown for end in (text.low, text.high) if end is not None]
    x = score_axis(scale, (text.label for text, _ in shown))
    y = score_axis(scale, [*(predicted for _, predicted in shown), *ends])
    places = _side_by_side([_across(x, text.label) for text, _ in shown])
    drawn = Markup("").join(
        _prediction(place, y, text, predicted) for place, (text, predicted) in zip(places, shown, strict=True)
    )
    label = f"Scatter of {count(len(shown), 'text')}: label across, held-out score with its interval up"
    return _plot(label, _frame(x, y, "label", "held-out score") + _diagonal(x, y) + drawn)


def frontier(points: Sequence[FrontierPoint]) -> Markup:
    """Return calls per text (across) against held-out correlation with its standard error (up).

    The broken line is one standard error below the best; filled is the rubric's own price.
    """
    most = math.ceil(max(1.0, *(point.calls for point in points)))
    step = max(1, math.ceil(most / 10))
    x = Axis(0, most, tuple(range(0, most + 1, step)))
    low = STEP * math.floor(min(point.pearson - (point.error or 0) for point in points) / STEP)
    high = STEP * math.ceil(max(low + STEP, *(point.pearson + (point.error or 0) for point in points)) / STEP)
    ticks = round((high - low) / STEP)
    y = Axis(low, high, tuple(round(low + STEP * tick, 1) for tick in range(0, ticks + 1, max(1, ticks // 6))))
    best = max(points, key=lambda point: point.pearson)
    line = Markup("")
    if best.error is not None:
        line = Markup('<line class="equal" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(
            LEFT, WIDTH - RIGHT, *2 * (_up(y, best.pearson - best.error),)
        )
    path = " ".join(f"{_across(x, point.calls):.1f},{_up(y, point.pearson):.1f}" for point in points)
    drawn = Markup('<polyline class="utility" points="{}"/>').format(path) + Markup("").join(
        _price(x, y, point) for point in points
    )
    label = f"Held-out Pearson at {count(len(points), 'price')} in calls per text"
    return _plot(label, _frame(x, y, "calls per text", "held-out Pearson") + line + drawn)


def reward_path(points: Sequence[RewardPoint]) -> Markup:
    """Return a criterion's rewards of the bandit, of which the shaded part is the bonus."""
    totals = [point.utility + point.bonus for point in points]
    lowest, highest = min(point.utility for point in points), max(totals)
    span = (highest - lowest) or 1.0

    def spot(place: int, value: float) -> str:
        across = 2 + (SPARK_WIDTH - 4) * place / max(len(points) - 1, 1)
        return f"{across:.1f},{SPARK_HEIGHT - 3 - (SPARK_HEIGHT - 6) * (value - lowest) / span:.1f}"

    reward = [spot(place, value) for place, value in enumerate(totals)]
    utility = [spot(place, point.utility) for place, point in enumerate(points)]
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


def _prediction(place: float, y: Axis, text: RecordedText, predicted: float) -> Markup:
    whisker, held = Markup(""), True
    if text.low is not None and text.high is not None:
        held = text.low <= text.label <= text.high
        whisker = _whisker(place, _up(y, text.low), _up(y, text.high))
    return whisker + _mark(place, _up(y, predicted), filled=held)


def _price(x: Axis, y: Axis, point: FrontierPoint) -> Markup:
    place = _across(x, point.calls)
    whisker = Markup("")
    if point.error is not None:
        whisker = _whisker(place, _up(y, point.pearson - point.error), _up(y, point.pearson + point.error))
    return whisker + _mark(place, _up(y, point.pearson), filled=point.chosen)


def _whisker(across: float, low: float, high: float) -> Markup:
    return Markup('<line class="whisker" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>').format(
        across, low, high
    )


def _mark(across: float, up: float, *, filled: bool) -> Markup:
    if filled:
        return Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="4"/>').format(across, up)
    return Markup('<path class="hollow" d="M{:.1f} {:.1f}l5 5-5 5-5-5Z"/>').format(across, up - 5)


def _side_by_side(places: Sequence[float]) -> list[float]:
    """Return where things stand inside of the plot, those of one place next to each other around it."""
    crowd, seen = Counter(round(place) for place in places), Counter[int]()
    moved = []
    for place in places:
        spot = round(place)
        apart = min(APART, CROWD / crowd[spot])
        half = apart * (crowd[spot] - 1) / 2
        middle = min(max(place, LEFT + half), WIDTH - RIGHT - half)
        moved.append(middle - half + apart * seen[spot])
        seen[spot] += 1
    return moved


def _plot(label: str, content: Markup) -> Markup:
    return Markup('<svg class="scatter" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, label, content
    )


def _diagonal(x: Axis, y: Axis) -> Markup:
    """Return the line on which both scores are equal."""
    ends = max(x.low, y.low), min(x.high, y.high)
    return Markup('<line class="equal" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        _across(x, ends[0]), _up(y, ends[0]), _across(x, ends[1]), _up(y, ends[1])
    )


def _frame(x: Axis, y: Axis, across: str, up: str) -> Markup:
    """Return a plot's grid, numbers and titles."""
    middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
    titles = Markup(
        '<text class="title" x="{}" y="{}" text-anchor="middle">{}</text>'
        '<text class="title" transform="translate(12 {}) rotate(-90)" text-anchor="middle">{}</text>'
    ).format(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 6, across, middle, up)
    return _columns(x) + _rows(y) + titles


def _columns(x: Axis) -> Markup:
    return Markup("").join(
        Markup(
            '<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>'
            '<text x="{0:.1f}" y="{3}" text-anchor="middle">{4}</text>'
        ).format(_across(x, tick), TOP, HEIGHT - BOTTOM, HEIGHT - BOTTOM + 17, number(tick))
        for tick in x.ticks
    )


def _rows(y: Axis) -> Markup:
    return Markup("").join(
        Markup(
            '<line class="grid" x1="{1}" x2="{2}" y1="{0:.1f}" y2="{0:.1f}"/>'
            '<text x="{3}" y="{0:.1f}" dy="0.35em" text-anchor="end">{4}</text>'
        ).format(_up(y, tick), LEFT, WIDTH - RIGHT, LEFT - 8, number(tick))
        for tick in y.ticks
    )


def _across(axis: Axis, value: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * axis.share(value)


def _up(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * axis.share(value)
