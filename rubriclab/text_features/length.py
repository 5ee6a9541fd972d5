"""How long a text and its sentences are."""

from __future__ import annotations

import math
from statistics import fmean, pstdev

from rubriclab.text_features.definition import Measure
from rubriclab.text_features.text import Text

WORD_COUNT = "words"
"""The measure that every learned rubric is held against."""

_LENGTH = ("length", "long", "short", "brief", "detail", "concise", "thorough", "elaborat", "extensive", "develop")
_SENTENCE_LENGTH = ("sentence", "complex", "simple", "elaborat", "readab", "clear", "long", "short")

MEASURES = (
    Measure(
        WORD_COUNT,
        "number of words",
        "words",
        "elementary",
        _LENGTH,
        better_high=("coverage", "engagement"),
    ),
    Measure(
        "log_words",
        "number of words on a logarithmic scale",
        "natural log of words + 1",
        "elementary; Fechner's law of diminishing differences",
        _LENGTH,
        better_high=("coverage", "engagement"),
    ),
    Measure(
        "sentences",
        "number of sentences",
        "sentences",
        "elementary",
        (*_LENGTH, "sentence"),
        better_high=("coverage", "engagement"),
    ),
    Measure(
        "words_per_sentence",
        "average sentence length",
        "words per sentence",
        "elementary; used by Flesch (1948, Journal of Applied Psychology)",
        _SENTENCE_LENGTH,
    ),
    Measure(
        "sentence_length_variation",
        "variation of sentence length",
        "standard deviation over mean",
        "elementary",
        ("varia", "varied", "rhythm", "flow", "monoton", "sentence", "style"),
        better_high=("engagement",),
    ),
    Measure(
        "shortest_sentence",
        "length of the shortest sentence",
        "words",
        "elementary",
        (*_SENTENCE_LENGTH, "fragment", "complete"),
        better_high=("fluency",),
    ),
    Measure(
        "longest_sentence",
        "length of the longest sentence",
        "words",
        "elementary",
        (*_SENTENCE_LENGTH, "run-on", "rambl"),
    ),
)


def measure_length(text: Text) -> dict[str, float]:
    """Values of this module's measures; sentence measures are nan for a text without words."""
    lengths = [len(sentence) for sentence in text.sentence_words]
    count = sum(lengths)
    mean = fmean(lengths) if lengths else math.nan
    return {
        WORD_COUNT: float(count),
        "log_words": math.log1p(count),
        "sentences": float(len(lengths)),
        "words_per_sentence": mean,
        "sentence_length_variation": pstdev(lengths) / mean if lengths else math.nan,
        "shortest_sentence": float(min(lengths, default=math.nan)),
        "longest_sentence": float(max(lengths, default=math.nan)),
    }
