"""Hypotheses by the offline judge: which measures the observed labels follow, with the thresholds spelled out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rubriclab.judges.embedded.knowledge import directions, published
from rubriclab.judges.embedded.rating import measured
from rubriclab.judges.embedded.traits import AMOUNTS, BY_NAME, Reading, fallback_text, level_text, readings
from rubriclab.stats.correlation import FloatArray, pearson_rows
from rubriclab.text_features import CATALOGUE, Measure

# What is held of a measure before any label is seen: a modest correlation in its usual direction, as much as so many
# labels would teach. Each finding that speaks of it makes that somewhat stronger.
PRIOR_R = 0.3
PRIOR_LABELS = 10
FINDING_BONUS = 0.1
MOST_FINDINGS = 3

# Measures that one hypothesis speaks of. Single measures of few labels are chancy; a few together are steadier.
MEASURES_EACH = 3

# Two measures that move together this closely over what was observed are one trait, not two.
SAME_TRAIT = 0.95

# The share of their measures that two hypotheses have in common from which on the later one tells nothing new.
SAME_MEASURES = 0.5

# The share of the scale's width taken for the labels' spread where all observed labels are equal.
BLANK_SPREAD = 0.25


@dataclass(frozen=True, slots=True)
class Belief:
    """How strongly, and which way, a measure is held to move with the labels: a shrunken correlation."""

    measure: str
    r: float


def propose(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return `count` hypotheses on the measures that observations and findings speak for most."""
    observations = fields["observations"]
    # Texts that no measure tells apart teach nothing; what is usual is then all there is.
    beliefs = beliefs_about(fields, observations) or beliefs_about(fields, ())
    if observations:
        seen = f"Compared {len(CATALOGUE)} surface measures with the labels of {len(observations)} texts."
    else:
        seen = f"No labels to compare with: {len(fields['findings'])} findings and what is usual had to do."
    chosen = distinct_beliefs(beliefs, observations, fields["count"] * MEASURES_EACH)
    hypotheses = [worded(fields, bundle, observations) for bundle in _bundles(chosen, fields["count"])]
    return {"reasoning": seen, "hypotheses": hypotheses}


def refine(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return hypotheses with thresholds fitted anew to observations, or checked against what is usual.

    Findings take out hypotheses whose measures all run against their usual direction, though at least one stays.
    """
    hypotheses, observations = fields["hypotheses"], fields["observations"]
    if observations:
        beliefs = {belief.measure: belief for belief in beliefs_about(fields, observations)}
        refined = []
        for hypothesis in hypotheses:
            bundle = [beliefs[name] for name in _measures(hypothesis) if name in beliefs]
            refined.append(worded(fields, bundle, observations) if bundle else hypothesis)
        return {"reasoning": f"Fitted the thresholds to {len(observations)} texts.", "hypotheses": refined}
    usual = directions(fields)
    kept = [h for h in hypotheses if not readings(h) or any(_rises(r) * usual[r.measure] >= 0 for r in readings(h))]
    return {"reasoning": "Took out what runs against what is usual.", "hypotheses": kept or hypotheses[:1]}


def same_measures(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two hypotheses are read off much the same measures."""
    return _overlap(set(_measures(one)), set(_measures(other))) >= SAME_MEASURES


def _measures(hypothesis: Mapping[str, Any]) -> list[str]:
    return [reading.measure for reading in readings(hypothesis)]


def _overlap(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a and b else 0.0


def beliefs_about(fields: Mapping[str, Any], observations: Sequence[Mapping[str, Any]]) -> list[Belief]:
    """Return what is held of each measure after what was observed and published, the strongest first."""
    usual, spoken = directions(fields), published(fields["findings"])
    support = [1 + FINDING_BONUS * min(spoken.get(entry.name, 0), MOST_FINDINGS) for entry in CATALOGUE]
    priors = [PRIOR_R * more * usual[entry.name] for entry, more in zip(CATALOGUE, support, strict=True)]
    shrunken = zip(CATALOGUE, _shrunken(priors, observations), strict=True)
    beliefs = [Belief(entry.name, r) for entry, r in shrunken if r]
    return sorted(beliefs, key=lambda belief: (-abs(belief.r), belief.measure))


def _shrunken(priors: Sequence[float], observations: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return each measure's correlation with the labels, drawn towards its prior.

    That is the mean of both, weighted by labels seen and labels' worth of prior: the prior alone, where nothing can be
    correlated; 0, where the labels differ and the measure does not.
    """
    labels = np.array([item["score"] for item in observations], dtype=float)
    n = len(labels)
    if n < 4 or np.ptp(labels) == 0:
        return list(priors)
    rows = [measured(item) for item in observations]
    values = np.array([[row[entry.name] for row in rows] for entry in CATALOGUE], dtype=float)
    known = ~np.isnan(values).any(axis=1)
    found = np.array(priors)
    # All measures at once: one by one they would take longer than everything else that is proposed from.
    r = pearson_rows(values[known], labels)
    found[known] = np.where(np.isnan(r), 0.0, (n * r + PRIOR_LABELS * found[known]) / (n + PRIOR_LABELS))
    return [float(value) for value in found]


def distinct_beliefs(beliefs: Sequence[Belief], observations: Sequence[Mapping[str, Any]], count: int) -> list[Belief]:
    """Return the `count` strongest beliefs, leaving out measures that only repeat a stronger one on what was seen."""
    if not observations:
        return list(beliefs[:count])
    chosen: list[Belief] = []
    columns: list[FloatArray] = []
    for belief in beliefs:
        column = np.array([measured(item)[belief.measure] for item in observations], dtype=float)
        if np.isnan(column).any() or np.ptp(column) == 0:
            continue
        if not columns or np.all(np.abs(pearson_rows(columns, column)) < SAME_TRAIT):
            chosen.append(belief)
            columns.append(column)
        if len(chosen) == count:
            break
    return chosen or list(beliefs[:count])


def _bundles(chosen: Sequence[Belief], count: int) -> list[Sequence[Belief]]:
    """Deal the beliefs out to `count` hypotheses, the strongest first, so that each leads with one of the strongest."""
    return [chosen[start::count] for start in range(min(count, len(chosen)))]


def worded(
    fields: Mapping[str, Any], bundle: Sequence[Belief], observations: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a hypothesis on a bundle of measures, with a threshold a level where observations give one."""
    columns = [_level_texts(fields, belief, observations) for belief in bundle]
    levels = [
        {"score": anchor, "description": "; ".join(texts)}
        for anchor, texts in zip(fields["scale"]["anchors"], zip(*columns, strict=True), strict=True)
    ]
    return {"trait": _trait(bundle), "statement": _statement(fields, bundle, observations), "levels": levels}


def _level_texts(fields: Mapping[str, Any], belief: Belief, observations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what each level says of one measure: the spread of the measure matched to the spread of the labels."""
    entry, scale = BY_NAME[belief.measure], fields["scale"]
    values = np.array([measured(item)[entry.name] for item in observations], dtype=float)
    values = values[~np.isnan(values)]
    if not len(values) or np.ptp(values) == 0:
        return _amounts(entry, scale["anchors"], rises=belief.r > 0)
    labels = np.array([item["score"] for item in observations], dtype=float)
    spread = float(labels.std()) or BLANK_SPREAD * (scale["high"] - scale["low"])
    step = math.copysign(float(values.std()) / spread, belief.r)
    middle, centre = float(values.mean()), float(labels.mean())
    return [level_text(entry, middle + (anchor - centre) * step) for anchor in scale["anchors"]]


def _amounts(entry: Measure, anchors: Sequence[float], *, rises: bool) -> list[str]:
    ordered = tuple(AMOUNTS) if rises else tuple(AMOUNTS)[::-1]
    places = np.linspace(0, len(ordered) - 1, len(anchors)).round().astype(int)
    return [f"{entry.title}: {ordered[place]}" for place in places]


def _trait(bundle: Sequence[Belief]) -> str:
    """Return the name of the leading measure; the statement names the others."""
    first, others = BY_NAME[bundle[0].measure].title, len(bundle) - 1
    return f"{first} (and {others} more)" if others else first


def _statement(fields: Mapping[str, Any], bundle: Sequence[Belief], observations: Sequence[Mapping[str, Any]]) -> str:
    rising = [BY_NAME[belief.measure] for belief in bundle if belief.r > 0]
    falling = [BY_NAME[belief.measure] for belief in bundle if belief.r <= 0]
    parts = [
        f"Scores for {fields['aspect']['name']} {course} with: {'; '.join(f'{e.title} ({e.unit})' for e in entries)}."
        for course, entries in (("rise", rising), ("fall", falling))
        if entries
    ]
    if observations:
        parts.append(fallback_text(float(np.mean([item["score"] for item in observations]))))
    return " ".join(parts)


def _rises(reading: Reading) -> int:
    points = sorted(reading.points)
    return 1 if points[-1][1] >= points[0][1] else -1
