"""Criteria in words, and the measures that the words speak of: written by the offline judge, and read back by it.

A level of its own hypotheses reads like `number of words: about 43`. Levels at which a number would make no sense
(fewer than none, more than all) say so in words instead, and reading goes on in a straight line from the levels that
have numbers; where fewer than two have one, the words next to them are read as none and all. Without labels there are
no numbers to give: such levels read like `number of words: more than usual`.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.text_features import CATALOGUE, Measure

BY_NAME: Mapping[str, Measure] = {entry.name: entry for entry in CATALOGUE}
_BY_TITLE = {entry.title: entry for entry in CATALOGUE}

# Measures that may be negative; every other one is a count, a share or an entropy.
UNBOUNDED = frozenset({"reading_ease", "length_to_source"})


# How levels without numbers are worded, and the share of what is usual (`usual_share`) that they stand for.
AMOUNTS: Mapping[str, float] = {
    "far less than usual": 0.0,
    "less than usual": 0.25,
    "as much as usual": 0.5,
    "more than usual": 0.75,
    "far more than usual": 1.0,
}


# What a level says instead of an impossible number, and the possible one that is nearest.
LIMITS: Mapping[str, float] = {"next to none": 0.0, "all of it": 1.0}


@dataclass(frozen=True, slots=True)
class Reading:
    """How one measure is read as a score.

    Attributes:
        measure: its name.
        points: two or more pairs (value, score).
        usual: whether the points' values are shares of what is usual instead of the measure's own.
        otherwise: the score where the measure is undefined.
    """

    measure: str
    points: tuple[tuple[float, float], ...]
    usual: bool = False
    otherwise: float | None = None

    def score(self, value: float, low: float, high: float) -> float | None:
        """Return the score on the line through the points, within [low, high]; `otherwise` where undefined."""
        if math.isnan(value):
            return self.otherwise
        points = sorted(self.points)
        at = next((i for i in range(1, len(points) - 1) if value <= points[i][0]), len(points) - 1)
        (x0, y0), (x1, y1) = points[at - 1], points[at]
        if x0 == x1:
            return (y0 + y1) / 2
        return min(max(y0 + (value - x0) * (y1 - y0) / (x1 - x0), low), high)


def level_text(entry: Measure, value: float) -> str:
    """Return what a level says of a measure."""
    return f"{entry.title}: {_amount(entry, value)}"


def fallback_text(score: float) -> str:
    """Return the sentence that tells what a text gets where the measures are undefined."""
    return f"Where this cannot be told, the score is {score:.4g}."


def readings(criterion: Mapping[str, Any]) -> tuple[Reading, ...]:
    """Return how a hypothesis of the offline judge is read, one reading a measure; empty for anybody else's."""
    levels = sorted((float(level["score"]), str(level["description"])) for level in criterion["levels"])
    return _readings(criterion["statement"], tuple(levels))


# Every pair of a bank is compared, and every text is rated by it.
@functools.lru_cache(maxsize=4096)
def _readings(statement: str, levels: tuple[tuple[float, str], ...]) -> tuple[Reading, ...]:
    otherwise = _OTHERWISE.search(statement)
    fallback = float(otherwise.group(1)) if otherwise else None
    numbers = {name: _fitted(said) for name, said in _said(levels, _numbers()).items()}
    amounts = {
        name: tuple((AMOUNTS[amount], score) for amount, score in said)
        for name, said in _said(levels, _amounts()).items()
    }
    return (
        *(Reading(name, points, False, fallback) for name, points in numbers.items() if len(points) > 1),
        *(Reading(name, points, True, fallback) for name, points in amounts.items() if len(points) > 1),
    )


def _said(levels: Sequence[tuple[float, str]], pattern: re.Pattern[str]) -> dict[str, list[tuple[str, float]]]:
    """Return for each measure named what the levels say of it, with their scores, lowest first."""
    said: dict[str, list[tuple[str, float]]] = {}
    for score, description in levels:
        for title, amount in pattern.findall(description):
            said.setdefault(_BY_TITLE[title].name, []).append((amount, score))
    return said


def _fitted(said: Sequence[tuple[str, float]]) -> tuple[tuple[float, float], ...]:
    """Return the points of the levels with numbers; where there are fewer than two, also of the limits beside them."""
    numbers = tuple((_number(amount), score) for amount, score in said if amount not in LIMITS)
    if len(numbers) > 1:
        return numbers
    neighbours = ({amount for amount, _ in said[max(place - 1, 0) : place + 2]} for place in range(len(said)))
    return tuple(
        (_number(amount), score)
        for (amount, score), around in zip(said, neighbours, strict=True)
        if amount not in LIMITS or around != {amount}
    )


def _number(amount: str) -> float:
    return LIMITS[amount] if amount in LIMITS else float(amount.removeprefix("about "))


def spoken_of(text: str) -> dict[str, int]:
    """Return the measures that a text in plain English speaks of, with the number of their keywords found in it."""
    words = f" {text.lower()} "
    found = {entry.name: sum(_starts_word(keyword, words) for keyword in entry.keywords) for entry in CATALOGUE}
    return {name: hits for name, hits in found.items() if hits}


def possible(entry: Measure, value: float) -> bool:
    """Return whether a measure can take a value: nothing is counted below zero, no share exceeds one."""
    if entry.name in UNBOUNDED:
        return True
    return value >= 0 and (value <= 1 or not is_share(entry))


def is_share(entry: Measure) -> bool:
    """Return whether a measure runs from 0 to 1 by its unit."""
    return entry.unit.startswith("share") or "0 to 1" in entry.unit or entry.unit.startswith("1 ")


def _amount(entry: Measure, value: float) -> str:
    if possible(entry, value):
        return f"about {value:.3g}"
    return "next to none" if value < 0 else "all of it"


_NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_OTHERWISE = re.compile(rf"Where this cannot be told, the score is ({_NUMBER})\.")


@functools.cache
def _numbers() -> re.Pattern[str]:
    return re.compile(rf"({_titles()}): (about {_NUMBER}|{'|'.join(LIMITS)})")


@functools.cache
def _amounts() -> re.Pattern[str]:
    return re.compile(rf"({_titles()}): ({'|'.join(AMOUNTS)})")


def _titles() -> str:
    return "|".join(re.escape(title) for title in sorted(_BY_TITLE, key=len, reverse=True))


@functools.cache
def _keyword(keyword: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z]){re.escape(keyword)}")


def _starts_word(keyword: str, words: str) -> bool:
    # Most keywords are nowhere in the text, which a plain search tells much sooner.
    return keyword in words and bool(_keyword(keyword).search(words))
