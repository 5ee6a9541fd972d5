"""What the offline judge holds to be usual before it has seen a label: general knowledge, not any data set's."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from typing import Any

from rubriclab.judges.embedded.traits import is_share, spoken_of
from rubriclab.text_features import Measure, usual_directions

# Orders of magnitude of counts in a summary of some sixty words, where one is far from typical.
TYPICAL: Mapping[str, float] = {
    "words": 60,
    "log_words": 4,
    "sentences": 4,
    "words_per_sentence": 17,
    "shortest_sentence": 10,
    "longest_sentence": 25,
    "copied_density": 10,
    "longest_copy": 10,
    "splices": 10,
    "names": 10,
    "numbers": 3,
    "distinct_content_words": 3.5,
    "word_length": 4.5,
    "emotion_words": 2,
    "characters_named": 3,
    "longest_context_copy": 3,
}


# How many times as long the texts of other tasks usually are: stories of some hundred words, replies of a sentence or
# two. Counts that grow with the text grow with it.
EXTENT: Mapping[str, float] = {"story": 6.0, "dialogue": 0.4}
GROWING = frozenset({"words", "sentences", "splices", "names", "numbers", "emotion_words", "characters_named"})


def directions(fields: Mapping[str, Any]) -> Mapping[str, float]:
    """Return for each measure the way it usually moves with the aspect that `fields` are about, from -1 to 1."""
    aspect, words = fields["aspect"], fields["words"]
    return _directions(aspect["name"], aspect["definition"], words["task"])


def published(findings: Iterable[str]) -> dict[str, int]:
    """Return how many of the findings speak of each measure; measures that none speaks of are absent."""
    counts: dict[str, int] = {}
    for finding in findings:
        for name in spoken_of(finding):
            counts[name] = counts.get(name, 0) + 1
    return counts


def usual_share(entry: Measure, value: float, task: str) -> float:
    """Return a measure's value as a share of 0 to 1 that grows with it; 0.5 where a count is typical of the task."""
    if is_share(entry):
        return min(max(value, 0.0), 1.0)
    if entry.name == "reading_ease":
        return min(max(value / 100, 0.0), 1.0)
    if entry.name == "length_to_source":
        return 1 / (1 + math.exp(-value))
    typical = _typical(entry.name, EXTENT.get(task, 1.0))
    return max(value, 0.0) / (max(value, 0.0) + typical)


def is_number(value: float) -> bool:
    """Return whether a measure is defined."""
    return not math.isnan(value)


def _typical(name: str, extent: float) -> float:
    typical = TYPICAL.get(name, 1.0)
    if name == "log_words":
        return typical + math.log(extent)
    return typical * extent if name in GROWING else typical


@functools.lru_cache(maxsize=64)
def _directions(aspect: str, definition: str, task: str) -> Mapping[str, float]:
    return usual_directions(aspect, definition, task)
