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
from rubriclab.judges.embedded.wording import readings
from rubriclab.text_features.lexicon import NEGATIONS

# The share of their features that two hypotheses have in common from which they are the same.
SAME_FEATURES = 0.5
# Content words that a nested criterion has beyond those of the wider one, at most.
MOST_MORE = 3
# A criterion of fewer content words is too short to be compared.
FEWEST = 2


def group(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the groups among the entries in `fields`; each has two members, the wider one first."""
    shown = roots(f"{fields['words']['output']} {fields['words']['source']}").keys()
    groups = []
    for one, other in itertools.combinations(fields["entries"], 2):
        if _same_own(one, other):
            groups.append(_grouped("same", "Read off much the same features.", one, other))
        elif not (_own(one) or _own(other)) and _negated(one["text"]) == _negated(other["text"]):
            words = [[root for root in roots(entry["text"]) if root not in shown] for entry in (one, other)]
            wider, narrower = (one, other) if len(words[0]) <= len(words[1]) else (other, one)
            if _within(*sorted(words, key=len)):
                relation = "same" if words[0] == words[1] else "nested"
                groups.append(_grouped(relation, "Much the same words.", wider, narrower))
    return {"groups": groups}


def _grouped(relation: str, reason: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    members = [first["id"], second["id"]]
    return {"reason": reason, "relation": relation, "members": members, "best": members[0]}


def _own(entry: Mapping[str, Any]) -> Any:
    """Return what an entry of the offline judge is read off; nothing for anybody else's."""
    return _features(entry) if entry["levels"] else own_reading(entry["text"])


def _features(entry: Mapping[str, Any]) -> set[str]:
    return {reading.feature for reading in readings({"statement": entry["text"], "levels": entry["levels"]})}


def _same_own(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    a, b = _own(one), _own(other)
    if not (a and b):
        return False
    return len(a & b) / len(a | b) >= SAME_FEATURES if one["levels"] and other["levels"] else a == b


def _negated(text: str) -> bool:
    return not NEGATIONS.isdisjoint(text.lower().replace("n't", " not").replace("-", " ").split())


def _within(wider: Sequence[str], narrower: Sequence[str]) -> bool:
    """Return whether all words of `wider` stand in `narrower` in their order, with at most a few more."""
    if len(wider) < FEWEST or len(narrower) - len(wider) > MOST_MORE:
        return False
    rest = iter(narrower)
    return all(word in rest for word in wider)
