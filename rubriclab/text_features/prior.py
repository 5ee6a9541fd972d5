"""What is usually true of an aspect before any label is seen: which text features move with it, and which way.

Thirty labels leave a correlation with a standard error of about 0.18, so pulling each one towards what is generally
known keeps chance findings out. The knowledge is the catalogue's `better_high` and `better_low`, which differ by the
kind of aspect that a name and its definition speak of, and weights learned from public sets over all their aspects
(`directions.json`, learned from the ratings of public sets).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import get_args

from rubriclab.text_features.catalogue import CATALOGUE
from rubriclab.text_features.feature import AspectKind, TextFeature

_KIND_WORDS: dict[AspectKind, tuple[str, ...]] = {
    "fluency": ("fluen", "gramma", "natural", "readab", "understandab", "clarity", "wording", "style"),
    "coherence": ("coheren", "cohes", "structur", "organi", "logic", "flow"),
    "coverage": ("relevan", "informati", "cover", "important", "complete", "helpful", "useful"),
    "faithfulness": ("consisten", "faithful", "factual", "ground", "hallucinat", "accura", "correct", "support"),
    "engagement": ("engag", "interest", "empath", "surpris", "complex", "creativ", "emotion", "fun", "humo", "vivid"),
}


def aspect_kinds(aspect: str, definition: str = "") -> tuple[AspectKind, ...]:
    """The kinds that the aspect's name speaks of, or else its definition; all kinds where neither says."""
    return _kinds_in(aspect) or _kinds_in(definition) or get_args(AspectKind)


def usual_directions(aspect: str, definition: str = "", task: str = "") -> dict[str, float]:
    """Return each text feature's usual direction for this aspect, from -1 to 1; 0 where nothing is known.

    An aspect of several kinds has the mean of their directions. Features whose directions are tied to other tasks
    than `task` have 0.
    """
    kinds = aspect_kinds(aspect, definition)
    return {feature.name: _usual(feature, kinds, task) for feature in CATALOGUE}


def prior_directions(
    aspect: str, definition: str = "", task: str = "", learned: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return each text feature's weight before any label, for standardised values; the largest size is 1.

    The mean of the usual directions and of the weights learned from public sets, each with sizes that sum to 1. On sets
    left out of the learning, the mean agrees better with people than either alone (`docs/decisions/0012`).

    Args:
        learned: the learned weights; those shipped by default.
    """
    usual = usual_directions(aspect, definition, task)
    parts = [_unit(usual), _unit(learned_directions() if learned is None else learned)]
    total = {name: fmean(part.get(name, 0.0) for part in parts) for name in usual}
    largest = max(map(abs, total.values())) or 1.0
    return {name: value / largest for name, value in total.items()}


@cache
def learned_directions() -> Mapping[str, float]:
    """The weight of each text feature that public sets gave it, over all their aspects."""
    weights: dict[str, float] = json.loads((Path(__file__).parent / "directions.json").read_text())
    return weights


def _unit(weights: Mapping[str, float]) -> dict[str, float]:
    size = sum(map(abs, weights.values())) or 1.0
    return {name: weight / size for name, weight in weights.items()}


def _kinds_in(words: str) -> tuple[AspectKind, ...]:
    found = re.findall(r"[a-z]+", words.lower())
    return tuple(kind for kind, stems in _KIND_WORDS.items() if any(word.startswith(stems) for word in found))


def _usual(feature: TextFeature, kinds: tuple[AspectKind, ...], task: str) -> float:
    if feature.tasks and task not in feature.tasks:
        return 0.0
    return fmean(feature.direction(kind) for kind in kinds)
