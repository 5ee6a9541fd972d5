"""Criteria as text features: how the offline judge words its own, and how it reads any.

Its own criteria say `more of "number of words" (about 43, give or take 12)`. Any other text is taken to speak of the
features whose keywords it holds, or of those that usually move with the aspect.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from rubriclab.models.base import cached_by_size
from rubriclab.models.text_features import (
    CATALOGUE,
    Features,
    TextFeature,
    usual_directions,
)
from rubriclab.stats.correlation import pearson_rows

# Features that somebody else's text is taken to speak of, at most.
MOST_FEATURES = 4
# What is believed of a feature before any label is seen: a modest correlation in its usual direction, as much as so
# many labels would teach.
PRIOR_R, PRIOR_LABELS = 0.3, 10
# Two features that move together this closely over what was observed are one trait, not two.
SAME_TRAIT = 0.95
# Standard deviations of a feature that the whole scale stands for.
DEVIATIONS = 4

_BY_TITLE = {feature.title: feature for feature in CATALOGUE}
_NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?)"
_OWN = re.compile(
    rf'(more|less) of "({"|".join(map(re.escape, _BY_TITLE))})" \(about {_NUMBER}, give or take {_NUMBER}\)'
)
_KEYWORDS = {feature: re.compile(rf"(?<![a-z])(?:{'|'.join(feature.keywords)})") for feature in CATALOGUE}
# One text is rated by many criteria in a row.
_features = cached_by_size(2**20)(Features)


@dataclass(frozen=True, slots=True)
class Reading:
    """A text feature read as a quality, which more of it, or less, speaks for."""

    feature: TextFeature
    rising: bool
    middle: float
    spread: float

    def share(self, values: Mapping[str, float]) -> float:
        """Return the quality from 0 to 1, 0.5 at the middle; nan where the feature is undefined."""
        distance = (values[self.feature.name] - self.middle) / (self.spread * DEVIATIONS)
        return float(np.clip(0.5 + (distance if self.rising else -distance), 0, 1))

    def __str__(self) -> str:
        amount = "more" if self.rising else "less"
        return f'{amount} of "{self.feature.title}" (about {self.middle:.3g}, give or take {self.spread:.3g})'


def values_of(fields: Mapping[str, Any]) -> Features:
    """Return the features of the text that `fields` show."""
    return _features(fields["output"], fields.get("source"), fields.get("context"))


def _about(fields: Mapping[str, Any]) -> tuple[str, str, str]:
    return fields["aspect"]["name"], fields["aspect"]["definition"], fields["words"]["task"]


def own_readings(text: str) -> tuple[Reading, ...]:
    """Return the readings that the offline judge has worded in `text`."""
    return tuple(
        Reading(_BY_TITLE[title], amount == "more", float(middle), float(spread))
        for amount, title, middle, spread in _OWN.findall(text)
    )


def readings(fields: Mapping[str, Any], text: str) -> tuple[Reading, ...]:
    """Return how `text` is read; at least one reading."""
    return _readings(text, *_about(fields))


# Every text is rated by the same criteria.
@functools.lru_cache(maxsize=1024)
def _readings(text: str, *about: str) -> tuple[Reading, ...]:
    if own := own_readings(text):
        return own
    # Only features whose usual direction is known can be read as good or bad.
    known = {name: direction for name, direction in usual_directions(*about).items() if direction}
    hits = {
        feature: len(set(_KEYWORDS[feature].findall(text.lower()))) / len(feature.keywords)
        for feature in CATALOGUE
        if feature.name in known
    }
    most = sorted(filter(hits.get, hits), key=lambda feature: -hits[feature])[:MOST_FEATURES]
    return tuple(Reading(each, known[each.name] > 0, each.typical, each.spread) for each in most or hits)


def measure(fields: Mapping[str, Any], text: str) -> tuple[float, str]:
    """Return how good the shown text is by what `text` asks for, from 0 to 1, and why; nan if it cannot be measured."""
    values, read = values_of(fields), readings(fields, text)
    shares = [share for reading in read if not math.isnan(share := reading.share(values))]
    shown = "; ".join(f"{reading.feature.title}: {values[reading.feature.name]:.3g}" for reading in read)
    return fmean(shares) if shares else math.nan, f"Measured, not read: {shown.replace('nan', 'undefined')}."


def usual_readings(fields: Mapping[str, Any]) -> list[Reading]:
    """Return the features that usually move with the aspect."""
    return list(readings(fields, ""))


def learned_readings(fields: Mapping[str, Any], observations: Sequence[Mapping[str, Any]], count: int) -> list[Reading]:
    """Return the `count` features that labelled texts and general knowledge speak for most.

    Features that only repeat a stronger one on what was observed are left out, and so are those that do not vary; the
    usual ones are returned where none varies.
    """
    rows = [list(values_of(item).values()) for item in observations]
    columns = np.array(rows, dtype=float).reshape(-1, len(CATALOGUE)).T
    labels = np.array([item["score"] for item in observations], dtype=float)
    n, strength = len(labels), PRIOR_R * np.array(list(usual_directions(*_about(fields)).values()))
    if n > 1 and np.ptp(labels) > 0:
        correlations = np.nan_to_num(pearson_rows(np.nan_to_num(columns), labels))
        strength = (n * correlations + PRIOR_LABELS * strength) / (n + PRIOR_LABELS)
    chosen: list[int] = []
    for place in np.argsort(-np.abs(strength), kind="stable").tolist():
        column = columns[place]
        varies = n > 1 and strength[place] != 0 and not np.isnan(column).any() and np.ptp(column) > 0
        if varies and not (chosen and np.any(np.abs(pearson_rows(columns[chosen], column)) >= SAME_TRAIT)):
            chosen.append(place)
    found = [
        Reading(CATALOGUE[place], bool(strength[place] > 0), float(columns[place].mean()), float(columns[place].std()))
        for place in chosen[:count]
    ]
    return found or usual_readings(fields)[:count]


def worded(fields: Mapping[str, Any], found: Sequence[Reading]) -> str:
    """Return a statement that is read back as the readings `found`."""
    return f"Scores for {fields['aspect']['name']} rise with {'; '.join(map(str, found))}."
