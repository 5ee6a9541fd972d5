"""Ratings by the offline judge: a criterion's words are mapped to measures, and the measures read as a score."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.data.scale import show
from rubriclab.judges.embedded.knowledge import directions, is_number, usual_share
from rubriclab.judges.embedded.traits import BY_NAME, Reading, readings, spoken_of
from rubriclab.text_features import measure

# Measures that a criterion without numbers is taken to speak of, at most: those with the most keywords in it.
MOST_MEASURES = 4


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


def measured(fields: Mapping[str, Any]) -> Mapping[str, float]:
    """Return the measures of the text that `fields` show."""
    return measure(fields["output"], fields.get("source"), fields.get("context"))


def rating(fields: Mapping[str, Any], criterion: Mapping[str, Any]) -> tuple[float, str]:
    """Return a score by one criterion, not rounded to the scale's steps, and the measures it was read off."""
    values, scale, task = measured(fields), fields["scale"], fields["words"]["task"]
    own = _read(criterion)
    if own:
        scores = [reading.score(_value(reading, values, task), scale["low"], scale["high"]) for reading in own]
        names = [reading.measure for reading in own]
    else:
        names = measures_meant(criterion, fields)
        scores = [_generic_score(name, values[name], fields) for name in names]
    known = [score for score in scores if score is not None]
    middle = (scale["low"] + scale["high"]) / 2
    return sum(known) / len(known) if known else middle, _reason(names, values)


def _value(reading: Reading, values: Mapping[str, float], task: str) -> float:
    value = values[reading.measure]
    return usual_share(BY_NAME[reading.measure], value, task) if reading.usual and is_number(value) else value


def _read(criterion: Mapping[str, Any]) -> tuple[Reading, ...]:
    levels = tuple((level["score"], level["description"]) for level in criterion["levels"])
    return _read_cached(criterion["statement"], levels)


@functools.lru_cache(maxsize=1024)
def _read_cached(statement: str, levels: tuple[tuple[float, str], ...]) -> tuple[Reading, ...]:
    rows = [{"score": score, "description": description} for score, description in levels]
    return readings({"statement": statement, "levels": rows})


def measures_meant(criterion: Mapping[str, Any], fields: Mapping[str, Any]) -> list[str]:
    """Return the measures that a criterion speaks of most: its trait counts most, its levels least.

    Only measures whose usual direction is known can be read as good or bad; a criterion that speaks of none is read by
    those that usually move with its aspect.
    """
    descriptions = " ".join(level["description"] for level in criterion["levels"])
    hits, usual = _hits(criterion["trait"], criterion["statement"], descriptions), directions(fields)
    directed = {name: hit for name, hit in hits.items() if usual[name]}
    chosen = directed or {name: abs(usual[name]) for name in BY_NAME if usual[name]}
    return sorted(chosen, key=lambda name: (-chosen[name], name))[:MOST_MEASURES]


@functools.lru_cache(maxsize=1024)
def _hits(trait: str, statement: str, levels: str) -> Mapping[str, float]:
    hits: dict[str, float] = {}
    for text, weight in ((trait, 3.0), (statement, 2.0), (levels, 1.0)):
        for name, count in spoken_of(text).items():
            hits[name] = hits.get(name, 0.0) + weight * count / len(BY_NAME[name].keywords)
    return hits


def _generic_score(name: str, value: float, fields: Mapping[str, Any]) -> float | None:
    if not is_number(value):
        return None
    scale, share = fields["scale"], usual_share(BY_NAME[name], value, fields["words"]["task"])
    good = share if directions(fields)[name] > 0 else 1 - share
    return float(scale["low"] + good * (scale["high"] - scale["low"]))


def _reason(names: Sequence[str], values: Mapping[str, float]) -> str:
    found = [f"{BY_NAME[name].title}: {_shown(values[name])}" for name in names]
    return (
        f"Measured, not read: {'; '.join(found)}." if found else "The criterion speaks of nothing that can be measured."
    )


def _shown(value: float) -> str:
    return show(value) if is_number(value) else "undefined here"


def on_scale(score: float, scale: Mapping[str, Any]) -> float:
    """Return the legal score nearest to `score`."""
    rounded = round(score) if scale["whole"] else round(score, 4)
    return float(min(max(rounded, scale["low"]), scale["high"]))
