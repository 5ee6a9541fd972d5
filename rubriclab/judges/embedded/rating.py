"""Ratings by the offline judge: a criterion's words are mapped to text features, and their values read as a score."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.data.scale import show
from rubriclab.judges.embedded.wording import BY_NAME, directions, feature_scores, spoken_of, usual_share, values_of
from rubriclab.text_features import usual_directions

# Features that a criterion without numbers is taken to speak of, at most: those with the most keywords in it.
MOST_FEATURES = 4


def rate(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return one overall rating by all criteria in `fields`: the mean of the ratings by each."""
    ratings = [rating(fields, criterion) for criterion in fields["criteria"]]
    mean = sum(score for score, _ in ratings) / len(ratings)
    return {"reasoning": " ".join(reason for _, reason in ratings), "score": on_scale(mean, fields["scale"])}


def rate_together(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return one rating for each criterion in `fields`."""
    rows = []
    for criterion in fields["criteria"]:
        score, reason = rating(fields, criterion)
        rows.append({"criterion": criterion["id"], "reasoning": reason, "score": on_scale(score, fields["scale"])})
    return {"ratings": rows}


def rating(fields: Mapping[str, Any], criterion: Mapping[str, Any]) -> tuple[float, str]:
    """Return a score by one criterion, not rounded to the scale's steps, and the features it was read off."""
    values, scale, task = values_of(fields), fields["scale"], fields["words"]["task"]
    scores: list[float | None] = []
    names = []
    for reading in feature_scores(criterion):
        names.append(name := reading.feature)
        value = usual_share(name, values[name], task) if reading.usual else values[name]
        scores.append(reading.score(value, scale["low"], scale["high"]))
    if not names:
        names = features_meant(criterion, fields)
        shares = [goodness(fields, name) for name in names]
        scores = [None if math.isnan(s) else scale["low"] + s * (scale["high"] - scale["low"]) for s in shares]
    defined = [score for score in scores if score is not None]
    middle = (scale["low"] + scale["high"]) / 2
    return sum(defined) / len(defined) if defined else middle, _reason(names, values)


def goodness(fields: Mapping[str, Any], name: str) -> float:
    """Return how good a feature's value is for the aspect, from 0 to 1; nan where it is undefined."""
    share = usual_share(name, values_of(fields)[name], fields["words"]["task"])
    return share if directions(fields)[name] >= 0 else 1 - share


def features_meant(criterion: Mapping[str, Any], fields: Mapping[str, Any]) -> list[str]:
    """Return the features that a criterion speaks of most: its trait counts most, its levels least.

    Only features whose usual direction is known can be read as good or bad; a criterion that speaks of none is read by
    those that usually move with its aspect.
    """
    descriptions = " ".join(level["description"] for level in criterion["levels"])
    aspect, task = fields["aspect"], fields["words"]["task"]
    shown = (criterion["trait"], criterion["statement"], descriptions)
    return list(_features_meant(shown, aspect["name"], aspect["definition"], task))


# Every text is rated by the same criteria.
@functools.lru_cache(maxsize=1024)
def _features_meant(criterion: tuple[str, str, str], aspect: str, definition: str, task: str) -> tuple[str, ...]:
    hits, usual = _hits(*criterion), usual_directions(aspect, definition, task)
    directed = {name: hit for name, hit in hits.items() if usual[name]}
    chosen = directed or {name: abs(usual[name]) for name in BY_NAME if usual[name]}
    return tuple(sorted(chosen, key=lambda name: (-chosen[name], name))[:MOST_FEATURES])


def _hits(trait: str, statement: str, levels: str) -> Mapping[str, float]:
    hits: dict[str, float] = {}
    for text, weight in ((trait, 3.0), (statement, 2.0), (levels, 1.0)):
        for name, count in spoken_of(text).items():
            hits[name] = hits.get(name, 0.0) + weight * count / len(BY_NAME[name].keywords)
    return hits


def _reason(names: Sequence[str], values: Mapping[str, float]) -> str:
    if not names:
        return "The criterion speaks of nothing that can be measured."
    shown = (f"{BY_NAME[n].title}: {'undefined here' if math.isnan(values[n]) else show(values[n])}" for n in names)
    return f"Measured, not read: {'; '.join(shown)}."


def on_scale(score: float, scale: Mapping[str, Any]) -> float:
    """Return the legal score nearest to `score`."""
    rounded = round(score) if scale["whole"] else round(score, 4)
    return float(min(max(rounded, scale["low"]), scale["high"]))
