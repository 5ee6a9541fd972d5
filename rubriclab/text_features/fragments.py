"""Runs of words copied from the source: how much, how long, how spliced (Grusky et al. 2018, NAACL, section 4)."""

from __future__ import annotations

import math
from statistics import fmean

from rubriclab.text_features.definition import NEEDS_SOURCE, Measure
from rubriclab.text_features.text import Text

_COPY = ("copy", "copied", "verbatim", "extract", "paraphras", "novel", "own words", "abstract", "original")
_GRUSKY = "Grusky et al. (2018, NAACL)"
_SEARCHED_WORDS = 5_000
"""Words searched on either side: finding the fragments is quadratic in the worst case."""
_SHORT_FRAGMENT = 4

MEASURES = (
    Measure(
        "copied_share",
        "share of words inside runs copied from the source",
        "share of words (coverage)",
        _GRUSKY,
        (*_COPY, "support", "faithful"),
        NEEDS_SOURCE,
        better_high=("faithfulness", "fluency"),
        tasks=("summarization",),
    ),
    Measure(
        "copied_density",
        "average length of the copied run that a word stands in",
        "words (density)",
        _GRUSKY,
        (*_COPY, "fluen", "natural", "gramma"),
        NEEDS_SOURCE,
        better_high=("faithfulness", "fluency", "coherence"),
        tasks=("summarization",),
    ),
    Measure(
        "longest_copy",
        "longest run of words copied from the source",
        "words",
        _GRUSKY,
        _COPY,
        NEEDS_SOURCE,
        better_high=("faithfulness", "fluency"),
        tasks=("summarization",),
    ),
    Measure(
        "splices",
        "short copied runs, the seams of a text pasted together",
        "runs of at most four words, per 100 words",
        f"elementary, on the fragments of {_GRUSKY}",
        ("fragment", "splice", "stitch", "patch", "disjoint", "fluen", "smooth", "gramma"),
        NEEDS_SOURCE,
        better_low=("fluency", "faithfulness"),
        tasks=("summarization",),
    ),
    Measure(
        "sentences_copied_whole",
        "share of sentences that stand word for word in the source",
        "share of sentences",
        "elementary",
        (*_COPY, "sentence", "fluen", "complete"),
        NEEDS_SOURCE,
        better_high=("faithfulness", "fluency"),
        tasks=("summarization",),
    ),
    Measure(
        "length_to_source",
        "length relative to the source",
        "words of the output per word of the source, as natural log",
        f"inverse of the compression ratio of {_GRUSKY}",
        ("compress", "concise", "length", "brief", "ratio", "short", "long"),
        NEEDS_SOURCE,
        better_high=("coverage",),
        tasks=("summarization",),
    ),
)


def measure_fragments(text: Text, source: Text) -> dict[str, float]:
    """Values of this module's measures; nan where either side has no words."""
    if not text.words or not source.words:
        return {entry.name: math.nan for entry in MEASURES}
    words = min(len(text.words), _SEARCHED_WORDS)
    lengths = copied_fragments(text, source)
    whole = (f" {' '.join(sentence)} " in source.padded for sentence in text.sentence_words)
    return {
        "copied_share": sum(lengths) / words,
        "copied_density": sum(length * length for length in lengths) / words,
        "longest_copy": float(max(lengths, default=0)),
        "splices": 100 * sum(length <= _SHORT_FRAGMENT for length in lengths) / words,
        "sentences_copied_whole": fmean(whole),
        "length_to_source": math.log(len(text.words) / len(source.words)),
    }


def copied_fragments(text: Text, source: Text) -> list[int]:
    """Lengths of the longest copies from each word on, by the greedy search of Grusky et al. (2018, figure 2)."""
    words, vocabulary = text.words[:_SEARCHED_WORDS], source.vocabulary
    haystack = (
        source.padded if len(source.words) <= _SEARCHED_WORDS else f" {' '.join(source.words[:_SEARCHED_WORDS])} "
    )
    lengths, start = [], 0
    while start < len(words):
        if words[start] not in vocabulary:
            start += 1
            continue
        end, run = start + 1, f" {words[start]} "
        while end < len(words) and (longer := f"{run}{words[end]} ") in haystack:
            end, run = end + 1, longer
        lengths.append(end - start)
        start = end
    return lengths
