"""Text features in words: how the offline judge writes criteria about them, and how it reads criteria.

A level of its own hypotheses reads like `number of words: about 43`; without labels there are no numbers to give, and
levels read like `number of words: more than usual`. Anybody else's criterion is taken to speak of the features whose
keywords it holds.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.size_cache import cached_by_size
from rubriclab.text_features import CATALOGUE, Features, TextFeature, features_of, usual_directions

BY_NAME: Mapping[str, TextFeature] = {feature.name: feature for feature in CATALOGUE}
BY_TITLE: Mapping[str, TextFeature] = {feature.title: feature for feature in CATALOGUE}
TITLES = "|".join(re.escape(title) for title in sorted(BY_TITLE, key=len, reverse=True))

# How levels without numbers are worded, and the share of the usual range (`usual_share`) that they stand for.
AMOUNTS: Mapping[str, float] = {
    "far less than usual": 0.0,
    "less than usual": 0.25,
    "as much as usual": 0.5,
    "more than usual": 0.75,
    "far more than usual": 1.0,
}

# Orders of magnitude of counts in a summary of some sixty words; 1 for any other.
TYPICAL: Mapping[str, float] = {
    "words": 60,
    "log_words": 4,
    "sentences": 4,
    "longest_sentence": 25,
    "longest_copy": 10,
    "splices": 10,
    "distinct_content_words": 3.5,
    "characters_named": 3,
}
# How many times as long the texts of other tasks usually are; counts that grow with the text grow with it.
EXTENT: Mapping[str, float] = {"story": 6.0, "dialogue": 0.4}
GROWING = frozenset({"words", "sentences", "splices", "characters_named"})

_NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_LEVEL = re.compile(rf"({TITLES}): (?:about ({_NUMBER})|({'|'.join(AMOUNTS)}))")
_OTHERWISE = re.compile(rf"Where this is undefined, the score is ({_NUMBER})\.")


@dataclass(frozen=True, slots=True)
class FeatureScore:
    """How one text feature is read as a score.

    Attributes:
        feature: its name.
        points: two or more pairs (value, score), by rising value.
        usual: whether the points' values are shares of the usual range instead of the feature's own.
        otherwise: the score where the feature is undefined.
    """

    feature: str
    points: tuple[tuple[float, float], ...]
    usual: bool = False
    otherwise: float | None = None

    def score(self, value: float, low: float, high: float) -> float | None:
        """Return the score on the line through the nearest two points, within [low, high]."""
        if math.isnan(value):
            return self.otherwise
        last = len(self.points) - 1
        place = next((i for i in range(1, last) if value <= self.points[i][0]), last)
        (x0, y0), (x1, y1) = self.points[place - 1 : place + 1]
        return min(max(y0 + (value - x0) * (y1 - y0) / (x1 - x0), low), high)


def level_text(feature: TextFeature, value: float) -> str:
    """Return what a level says of a feature; a value out of its range is the nearest one in it."""
    return f"{feature.title}: about {_possible(feature, value):.3g}"


def fallback_text(score: float) -> str:
    """Return the sentence that says which score a text gets where the features are undefined."""
    return f"Where this is undefined, the score is {score:.4g}."


def feature_scores(criterion: Mapping[str, Any]) -> tuple[FeatureScore, ...]:
    """Return how a hypothesis of the offline judge is read, one reading per feature; empty for anybody else's."""
    levels = sorted((float(level["score"]), str(level["description"])) for level in criterion["levels"])
    return _feature_scores(criterion["statement"], tuple(levels))


# Every pair of a bank is compared, and every text is rated by it.
@functools.lru_cache(maxsize=4096)
def _feature_scores(statement: str, levels: tuple[tuple[float, str], ...]) -> tuple[FeatureScore, ...]:
    match = _OTHERWISE.search(statement)
    otherwise = float(match[1]) if match else None
    columns: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    for score, description in levels:
        for title, number, amount in _LEVEL.findall(description):
            value = AMOUNTS[amount] if amount else float(number)
            columns.setdefault((BY_TITLE[title].name, bool(amount)), []).append((value, score))
    lines = {key: _line(points) for key, points in columns.items()}
    return tuple(FeatureScore(name, line, usual, otherwise) for (name, usual), line in lines.items() if len(line) > 1)


def _line(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the points by rising value; of several levels at the same end of the range, the innermost."""
    middle = sum(score for _, score in points) / len(points)
    nearest = dict(sorted(points, key=lambda point: -abs(point[1] - middle)))
    return tuple(sorted(nearest.items()))


def spoken_of(text: str) -> dict[str, int]:
    """Return the features that a text in plain English speaks of, with the number of their keywords in it."""
    words = text.lower()
    hits = {feature.name: sum(_starts_word(key, words) for key in feature.keywords) for feature in CATALOGUE}
    return {name: count for name, count in hits.items() if count}


def _starts_word(keyword: str, words: str) -> bool:
    # Most keywords are absent, which a plain search shows much sooner.
    return keyword in words and bool(_keyword(keyword).search(words))


@functools.cache
def _keyword(keyword: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z]){re.escape(keyword)}")


def findings_about(findings: Iterable[str]) -> dict[str, int]:
    """Return how many of the findings speak of each feature; features that none speaks of are absent."""
    counts: dict[str, int] = {}
    for finding in findings:
        for name in spoken_of(finding):
            counts[name] = counts.get(name, 0) + 1
    return counts


def values_of(fields: Mapping[str, Any]) -> Mapping[str, float]:
    """Return the features of the text that `fields` show."""
    return _values(fields["output"], fields.get("source"), fields.get("context"))


# One text is rated by many criteria in a row.
@cached_by_size(2**22)
def _values(output: str, source: str | None, context: str | None) -> Features:
    return features_of(output, source, context)


def directions(fields: Mapping[str, Any]) -> Mapping[str, float]:
    """Return for each feature how it usually moves with the aspect that `fields` are about, from -1 to 1."""
    aspect = fields["aspect"]
    return _directions(aspect["name"], aspect["definition"], fields["words"]["task"])


@functools.lru_cache(maxsize=64)
def _directions(aspect: str, definition: str, task: str) -> Mapping[str, float]:
    return usual_directions(aspect, definition, task)


def is_share(feature: TextFeature) -> bool:
    """Return whether a feature runs from 0 to 1 by its unit."""
    return feature.unit.startswith(("share", "1 ")) or "0 to 1" in feature.unit


_SHARES = frozenset(feature.name for feature in CATALOGUE if is_share(feature))


def usual_share(name: str, value: float, task: str) -> float:
    """Return a feature's value as a share of 0 to 1 that grows with it; 0.5 where a count is typical of the task."""
    if math.isnan(value):
        return value
    if name in _SHARES:
        return min(max(value, 0.0), 1.0)
    if name == "length_to_source":
        return 1 / (1 + math.exp(-value))
    typical, extent = TYPICAL.get(name, 1.0), EXTENT.get(task, 1.0)
    if name == "log_words":
        typical += math.log(extent)
    elif name in GROWING:
        typical *= extent
    return max(value, 0.0) / (max(value, 0.0) + typical)


def _possible(feature: TextFeature, value: float) -> float:
    if feature.name == "length_to_source":
        return value
    return min(max(value, 0.0), 1.0 if is_share(feature) else math.inf)
