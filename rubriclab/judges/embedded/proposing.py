"""Hypotheses by the offline judge: which measures the observed labels follow, with the thresholds spelled out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rubriclab.judges.embedded.knowledge import direction, kind_of, published
from rubriclab.judges.embedded.rating import measured
from rubriclab.judges.embedded.traits import AMOUNTS, BY_NAME, fallback_text, level_text, readings
from rubriclab.measures import CATALOGUE, Measure
from rubriclab.stats.correlation import FloatArray, pearson

# What is held of a measure before any label: correlations of surface measures with human scores are modest, and
# known directions are right more often than not. In Fisher's z.
PRIOR_MEAN = 0.2
PRIOR_SD = 0.25
FINDING_BONUS = 0.05
MOST_FINDINGS = 3

# Two measures that move together this closely over what was observed are one trait, not two.
SAME_TRAIT = 0.95

# The share of the scale's width taken for the labels' spread where all observed labels are equal.
BLANK_SPREAD = 0.25


@dataclass(frozen=True, slots=True)
class Belief:
    """How strongly, and which way, a measure is held to move with the labels (a shrunken correlation, Fisher's z)."""

    measure: str
    z: float


def propose(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return `count` hypotheses on the measures that observations and findings speak for most."""
    observations = fields["observations"]
    # Texts that no measure tells apart teach nothing; what is usual is then all there is.
    beliefs = _beliefs(fields, observations) or _beliefs(fields, ())
    if observations:
        chosen = _distinct(beliefs, observations, fields["count"])
        hypotheses = [_fitted(fields, belief, observations) for belief in chosen]
        seen = f"Compared {len(CATALOGUE)} surface measures with the labels of {len(observations)} texts."
    else:
        hypotheses = [_unfitted(fields, belief) for belief in beliefs[: fields["count"]]]
        seen = (
            f"No labels to compare with; {len(fields['findings'])} findings and what is usual were taken as they are."
        )
    return {"reasoning": seen, "hypotheses": hypotheses}


def refine(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return hypotheses with thresholds fitted anew to observations, or checked against what findings hold usual.

    Findings take out hypotheses that run against the usual direction of their measure; at least one always stays.
    """
    hypotheses, observations = fields["hypotheses"], fields["observations"]
    own = [(hypothesis, [reading.measure for reading in readings(hypothesis)]) for hypothesis in hypotheses]
    if observations:
        beliefs = {belief.measure: belief for belief in _beliefs(fields, observations)}
        refined = [
            _fitted(fields, beliefs[names[0]], observations) if names and names[0] in beliefs else hypothesis
            for hypothesis, names in own
        ]
        return {"reasoning": f"Fitted the thresholds to {len(observations)} texts.", "hypotheses": refined}
    kind = kind_of(fields["aspect"])
    kept = [h for h, names in own if not names or _rises(h) * direction(names[0], kind) >= 0]
    return {"reasoning": "Took out what runs against what is usual.", "hypotheses": kept or hypotheses[:1]}


def redundant(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first of the others that is read off the same measures as the candidate."""
    wanted = _read_off(fields["candidate"])
    same = next((other["id"] for other in fields["others"] if wanted and _read_off(other) == wanted), None)
    reason = f"{same} is read off the same measure." if same else "None of the others is read off the same measure."
    return {"reasoning": reason, "same_as": same or "none"}


def _read_off(hypothesis: Mapping[str, Any]) -> set[str]:
    return {reading.measure for reading in readings(hypothesis)}


def _beliefs(fields: Mapping[str, Any], observations: Sequence[Mapping[str, Any]]) -> list[Belief]:
    kind, spoken = kind_of(fields["aspect"]), published(fields["findings"])
    labels = np.array([item["score"] for item in observations], dtype=float)
    rows = [measured(item) for item in observations]
    beliefs = []
    for entry in CATALOGUE:
        prior = direction(entry.name, kind) * (
            PRIOR_MEAN + FINDING_BONUS * min(spoken.get(entry.name, 0), MOST_FINDINGS)
        )
        z = _posterior(prior, np.array([row[entry.name] for row in rows], dtype=float), labels)
        if z:
            beliefs.append(Belief(entry.name, z))
    return sorted(beliefs, key=lambda belief: (-abs(belief.z), belief.measure))


def _posterior(prior: float, values: FloatArray, labels: FloatArray) -> float:
    """Return the normal posterior mean of a correlation in Fisher's z.

    The prior, where nothing can be correlated; 0, where the labels differ and the measure does not.
    """
    n = len(values)
    if n < 4 or np.isnan(values).any() or np.ptp(labels) == 0:
        return prior
    r = pearson(values, labels)
    if math.isnan(r):
        return 0.0
    z = math.atanh(min(max(r, -0.99), 0.99))
    precision, evidence = 1 / PRIOR_SD**2, n - 3
    return (prior * precision + z * evidence) / (precision + evidence)


def _distinct(beliefs: Sequence[Belief], observations: Sequence[Mapping[str, Any]], count: int) -> list[Belief]:
    chosen: list[Belief] = []
    columns: list[FloatArray] = []
    for belief in beliefs:
        column = np.array([measured(item)[belief.measure] for item in observations], dtype=float)
        if np.isnan(column).any() or np.ptp(column) == 0:
            continue
        if all(abs(pearson(column, other)) < SAME_TRAIT for other in columns):
            chosen.append(belief)
            columns.append(column)
        if len(chosen) == count:
            break
    return chosen or list(beliefs[:count])


def _fitted(fields: Mapping[str, Any], belief: Belief, observations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a hypothesis whose levels match the spread of the measure to the spread of the labels."""
    entry, scale = BY_NAME[belief.measure], fields["scale"]
    values = np.array([measured(item)[entry.name] for item in observations], dtype=float)
    values = values[~np.isnan(values)]
    labels = np.array([item["score"] for item in observations], dtype=float)
    if not len(values) or np.ptp(values) == 0:
        return _unfitted(fields, belief)
    spread = float(labels.std()) or BLANK_SPREAD * (scale["high"] - scale["low"])
    step = math.copysign(float(values.std()) / spread, belief.z)
    return _hypothesis(
        fields,
        entry,
        rises=belief.z > 0,
        levels=_levels(entry, scale["anchors"], float(values.mean()), float(labels.mean()), step),
        otherwise=fallback_text(float(labels.mean())),
    )


def _levels(entry: Measure, anchors: Sequence[float], mean: float, label: float, step: float) -> list[dict[str, Any]]:
    values = [mean + (anchor - label) * step for anchor in anchors]
    return [
        {"score": anchor, "description": level_text([(entry, value)])}
        for anchor, value in zip(anchors, values, strict=True)
    ]


def _unfitted(fields: Mapping[str, Any], belief: Belief) -> dict[str, Any]:
    entry, anchors = BY_NAME[belief.measure], fields["scale"]["anchors"]
    ordered = tuple(AMOUNTS) if belief.z > 0 else tuple(AMOUNTS)[::-1]
    places = np.linspace(0, len(ordered) - 1, len(anchors)).round().astype(int)
    levels = [
        {"score": anchor, "description": f"{entry.title}: {ordered[place]}"}
        for anchor, place in zip(anchors, places, strict=True)
    ]
    return _hypothesis(fields, entry, rises=belief.z > 0, levels=levels, otherwise="")


def _hypothesis(
    fields: Mapping[str, Any], entry: Measure, *, rises: bool, levels: list[dict[str, Any]], otherwise: str
) -> dict[str, Any]:
    output, aspect = fields["words"]["output"], fields["aspect"]["name"]
    course = "rise" if rises else "fall"
    statement = f"Scores for {aspect} {course} with the {entry.title} of the {output} ({entry.unit}). {otherwise}"
    return {"trait": entry.title, "statement": statement.strip(), "levels": levels}


def _rises(hypothesis: Mapping[str, Any]) -> int:
    points = sorted(readings(hypothesis)[0].points)
    return 1 if points[-1][1] >= points[0][1] else -1
