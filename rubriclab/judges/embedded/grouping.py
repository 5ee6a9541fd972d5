"""Groups of criteria that repeat one another, by the offline judge.

Criteria of its own are compared by the text features that they are read off, anybody else's by their content words in
order: a criterion with all words of another one and a few more is nested in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.judges.embedded.questions import own_reading
from rubriclab.judges.embedded.support import roots
from rubriclab.judges.embedded.wording import feature_scores
from rubriclab.text_features.lexicon import NEGATIONS

# The share of their features that two hypotheses have in common from which they are the same.
SAME_FEATURES = 0.5
# The fewest words of a criterion that is compared, and the most that a nested one has beyond those of the wider one.
FEWEST, MOST_MORE = 2, 3


def group(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the groups among the entries in `fields`; each has two members, the wider one first."""
    shown = roots(f"{fields['words']['output']} {fields['words']['source']}").keys()
    groups = []
    for pair in itertools.combinations(fields["entries"], 2):
        words = {entry["id"]: [root for root in roots(entry["text"]) if root not in shown] for entry in pair}
        members = sorted(words, key=lambda name: len(words[name]))
        own = [_own(entry) for entry in pair]
        if all(own):
            relation, reason = "same" if _overlap(*own) >= SAME_FEATURES else "", "Read off much the same features."
            members = [entry["id"] for entry in pair]
        elif any(own) or len({_negated(entry["text"]) for entry in pair}) > 1:
            continue
        else:
            relation, reason = _relation(*(words[name] for name in members)), "Much the same words."
        if relation:
            groups.append({"reason": reason, "relation": relation, "members": members, "best": members[0]})
    return {"groups": groups}


def _own(entry: Mapping[str, Any]) -> set[Any]:
    """Return what an entry of the offline judge is read off; nothing for anybody else's."""
    if entry["levels"]:
        hypothesis = {"statement": entry["text"], "levels": entry["levels"]}
        return {reading.feature for reading in feature_scores(hypothesis)}
    return {own_reading(entry["text"])} - {None}


def _overlap(a: set[Any], b: set[Any]) -> float:
    return len(a & b) / len(a | b)


def _negated(text: str) -> bool:
    return not NEGATIONS.isdisjoint(text.lower().replace("n't", " not").replace("-", " ").split())


def _relation(wider: Sequence[str], narrower: Sequence[str]) -> str:
    """Return "nested" if all words of `wider` stand in `narrower` in their order, with at most a few more."""
    if wider == narrower and wider:
        return "same"
    rest = iter(narrower)
    within = FEWEST <= len(wider) < len(narrower) <= len(wider) + MOST_MORE and all(word in rest for word in wider)
    return "nested" if within else ""
