"""Traits of narration: dialogue, tense and characters."""

from __future__ import annotations

import math
import re

from rubriclab.text_features.definition import Measure
from rubriclab.text_features.lexicon import IRREGULAR_PAST, PRESENT_VERBS
from rubriclab.text_features.text import Text, share

MEASURES = (
    Measure(
        "quoted_share",
        "share of the text inside quotation marks",
        "share of characters",
        "elementary",
        ("dialog", "quot", "speech", "conversation", "talk", "speak"),
        better_high=("engagement",),
    ),
    Measure(
        "past_tense",
        "share of verbs in the past tense",
        "past forms over past and present forms, by ending and list",
        "elementary",
        ("past", "tense", "narrat", "story"),
    ),
    Measure(
        "tense_mixing",
        "mixing of past and present",
        "entropy of the two tenses in bits, 0 to 1",
        "Shannon (1948, Bell System Technical Journal) on elementary counts",
        ("tense", "consisten", "shift", "mix"),
        better_low=("coherence", "fluency"),
    ),
    Measure(
        "characters_named",
        "number of different names written with a capital",
        "names",
        "elementary",
        ("character", "name", "people", "cast", "person"),
    ),
)

_QUOTED = re.compile(r'"[^"\n]+"')


def measure_story(text: Text) -> dict[str, float]:
    """Values of this module's measures; nan for a text without words, tense also without verbs that show one."""
    if not text.words:
        return {entry.name: math.nan for entry in MEASURES}
    past = sum(word in IRREGULAR_PAST or (len(word) > 4 and word.endswith("ed")) for word in text.words)
    present = sum(word in PRESENT_VERBS for word in text.words)
    return {
        "quoted_share": share(sum(map(len, _QUOTED.findall(text.plain))), len(text.plain)),
        "past_tense": share(past, past + present),
        "tense_mixing": _binary_entropy(past, present),
        "characters_named": float(len(text.names)),
    }


def _binary_entropy(left: int, right: int) -> float:
    """Bits of the choice between two counted kinds; nan when neither occurs."""
    if not left + right:
        return math.nan
    shares = (left / (left + right), right / (left + right))
    return sum(p * math.log2(1 / p) for p in shares if p)
