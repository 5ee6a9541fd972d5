"""Hypotheses and sub-dimensions by the offline judge: the text features that the observed labels follow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from rubriclab.judges.embedded.questions import MIDDLE, POINTS, own_question, own_reading
from rubriclab.judges.embedded.support import clauses
from rubriclab.judges.embedded.wording import (
    AMOUNTS,
    BY_NAME,
    directions,
    fallback_text,
    feature_scores,
    findings_about,
    level_text,
    spoken_of,
    usual_share,
    values_of,
)
from rubriclab.sentences import split_sentences
from rubriclab.stats.correlation import FloatArray, pearson_rows
from rubriclab.text_features import CATALOGUE

# What is believed of a feature before any label is seen: a modest correlation in its usual direction, as much as so
# many labels would teach. Each finding that speaks of it makes that somewhat stronger.
PRIOR_R = 0.3
PRIOR_LABELS = 10
FINDING_BONUS = 0.1
MOST_FINDINGS = 3

# Features that one hypothesis speaks of: a few together are steadier than single ones.
FEATURES_EACH = 3

# Two features that move together this closely over what was observed are one trait, not two.
SAME_TRAIT = 0.95

# The share of the scale's width taken for the labels' spread where all observed labels are equal.
BLANK_SPREAD = 0.25


@dataclass(frozen=True, slots=True)
class Belief:
    """How strongly, and which way, a feature is believed to move with the labels: a shrunken correlation."""

    feature: str
    r: float


def propose(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return `count` hypotheses on the features that observations and findings speak for most."""
    observations, count = fields["observations"], fields["count"]
    chosen = distinct_beliefs(beliefs_about(fields, observations), observations, count * FEATURES_EACH)
    # Dealt out, the strongest first, so that each hypothesis leads with one of the strongest.
    bundles = [chosen[start::count] for start in range(min(count, len(chosen)))]
    return {
        "reasoning": f"Compared {len(CATALOGUE)} text features with the labels of {len(observations)} texts.",
        "hypotheses": [worded(fields, bundle, observations) for bundle in bundles],
    }


def refine(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hypotheses with thresholds fitted to observations; without any, as they are."""
    observations = fields["observations"]
    beliefs = {belief.feature: belief for belief in beliefs_about(fields, observations)} if observations else {}
    refined = []
    for hypothesis in fields["hypotheses"]:
        bundle = [beliefs[reading.feature] for reading in feature_scores(hypothesis) if reading.feature in beliefs]
        refined.append(worded(fields, bundle, observations) if bundle else hypothesis)
    return {"reasoning": f"Fitted the thresholds to {len(observations)} texts.", "hypotheses": refined}


def propose_sub_dimensions(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return up to `count` sub-dimensions (SEAL): each asks for a feature that distinguishes the units of the texts.

    The question cuts the feature where the units that are shown lie in the middle.
    """
    texts = fields["texts"]
    beliefs = beliefs_about({**fields, "findings": ()}, texts)
    spoken = {*spoken_of(" ".join(f"{known['name']} {known['question']}" for known in fields["known"]))}
    spoken |= {own[0] for known in fields["known"] if (own := own_reading(known["question"]))}
    units = [unit for text in texts for unit in _units(text, fields["kind"])]
    shares = {belief.feature: _shares(belief.feature, units, fields) for belief in beliefs}
    varying = [belief for belief in beliefs if not units or len(set(shares[belief.feature])) > 1] or beliefs
    new = [belief for belief in varying if belief.feature not in spoken] or varying
    chosen = distinct_beliefs(new, texts, fields["count"])
    return {
        "reasoning": f"Compared text features with the labels of {len(texts)} texts.",
        "sub_dimensions": [_sub_dimension(belief, shares[belief.feature]) for belief in chosen],
    }


def _units(text: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the text's fields, once for each of its units with this in the text's place."""
    sentences = split_sentences(text["output"])
    pieces: Mapping[str, Sequence[str]] = {
        "sentence": sentences,
        "sentence pair": [" ".join(pair) for pair in pairwise(sentences)],
        "fact": [clause for sentence in sentences for clause in clauses(sentence)],
    }
    return [{**text, "output": piece} for piece in pieces.get(kind, [text["output"]])]


def _shares(name: str, units: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]) -> list[float]:
    shares = [usual_share(name, values_of(unit)[name], fields["words"]["task"]) for unit in units]
    return [share for share in shares if not math.isnan(share)]


def _sub_dimension(belief: Belief, shares: Sequence[float]) -> dict[str, str]:
    feature, rising = BY_NAME[belief.feature], belief.r > 0
    middle = 100 * sum(shares) / len(shares) if shares else MIDDLE
    return {
        "name": feature.title,
        "definition": f"Measured in {feature.unit}; {'more' if rising else 'less'} of it goes with higher scores.",
        "question": own_question(belief.feature, min(POINTS, key=lambda p: (abs(p - middle), p)), rising=rising),
    }


def beliefs_about(fields: Mapping[str, Any], observations: Sequence[Mapping[str, Any]]) -> list[Belief]:
    """Return what is believed of each feature after what was observed and published, the strongest first.

    A belief is the mean of prior and correlation with the labels, weighted by labels seen and labels' worth of prior:
    the prior alone, where nothing can be correlated; 0, where the labels differ and the feature does not.
    """
    usual, spoken = directions(fields), findings_about(fields["findings"])
    bonus = [1 + FINDING_BONUS * min(spoken.get(feature.name, 0), MOST_FINDINGS) for feature in CATALOGUE]
    priors = PRIOR_R * np.array([usual[feature.name] for feature in CATALOGUE]) * bonus
    shrunken = _shrunken(priors, observations)
    # Texts that no feature distinguishes teach nothing; what is usual is then all there is.
    values = shrunken if shrunken.any() else priors
    beliefs = [Belief(feature.name, float(r)) for feature, r in zip(CATALOGUE, values, strict=True) if r]
    return sorted(beliefs, key=lambda belief: (-abs(belief.r), belief.feature))


def _shrunken(priors: FloatArray, observations: Sequence[Mapping[str, Any]]) -> FloatArray:
    labels = np.array([item["score"] for item in observations], dtype=float)
    n = len(labels)
    if n < 4 or np.ptp(labels) == 0:
        return priors
    rows = [list(values_of(item).values()) for item in observations]
    values = np.array(rows).T
    defined = ~np.isnan(values).any(axis=1)
    r = pearson_rows(values[defined], labels)
    shrunken = priors.copy()
    shrunken[defined] = np.where(np.isnan(r), 0.0, (n * r + PRIOR_LABELS * priors[defined]) / (n + PRIOR_LABELS))
    return shrunken


def distinct_beliefs(beliefs: Sequence[Belief], observations: Sequence[Mapping[str, Any]], count: int) -> list[Belief]:
    """Return the `count` strongest beliefs, leaving out features that only repeat a stronger one on what was seen."""
    if not observations:
        return list(beliefs[:count])
    chosen: list[Belief] = []
    columns: list[FloatArray] = []
    for belief in beliefs:
        column = _column(belief.feature, observations)
        if np.isnan(column).any() or np.ptp(column) == 0:
            continue
        if not columns or np.all(np.abs(pearson_rows(columns, column)) < SAME_TRAIT):
            chosen.append(belief)
            columns.append(column)
        if len(chosen) == count:
            break
    return chosen or list(beliefs[:count])


def worded(
    fields: Mapping[str, Any], bundle: Sequence[Belief], observations: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a hypothesis on a bundle of features, with a threshold per level where observations give one."""
    columns = [_level_texts(fields["scale"], belief, observations) for belief in bundle]
    levels = [
        {"score": anchor, "description": "; ".join(texts)}
        for anchor, texts in zip(fields["scale"]["anchors"], zip(*columns, strict=True), strict=True)
    ]
    first, more = BY_NAME[bundle[0].feature].title, len(bundle) - 1
    trait = f"{first} (and {more} more)" if more else first
    return {"trait": trait, "statement": _statement(fields, bundle, observations), "levels": levels}


def _level_texts(scale: Mapping[str, Any], belief: Belief, observations: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """Return what each level says of one feature: the spread of the feature matched to the spread of the labels."""
    feature, anchors = BY_NAME[belief.feature], scale["anchors"]
    values = _column(feature.name, observations)
    values = values[~np.isnan(values)]
    if not len(values) or np.ptp(values) == 0:
        amounts = tuple(AMOUNTS) if belief.r > 0 else tuple(AMOUNTS)[::-1]
        places = np.linspace(0, len(amounts) - 1, len(anchors)).round().astype(int)
        return [f"{feature.title}: {amounts[place]}" for place in places]
    labels = np.array([item["score"] for item in observations], dtype=float)
    spread = float(labels.std()) or BLANK_SPREAD * (scale["high"] - scale["low"])
    step = math.copysign(float(values.std()) / spread, belief.r)
    return [level_text(feature, float(values.mean() + (anchor - labels.mean()) * step)) for anchor in anchors]


def _column(name: str, observations: Sequence[Mapping[str, Any]]) -> FloatArray:
    return np.array([values_of(item)[name] for item in observations], dtype=float)


def _statement(fields: Mapping[str, Any], bundle: Sequence[Belief], observations: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for course, sign in (("rise", 1), ("fall", -1)):
        features = [BY_NAME[belief.feature] for belief in bundle if (belief.r > 0) == (sign > 0)]
        listed = "; ".join(f"{feature.title} ({feature.unit})" for feature in features)
        if features:
            parts.append(f"Scores for {fields['aspect']['name']} {course} with: {listed}.")
    if observations:
        parts.append(fallback_text(float(np.mean([item["score"] for item in observations]))))
    return " ".join(parts)
